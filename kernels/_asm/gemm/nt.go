package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"

	"github.com/fedfast/fedfast/kernels/_asm/dot"
	"github.com/fedfast/fedfast/kernels/_asm/fetch"
	"github.com/fedfast/fedfast/kernels/_asm/level"
)

// Offsets in ntArgs.
const (
	ntA, ntB, ntL         = 0, 8, 16
	ntLda, ntPanel, ntLdl = 24, 32, 40
	ntPanels, ntK         = 48, 56
	ntAccumulate, ntAhead = 64, 72
	ntEnd, ntGap          = 80, 88
)

// ntRows returns how many rows of B a full nt tile takes beside rows of A.
func (v isa) ntRows(rows int) int {
	if rows > 6 {
		return 2
	}
	return 4
}

// Registers of an nt function that an nn function does not have.
var (
	left   = reg.R13 // rows of B
	bRow   = reg.R14 // of the tile
	ldl    = reg.R9
	lanes  = reg.R12
	ntLda3 = reg.RBX
	ntA7   = reg.R15 // row 7 of A
)

// nt writes the tile function for some rows of A: every row of B of the call, two or four at a time. A tile has one
// accumulator of 16 lanes for
// each pair of rows; with registers of eight lanes it takes one half of the lanes after the other.
func nt(v isa, rows int) {
	v.start("nt"+v.name, "ntArgs", rows)
	fields(lda, ntLda, panel, ntPanel, ldl, ntLdl, ahead, ntAhead, bRow, ntB, lanes, ntL, left, ntK)
	LEAQ(Mem{Base: lda, Index: lda, Scale: 2}, ntLda3)
	LEAQ(Mem{Base: lda, Index: lda, Scale: 4}, lda5)
	if v.zmm {
		ntNext.Begin("tiles")
	}
	ntTiles(v, rows)
}

// ntNext are the rows that ahead leads to.
var ntNext = fetch.Rows{Args: args, End: ntEnd, Gap: ntGap, Left: left, Row: bRow, Panel: panel, Ahead: ahead, BP: bp, KC: kc}

// ntTiles writes the loops over the rows of B.
func ntTiles(v isa, rows int) {
	for _, n := range []int{v.ntRows(rows), 1} {
		tile, done := fmt.Sprintf("tile%d", n), fmt.Sprintf("done%d", n)
		Label(tile)
		CMPQ(left, U32(uint32(n)))
		JLT(LabelRef(done))
		for half := range v.perPa {
			ntTile(v, rows, n, half)
		}
		ADDQ(U32(uint32(64*n)), bRow)
		ADDQ(U32(uint32(64*n)), lanes)
		SUBQ(U32(uint32(n)), left)
		JMP(LabelRef(tile))
		Label(done)
	}
	fetch.Rest("finished")
	v.end()
}

// ntTile multiplies n rows of B by the rows of A, in the given half of the lanes.
func ntTile(v isa, rows, n, half int) {
	name, at, panels := fmt.Sprintf("%dx%d", n, half), half*v.bytes(), "panel"
	if v.pairs {
		name, panels = fmt.Sprint(n), "panels"
	}
	acc := func(i, r int) reg.Register { return v.reg(i*n + r) }
	eachLane := func(f func(m Mem, acc reg.Register)) {
		MOVQ(lanes, bp)
		for i := range rows {
			if i > 0 {
				ADDQ(ldl, bp)
			}
			for r := range n {
				f(Mem{Base: bp, Disp: 64*r + at}, acc(i, r))
			}
		}
	}
	zero, started := "zero"+name, "started"+name
	CMPQ(Mem{Base: args, Disp: ntAccumulate}, Imm(0))
	JEQ(LabelRef(zero))
	eachLane(func(m Mem, acc reg.Register) { VMOVUPS(m, acc) })
	JMP(LabelRef(started))
	Label(zero)
	for i := range rows * n {
		v.clear(v.reg(i))
	}
	Label(started)
	MOVQ(Mem{Base: args, Disp: ntA}, a0)
	if rows > 7 {
		LEAQ(Mem{Base: a0, Index: lda5, Scale: 1}, ntA7)
		LEAQ(Mem{Base: ntA7, Index: lda, Scale: 2}, ntA7)
	}
	MOVQ(bRow, bp)
	MOVQ(Mem{Base: args, Disp: ntPanels}, kc)
	if v.pairs {
		SHRQ(Imm(1), kc)
		JEQ(LabelRef("odd" + name))
	}
	level.Align()
	Label(panels + name)
	if v.pairs {
		ntPairs(rows, n, false)
	} else {
		ntStep(v, rows, n, half)
	}
	ADDQ(Imm(64), a0)
	if rows > 7 {
		ADDQ(Imm(64), ntA7)
	}
	ADDQ(panel, bp)
	DECQ(kc)
	JNE(LabelRef(panels + name))
	if v.pairs {
		Label("odd" + name)
		TESTQ(U32(1), Mem{Base: args, Disp: ntPanels})
		JEQ(LabelRef("all" + name))
		ntPairs(rows, n, true)
		Label("all" + name)
	}
	eachLane(func(m Mem, acc reg.Register) { VMOVUPS(acc, m) })
}

// ntStep takes one panel: either a register holds a row of B for all rows of A, or, with fewer registers, the other
// way round.
func ntStep(v isa, rows, n, half int) {
	at := half * v.bytes()
	acc := func(i, r int) reg.Register { return v.reg(i*n + r) }
	b := func(r int) Mem { return Mem{Base: bp, Disp: 64*r + at} }
	if v.zmm {
		ntNext.Fetch(fmt.Sprintf("fetched%d", n), n)
	}
	for _, part := range v.parts() {
		if v.zmm {
			for r := range n {
				part.load(b(r), v.reg(rows*n+r))
			}
			for i := range rows {
				x := v.reg(30 + i%2)
				VMOVUPS(part.of(ntRow(i)), x)
				for r := range n {
					VFMADD231PS(v.reg(rows*n+r), x, acc(i, r))
				}
			}
			continue
		}
		for i := range rows {
			VMOVUPS(part.of(ntRow(i).Offset(at)), v.reg(12+i))
		}
		for r := range n {
			part.load(b(r), v.reg(15))
			for i := range rows {
				VFMADD231PS(v.reg(15), v.reg(12+i), acc(i, r))
			}
		}
	}
}

// ntPairs takes two panels of floats of B, which it rounds to pairs, or a single one, with zeros.
func ntPairs(rows, n int, single bool) {
	load := func(r int, z reg.Register) { VMOVUPS(Mem{Base: bp, Disp: 64 * r}, z) }
	if single {
		ntNext.Fetch(fmt.Sprintf("fetchedodd%d", n), n)
	} else {
		ntNext.Fetch(fmt.Sprintf("fetched%d", n), 2*n)
	}
	for r := range n {
		load(r, zmm[rows*n+r])
	}
	if !single {
		ADDQ(panel, bp)
	}
	for r := range n {
		y, z := zmm[rows*n+r], zmm[30+r%2]
		if single {
			VPXORD(z, z, z)
		} else {
			load(r, z)
		}
		dot.Convert(y, z, y)
	}
	for i := range rows {
		x := zmm[30+i%2]
		VMOVUPS(ntRow(i), x)
		for r := range n {
			dot.Add(zmm[rows*n+r], x, zmm[i*n+r])
		}
	}
}

// ntRow returns the address of row i of A.
func ntRow(i int) Mem { return row(i, ntA7, ntLda3) }

// fold writes the function that adds up lanes, each half of them to the other half. It needs AVX, so the AVX-512 level
// uses it too.
func fold() {
	dst, src, count := reg.RDI, reg.RSI, reg.RCX
	begin("foldAVX2", "(dst, lanes *float32, groups int)", "adds up 16 lanes for each of groups times 8 floats of dst.",
		"dst", dst, "lanes", src, "groups", count)
	level.Align()
	Label("loop")
	for i := range 8 { // 16 lanes to 8
		VMOVUPS(Mem{Base: src, Disp: 64 * i}, ymm[i])
		VADDPS(Mem{Base: src, Disp: 64*i + 32}, ymm[i], ymm[i])
	}
	for i := range 4 { // to 4, of floats i and i+4
		VPERM2F128(Imm(0x20), ymm[i+4], ymm[i], ymm[8+i])
		VPERM2F128(Imm(0x31), ymm[i+4], ymm[i], ymm[12+i])
		VADDPS(ymm[12+i], ymm[8+i], ymm[i])
	}
	for i := range 2 { // to 2, of floats 2i and 2i+1
		VUNPCKLPD(ymm[2*i+1], ymm[2*i], ymm[8])
		VUNPCKHPD(ymm[2*i+1], ymm[2*i], ymm[9])
		VADDPS(ymm[9], ymm[8], ymm[10+i])
	}
	VSHUFPS(Imm(0x88), ymm[11], ymm[10], ymm[0])
	VSHUFPS(Imm(0xdd), ymm[11], ymm[10], ymm[1])
	VADDPS(ymm[1], ymm[0], ymm[0])
	VMOVUPS(ymm[0], Mem{Base: dst})
	ADDQ(U32(512), src)
	ADDQ(U32(32), dst)
	DECQ(count)
	JNE(LabelRef("loop"))
	end()
}
