// Command blocks writes the amd64 assembly of products of bf16 in blocks of 16 pairs: of AVX512_BF16, one function per
// height of tiles, and of AMX.
package main

import (
	"fmt"
	"sync"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"

	"github.com/fedfast/fedfast/kernels/_asm/dot"
	"github.com/fedfast/fedfast/kernels/_asm/file"
	"github.com/fedfast/fedfast/kernels/_asm/level"
)

// Offsets in blockArgs.
const (
	blA, blB, blC, blBias         = 0, 8, 16, 24
	blLda, blANext, blASeg        = 32, 40, 48
	blLdb, blBSeg, blBPanel       = 56, 64, 72
	blLdc, blCPanel               = 80, 88
	blSegs, blK, blPanels, blRows = 96, 104, 112, 120
	blMode                        = 128
	blBAt, blASegAt, blBSegAt     = 136, 144, 152
	blSegsLeft, blLeft, blModes   = 160, 168, 176
	blBiasAt                      = 184
	blTiles                       = 192
)

const (
	pairs                          = 16 // of a block
	modeBias, modeAccumulate, relu = 1, 2, 4
)

// Registers. Those of tile loads are base and index.
var (
	args, cp, panels, tmp = reg.RDI, reg.R12, reg.R13, reg.RBX
	a0, lda, lda3, lda5   = reg.RAX, reg.R8, reg.R9, reg.R10
	bp, bq, ldb           = reg.RSI, reg.R11, reg.RDX
	count, left           = reg.RCX, reg.R15
	zmm                   = dot.ByNumber
)

// most is the rows of the highest tile of AVX512_BF16, whose panels are two.
const most = 6

func main() {
	pattern() // before the first function
	sizes()
	repair()
	for rows := range most {
		blocks(rows + 1)
	}
	amx()
	peak()
	file.Write("blocks")
}

// pattern returns the places of the bytes of four pairs (l0 h0) (l1 h1) (l2 h2) (l3 h3) as (l1 l0) (h1 h0) (l3 l2) (h3
// h2): VDPBF16PS adds the products of high halves first.
var pattern = sync.OnceValue(func() Mem {
	m := GLOBL("repaired", RODATA|NOPTR)
	for i := range 16 {
		DATA(4*i, U32([]uint32{0x01000504, 0x03020706, 0x09080d0c, 0x0b0a0f0e}[i%4]))
	}
	return m
})

func fields(pairs ...any) {
	for i := 0; i < len(pairs); i += 2 {
		MOVQ(Mem{Base: args, Disp: pairs[i+1].(int)}, pairs[i].(reg.Register))
	}
}

func field(at int) Mem { return Mem{Base: args, Disp: at} }

func begin(name, signature, doc string) {
	TEXT(name, NOSPLIT, "func"+signature)
	Doc(name + " " + doc)
	Pragma("noescape")
}

func end() {
	VZEROUPPER()
	RET()
}

// repair writes the function that makes rows of pairs those of tiles.
func repair() {
	begin("repairBF16", "(dst, src *float32, rows, ld, dstLd, k int)", "has for every two pairs of rows of k that of their low halves and that of their high halves, and zeros up to a whole block.")
	dst, src, rows, ld, dstLd, k, to, from := reg.RDI, reg.RSI, reg.RDX, reg.R8, reg.R9, reg.R10, reg.RAX, reg.RBX
	Load(Param("dst"), dst)
	Load(Param("src"), src)
	Load(Param("rows"), rows)
	Load(Param("ld"), ld)
	Load(Param("dstLd"), dstLd)
	Load(Param("k"), k)
	VMOVUPS(pattern(), reg.Z1)
	MOVQ(k, tmp)
	ANDQ(Imm(pairs-1), tmp)
	MOVQ(U32(1<<pairs-1), count)
	BZHIQ(tmp, count, count)
	KMOVW(count.As32(), reg.K1)
	Label("row")
	MOVQ(dst, to)
	MOVQ(src, from)
	MOVQ(k, count)
	Label("block")
	SUBQ(Imm(pairs), count)
	JLT(LabelRef("rest"))
	VMOVDQU32(Mem{Base: from}, reg.Z0)
	VPSHUFB(reg.Z1, reg.Z0, reg.Z0)
	VMOVDQU32(reg.Z0, Mem{Base: to})
	ADDQ(Imm(64), from)
	ADDQ(Imm(64), to)
	JMP(LabelRef("block"))
	Label("rest")
	CMPQ(count, I8(-pairs))
	JEQ(LabelRef("next"))
	VMOVDQU32_Z(Mem{Base: from}, reg.K1, reg.Z0)
	VPSHUFB(reg.Z1, reg.Z0, reg.Z0)
	VMOVDQU32(reg.Z0, Mem{Base: to})
	Label("next")
	ADDQ(ld, src)
	ADDQ(dstLd, dst)
	DECQ(rows)
	JNE(LabelRef("row"))
	end()
}

// groups writes the loop over the panels, the widest groups first: body computes one of a group's tiles, whose rows of C
// hold what it starts from.
func groups(sizes []int, rows func(name string, each func()), body func(n int)) {
	fields(cp, blC, panels, blPanels)
	MOVQ(U32(0), field(blBAt))
	MOVQ(U32(0), field(blBiasAt))
	for _, n := range sizes {
		label := func(name string) string { return fmt.Sprintf("%s%d", name, n) }
		Label(label("group"))
		CMPQ(panels, U32(uint32(n)))
		JLT(LabelRef(label("done")))

		// Zeros, the bias, or what is there.
		TESTQ(U32(modeAccumulate), field(blMode))
		JNE(LabelRef(label("started")))
		for p := range n {
			VPXORD(zmm[p], zmm[p], zmm[p])
		}
		TESTQ(U32(modeBias), field(blMode))
		JEQ(LabelRef(label("start")))
		MOVQ(field(blBias), tmp)
		ADDQ(field(blBiasAt), tmp)
		for p := range n {
			VMOVUPS(Mem{Base: tmp, Disp: 64 * p}, zmm[p])
		}
		Label(label("start"))
		eachRow(label("startrow"), n, rows, func(p int, m Mem) { VMOVUPS(zmm[p], m) })
		Label(label("started"))

		body(n)

		TESTQ(U32(relu), field(blMode))
		JEQ(LabelRef(label("stored")))
		VPXORD(reg.Z31, reg.Z31, reg.Z31)
		eachRow(label("relu"), n, rows, func(p int, m Mem) {
			VMOVUPS(m, zmm[p])
			VMAXPS(zmm[p], reg.Z31, zmm[p]) // keeps NaN and -0
			VMOVUPS(zmm[p], m)
		})
		Label(label("stored"))
		ADDQ(U32(uint32(64*n)), field(blBiasAt))
		for range n {
			ADDQ(field(blCPanel), cp)
			MOVQ(field(blBPanel), tmp)
			ADDQ(tmp, field(blBAt))
		}
		SUBQ(U32(uint32(n)), panels)
		JMP(LabelRef(label("group")))
		Label(label("done"))
	}
}

// eachRow does something with the vectors of a row of C, for all rows.
func eachRow(label string, n int, rows func(name string, each func()), do func(p int, m Mem)) {
	MOVQ(cp, tmp)
	rows(label, func() {
		MOVQ(tmp, a0)
		for p := range n {
			do(p, Mem{Base: a0})
			if p+1 < n {
				ADDQ(field(blCPanel), a0)
			}
		}
		ADDQ(field(blLdc), tmp)
	})
}

// segments writes the loop over the segments, whose starts in A and B are in a0 and bp.
func segments(n int, body func()) {
	label := fmt.Sprintf("segment%d", n)
	fields(tmp, blSegs)
	MOVQ(tmp, field(blSegsLeft))
	fields(a0, blA, bp, blB)
	ADDQ(field(blBAt), bp)
	MOVQ(a0, field(blASegAt))
	MOVQ(bp, field(blBSegAt))
	Label(label)
	body()
	fields(a0, blASegAt, bp, blBSegAt)
	ADDQ(field(blASeg), a0)
	ADDQ(field(blBSeg), bp)
	MOVQ(a0, field(blASegAt))
	MOVQ(bp, field(blBSegAt))
	DECQ(field(blSegsLeft))
	JNE(LabelRef(label))
}

// blocks writes the function of a tile of some rows.
func blocks(rows int) {
	name := fmt.Sprintf("blocksBF16x%d", rows)
	begin(name, "(args *blockArgs)", "computes rows of C.")
	Load(Param("args"), args)
	MOVQ(U32(0x55555555), tmp)
	KMOVD(tmp.As32(), reg.K1) // low halves
	MOVQ(U32(0xaaaaaaaa), tmp)
	KMOVD(tmp.As32(), reg.K2)
	STMXCSR(field(blModes))
	MOVL(field(blModes), tmp.As32())
	ORL(U32(0x8040), tmp.As32()) // flush to zero, denormals are zeros
	MOVL(tmp.As32(), field(blModes+4))
	fields(lda, blLda, ldb, blLdb)
	LEAQ(Mem{Base: lda, Index: lda, Scale: 2}, lda3)
	LEAQ(Mem{Base: lda, Index: lda, Scale: 4}, lda5)
	LDMXCSR(field(blModes + 4))
	written := func(_ string, each func()) {
		for range rows {
			each()
		}
	}
	groups([]int{2, 1}, written, func(n int) {
		t := tile{rows, n}
		segments(n, func() {
			fields(left, blK)
			MOVQ(a0, field(blLeft)) // where the block is in A
			Label(t.label("block"))
			t.block()
			SUBQ(Imm(pairs), left)
			JLE(LabelRef(t.label("blocksdone")))
			fields(a0, blLeft)
			ADDQ(field(blANext), a0)
			MOVQ(a0, field(blLeft))
			JMP(LabelRef(t.label("block")))
			Label(t.label("blocksdone"))
		})
	})
	LDMXCSR(field(blModes))
	end()
}

// tile has two sums of each row and panel: of the low halves, and of the high ones.
type tile struct{ rows, panels int }

func (t tile) label(name string) string { return fmt.Sprintf("%s%dx%d", name, t.rows, t.panels) }

func (t tile) sums(i, p int) (low, high reg.Register) {
	at := 2 * (i*t.panels + p)
	return zmm[at], zmm[at+1]
}

// factors of panel p.
func factors(p int) (low, high reg.Register) { return zmm[24+2*p], zmm[25+2*p] }

func panelAt(p int) Mem { return Mem{Base: []reg.Register{bp, bq}[p]} }

func (t tile) block() {
	for i := range t.rows {
		for p := range t.panels {
			low, high := t.sums(i, p)
			VPXORD(low, low, low)
			VPXORD(high, high, high)
		}
	}
	if t.panels > 1 {
		MOVQ(bp, bq)
		ADDQ(field(blBPanel), bq)
	}
	MOVQ(U32(pairs), count)
	CMPQ(left, count)
	CMOVQLT(left, count)
	MOVQ(count, tmp)
	SHRQ(Imm(1), count)
	JEQ(LabelRef(t.label("last")))
	level.Align()
	Label(t.label("pairs"))
	for p := range t.panels {
		low, high := factors(p)
		first, second := panelAt(p), panelAt(p)
		second.Index, second.Scale = ldb, 1
		VPSLLD(Imm(16), first, low)
		VMOVDQU16(second, reg.K1, low)
		VPSRLD(Imm(16), second, high)
		VMOVDQU16(first, reg.K2, high)
	}
	t.add()
	ADDQ(Imm(8), a0)
	LEAQ(Mem{Base: bp, Index: ldb, Scale: 2}, bp)
	if t.panels > 1 {
		LEAQ(Mem{Base: bq, Index: ldb, Scale: 2}, bq)
	}
	DECQ(count)
	JNE(LabelRef(t.label("pairs")))
	Label(t.label("last"))
	TESTQ(U32(1), tmp)
	JEQ(LabelRef(t.label("all")))
	for p := range t.panels {
		low, high := factors(p)
		VPSLLD(Imm(16), panelAt(p), low)
		VMOVDQU16_Z(panelAt(p), reg.K2, high)
	}
	t.add()
	Label(t.label("all"))
	MOVQ(cp, tmp)
	for i := range t.rows {
		for p := range t.panels {
			low, high := t.sums(i, p)
			m := Mem{Base: tmp}
			if p > 0 {
				MOVQ(field(blCPanel), count)
				m.Index, m.Scale = count, 1
			}
			VADDPS(high, low, low)
			VADDPS(m, low, low)
			VMOVUPS(low, m)
		}
		if i+1 < t.rows {
			ADDQ(field(blLdc), tmp)
		}
	}
}

// add adds the products of two pairs of each row.
func (t tile) add() {
	for i := range t.rows {
		x, y := zmm[28+2*(i%2)], zmm[29+2*(i%2)]
		m := Mem{Base: a0}
		switch i {
		case 1, 2, 4:
			m.Index, m.Scale = lda, uint8(i)
		case 3:
			m.Index, m.Scale = lda3, 1
		case 5:
			m.Index, m.Scale = lda5, 1
		}
		VBROADCASTSS(m, x)
		VBROADCASTSS(m.Offset(4), y)
		for p := range t.panels {
			low, high := t.sums(i, p)
			fl, fh := factors(p)
			dot.Add(fl, x, low)
			dot.Add(fh, y, high)
		}
	}
}

// amx writes the function of a tile of up to 16 rows. Tiles 0 to 3 are of C, 4 and 5 blocks of A and B, 6 and 7 the rest
// of a segment.
func amx() {
	begin("blocksAMX", "(args *blockArgs)", "computes up to 16 rows of C.")
	Load(Param("args"), args)
	LEAQ(field(blTiles), reg.RDX)
	dot.Configure(reg.RDX)
	fields(lda, blLda)
	at, stride := reg.RDX, reg.R9 // of tile loads
	rows := func(label string, each func()) {
		fields(count, blRows)
		Label(label)
		each()
		DECQ(count)
		JNE(LabelRef(label))
	}
	groups([]int{4, 2, 1}, rows, func(n int) {
		label := func(name string) string { return fmt.Sprintf("%s%d", name, n) }
		eachTile := func(do func(p byte)) {
			MOVQ(cp, at)
			fields(stride, blLdc)
			for p := range n {
				do(byte(p))
				if p+1 < n {
					ADDQ(field(blCPanel), at)
				}
			}
		}
		products := func(a, b byte) {
			dot.LoadTile(a0, lda, a)
			MOVQ(bp, at)
			for p := range n {
				dot.LoadTile(at, stride, b)
				dot.AddTiles(b, a, byte(p))
				if p+1 < n {
					ADDQ(field(blBPanel), at)
				}
			}
		}
		eachTile(func(p byte) { dot.LoadTile(at, stride, p) })
		fields(stride, blLdb)
		MOVQ(stride, left)
		SHLQ(Imm(4), left) // from a block of B to the next
		segments(n, func() {
			fields(count, blK)
			SUBQ(Imm(pairs), count)
			JLT(LabelRef(label("rest")))
			Label(label("block"))
			products(4, 5)
			ADDQ(field(blANext), a0)
			ADDQ(left, bp)
			SUBQ(Imm(pairs), count)
			JGE(LabelRef(label("block")))
			Label(label("rest"))
			CMPQ(count, I8(-pairs))
			JEQ(LabelRef(label("all")))
			products(6, 7)
			Label(label("all"))
		})
		eachTile(func(p byte) { dot.StoreTile(p, at, stride) })
	})
	dot.Release()
	end()
}

// sizes returns those of eight whole tiles.
var sizes = sync.OnceValue(func() Mem {
	m := GLOBL("wholeTiles", RODATA|NOPTR)
	DATA(0, U64(1))
	DATA(8, U64(0))
	for i := range 4 {
		DATA(16+8*i, U64(0x0040004000400040*uint64(1-i/2)))
	}
	DATA(48, U64(0x1010101010101010))
	DATA(56, U64(0))
	return m
})

// peak writes a loop that touches no memory, of four independent sums.
func peak() {
	begin("peakAMX", "(n int)", "runs n times four independent products of tiles.")
	Load(Param("n"), count)
	LEAQ(sizes(), reg.RDX)
	dot.Configure(reg.RDX)
	level.Align()
	Label("loop")
	for i := range 4 {
		dot.AddTiles(byte(6+i%2), byte(4+i/2), byte(i))
	}
	DECQ(count)
	JNE(LabelRef("loop"))
	dot.Release()
	end()
}
