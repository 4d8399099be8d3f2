package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"

	"github.com/fedfast/fedfast/kernels/_asm/dot"
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
	blSegsLeft, blBiasAt          = 160, 168
	blTiles                       = 176
)

// pairsOfBlock is how many pairs a block has.
const pairsOfBlock = 16

// Registers of a function on tiles, the first ones of tile loads.
var (
	stride, at   = reg.R9, reg.RDX
	count, block = reg.RCX, reg.R15 // from a block of B to the next
)

func field(at int) Mem { return Mem{Base: args, Disp: at} }

// groups writes the loop over the panels, the widest groups first: body computes one of a group's tiles, whose rows of
// C hold what it starts from.
func groups(v isa, sizes []int, rows func(name string, each func()), body func(n int)) {
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
		vecs := n * v.perPa
		for j := range vecs {
			v.clear(v.reg(j))
		}
		TESTQ(U32(modeBias), field(blMode))
		JEQ(LabelRef(label("start")))
		MOVQ(field(blBias), tmp)
		ADDQ(field(blBiasAt), tmp)
		for j := range vecs {
			VMOVUPS(Mem{Base: tmp, Disp: v.bytes() * j}, v.reg(j))
		}
		Label(label("start"))
		eachRow(v, label("startrow"), vecs, rows, func(j int, m Mem) { VMOVUPS(v.reg(j), m) })
		Label(label("started"))

		body(n)

		TESTQ(U32(modeReLU), field(blMode))
		JEQ(LabelRef(label("stored")))
		zero := v.reg(15)
		v.clear(zero)
		eachRow(v, label("relu"), vecs, rows, func(j int, m Mem) {
			VMOVUPS(m, v.reg(j))
			VMAXPS(v.reg(j), zero, v.reg(j)) // keeps NaN and -0
			VMOVUPS(v.reg(j), m)
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
func eachRow(v isa, label string, vecs int, rows func(name string, each func()), do func(j int, m Mem)) {
	MOVQ(cp, tmp)
	rows(label, func() {
		MOVQ(tmp, a0)
		for j := range vecs {
			if j > 0 && j%v.perPa == 0 {
				ADDQ(field(blCPanel), a0)
			}
			do(j, Mem{Base: a0, Disp: v.bytes() * (j % v.perPa)})
		}
		ADDQ(field(blLdc), tmp)
	})
}

// segments writes the loop over the segments, whose starts in A and B are in a0 and bp.
func segments(label string, body func()) {
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

// amx writes the function of a tile of up to 16 rows. Tiles 0 to 3 are of C, 4 and 5 blocks of A and B, 6 and 7 the
// rest of a segment.
func amx() {
	begin("blocksAMX", "(args *blockArgs)", "computes up to 16 rows of C.", "args", args)
	LEAQ(field(blTiles), reg.RDX)
	dot.Configure(reg.RDX)
	fields(lda, blLda)
	rows := func(label string, each func()) {
		fields(count, blRows)
		Label(label)
		each()
		DECQ(count)
		JNE(LabelRef(label))
	}
	groups(avx512, []int{4, 2, 1}, rows, func(n int) {
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
		MOVQ(stride, block)
		SHLQ(Imm(4), block)
		segments(label("segment"), func() {
			fields(count, blK)
			SUBQ(Imm(pairsOfBlock), count)
			JLT(LabelRef(label("rest")))
			Label(label("block"))
			products(4, 5)
			ADDQ(field(blANext), a0)
			ADDQ(block, bp)
			SUBQ(Imm(pairsOfBlock), count)
			JGE(LabelRef(label("block")))
			Label(label("rest"))
			CMPQ(count, I8(-pairsOfBlock))
			JEQ(LabelRef(label("all")))
			products(6, 7)
			Label(label("all"))
		})
		eachTile(func(p byte) { dot.StoreTile(p, at, stride) })
	})
	dot.Release()
	end()
}

// blockHeights are the rows of the tiles of split pairs.
const blockHeights = 6

// Registers of such a tile.
var (
	ldb            = reg.RDX
	bPanel, cPanel = reg.R11, reg.RBX
	blockLeft      = reg.R15 // pairs
)

// blocks writes the function of a tile of split pairs, whose blocks have a register for the sum of either half.
func (v isa) blocks(rows int) {
	v.start("blocks"+v.name, "blockArgs", rows)
	fields(lda, blLda, bPanel, blBPanel, cPanel, blCPanel, ldb, blLdb)
	LEAQ(Mem{Base: lda, Index: lda, Scale: 2}, lda3)
	LEAQ(Mem{Base: lda, Index: lda, Scale: 4}, lda5)
	each := func(_ string, row func()) {
		for range rows {
			row()
		}
	}
	sizes := []int{1}
	if v.zmm {
		sizes = []int{2, 1}
	}
	groups(v, sizes, each, func(n int) {
		for h := range v.perPa { // with fewer registers, half a panel at a time
			v.blockSums(rows, n, h)
		}
	})
	v.end()
}

// blockSums adds the blocks of all segments to C, for vector h of each of n panels.
func (v isa) blockSums(rows, n, h int) {
	label := func(name string) string { return fmt.Sprintf("%s%dx%d", name, n, h) }
	acc := func(p part, i, j int) reg.Register { return v.reg((int(p-high)*rows+i)*n + j) }
	at := func(base, panel reg.GPPhysical, j int) Mem {
		if j == 0 {
			return Mem{Base: base, Disp: h * v.bytes()}
		}
		return Mem{Base: base, Index: panel, Scale: 1, Disp: h * v.bytes()}
	}
	free := 2 * rows * n
	segments(label("segment"), func() {
		fields(count, blK)
		Label(label("block"))
		MOVQ(U32(pairsOfBlock), blockLeft)
		CMPQ(count, blockLeft)
		CMOVQLT(count, blockLeft)
		SUBQ(blockLeft, count)
		for i := range free {
			v.clear(v.reg(i))
		}
		level.Align()
		Label(label("pair"))
		for _, p := range v.parts() {
			for j := range n {
				p.load(at(bp, bPanel, j), v.reg(free+j))
			}
			for i := range rows {
				x := v.reg(free + n + i%2)
				VBROADCASTSS(p.of(rowOf(i)), x)
				for j := range n {
					VFMADD231PS(v.reg(free+j), x, acc(p, i, j))
				}
			}
		}
		ADDQ(Imm(4), a0)
		ADDQ(ldb, bp)
		DECQ(blockLeft)
		JNE(LabelRef(label("pair")))
		MOVQ(cp, tmp)
		for i := range rows {
			for j := range n {
				sum, c := acc(low, i, j), at(tmp, cPanel, j)
				VADDPS(acc(high, i, j), sum, sum)
				VADDPS(c, sum, sum)
				VMOVUPS(sum, c)
			}
			if i+1 < rows {
				ADDQ(field(blLdc), tmp)
			}
		}
		ADDQ(field(blANext), a0)
		SUBQ(Imm(4*pairsOfBlock), a0)
		TESTQ(count, count)
		JNE(LabelRef(label("block")))
	})
}
