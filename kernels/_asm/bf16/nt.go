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
func ntRows(rows int) int {
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
	ahead  = reg.R11
)

// nt writes the tile function for some rows of A, which are pairs of columns, as in _asm/gemm: every row of B of the call, two or four at a
// time. B holds floats; the rows of two panels are rounded to pairs on their way, a last panel without a second with zeros. A tile has one
// accumulator of 16 lanes for each two rows.
func nt(rows int) {
	TEXT(fmt.Sprintf("ntBF16x%d", rows), NOSPLIT, "func(args *ntArgs)")
	Pragma("noescape")
	Load(Param("args"), args)
	MOVQ(Mem{Base: args, Disp: ntLda}, lda)
	MOVQ(Mem{Base: args, Disp: ntPanel}, panel)
	MOVQ(Mem{Base: args, Disp: ntLdl}, ldl)
	MOVQ(Mem{Base: args, Disp: ntAhead}, ahead)
	MOVQ(Mem{Base: args, Disp: ntB}, bRow)
	MOVQ(Mem{Base: args, Disp: ntL}, lanes)
	MOVQ(Mem{Base: args, Disp: ntK}, left)
	LEAQ(Mem{Base: lda, Index: lda, Scale: 2}, ntLda3)
	LEAQ(Mem{Base: lda, Index: lda, Scale: 4}, lda5)
	ntNext.Begin("tiles")
	ntTiles(rows)
}

// ntNext are the rows that ahead leads to.
var ntNext = fetch.Rows{Args: args, End: ntEnd, Gap: ntGap, Left: left, Row: bRow, Panel: panel, Ahead: ahead, BP: bp, KC: kc}

// ntTiles writes the loops over the rows of B.
func ntTiles(rows int) {
	for _, n := range []int{ntRows(rows), 1} {
		tile, done := fmt.Sprintf("tile%d", n), fmt.Sprintf("done%d", n)
		Label(tile)
		CMPQ(left, U32(uint32(n)))
		JLT(LabelRef(done))
		ntTile(rows, n)
		ADDQ(U32(uint32(64*n)), bRow)
		ADDQ(U32(uint32(64*n)), lanes)
		SUBQ(U32(uint32(n)), left)
		JMP(LabelRef(tile))
		Label(done)
	}
	fetch.Rest("finished")
	VZEROUPPER()
	RET()
}

// ntTile multiplies n rows of B by the rows of A.
func ntTile(rows, n int) {
	name := fmt.Sprint(n)
	eachLane := func(f func(m Mem, acc reg.Register)) {
		MOVQ(lanes, bp)
		for i := range rows {
			if i > 0 {
				ADDQ(ldl, bp)
			}
			for r := range n {
				f(Mem{Base: bp, Disp: 64 * r}, ntSum(i, n, r))
			}
		}
	}
	zero, started, loop, odd, done := "zero"+name, "started"+name, "panels"+name, "odd"+name, "all"+name
	CMPQ(Mem{Base: args, Disp: ntAccumulate}, Imm(0))
	JEQ(LabelRef(zero))
	eachLane(func(m Mem, acc reg.Register) { VMOVUPS(m, acc) })
	JMP(LabelRef(started))
	Label(zero)
	for _, z := range zmm[:rows*n] {
		VPXORD(z, z, z)
	}
	Label(started)
	MOVQ(Mem{Base: args, Disp: ntA}, a0)
	if rows > 7 {
		LEAQ(Mem{Base: a0, Index: lda5, Scale: 1}, ntA7)
		LEAQ(Mem{Base: ntA7, Index: lda, Scale: 2}, ntA7)
	}
	MOVQ(bRow, bp)
	MOVQ(Mem{Base: args, Disp: ntPanels}, kc)
	SHRQ(Imm(1), kc)
	JEQ(LabelRef(odd))
	level.Align()
	Label(loop)
	ntStep(rows, n, false)
	ADDQ(Imm(64), a0)
	if rows > 7 {
		ADDQ(Imm(64), ntA7)
	}
	ADDQ(panel, bp)
	DECQ(kc)
	JNE(LabelRef(loop))
	Label(odd)
	TESTQ(U32(1), Mem{Base: args, Disp: ntPanels})
	JEQ(LabelRef(done))
	ntStep(rows, n, true)
	Label(done)
	eachLane(func(m Mem, acc reg.Register) { VMOVUPS(acc, m) })
}

// ntStep takes two panels, or a single one.
func ntStep(rows, n int, single bool) {
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
			dot.Add(zmm[rows*n+r], x, ntSum(i, n, r))
		}
	}
}

// ntSum returns the sum of row i of A and row r of n of B.
func ntSum(i, n, r int) reg.Register { return zmm[i*n+r] }

// ntRow returns the address of row i of A.
func ntRow(i int) Mem {
	m := Mem{Base: a0}
	if i >= 7 {
		m.Base, i = ntA7, i-7
	}
	switch i {
	case 1, 2, 4:
		m.Index, m.Scale = lda, uint8(i)
	case 3, 6:
		m.Index, m.Scale = ntLda3, uint8(i/3)
	case 5:
		m.Index, m.Scale = lda5, 1
	}
	return m
}
