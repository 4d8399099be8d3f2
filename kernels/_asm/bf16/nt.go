package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// Offsets in ntArgs.
const (
	ntA, ntB, ntL         = 0, 8, 16
	ntLda, ntPanel, ntLdl = 24, 32, 40
	ntPanels, ntK         = 48, 56
	ntAccumulate, ntAhead = 64, 72
)

// The rows of A of the highest nt tile, and how many rows of B a full one takes.
const (
	ntHeight = 6
	ntRows   = 4
)

// Registers of an nt function that an nn function does not have.
var (
	left   = reg.R13 // rows of B
	bRow   = reg.R14 // of the tile
	ldl    = reg.R9
	lanes  = reg.R12
	ntLda3 = reg.RBX
	ahead  = reg.R11
)

// nt writes the tile function for some rows of A, as in _asm/gemm: every row of B of the call, four at a time. A tile has one accumulator
// of 16 lanes for each two rows.
func nt(rows int) {
	TEXT(fmt.Sprintf("ntBF16x%d", rows), NOSPLIT, "func(args *ntArgs)")
	Doc(fmt.Sprintf("ntBF16x%d computes the lanes of %d rows of an NT product of pairs; see ntArgs.", rows, rows))
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
	for _, n := range []int{ntRows, 1} {
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
	VZEROUPPER()
	RET()
}

// ntTile multiplies n rows of B by the rows of A.
func ntTile(rows, n int) {
	acc := func(i, r int) reg.Register { return zmm[i*n+r] }
	eachLane := func(f func(m Mem, acc reg.Register)) {
		MOVQ(lanes, bp)
		for i := range rows {
			if i > 0 {
				ADDQ(ldl, bp)
			}
			for r := range n {
				f(Mem{Base: bp, Disp: 64 * r}, acc(i, r))
			}
		}
	}
	zero, started, loop := fmt.Sprintf("zero%d", n), fmt.Sprintf("started%d", n), fmt.Sprintf("panel%d", n)
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
	MOVQ(bRow, bp)
	MOVQ(Mem{Base: args, Disp: ntPanels}, kc)
	align()
	Label(loop)
	for r := range n {
		PREFETCHT1(Mem{Base: bp, Index: ahead, Scale: 1, Disp: 64 * r})
		VMOVUPS(Mem{Base: bp, Disp: 64 * r}, zmm[rows*n+r])
	}
	for i := range rows {
		x := zmm[30+i%2]
		VMOVUPS(ntRow(i), x)
		for r := range n {
			dot2(zmm[rows*n+r], x, acc(i, r))
		}
	}
	ADDQ(Imm(64), a0)
	ADDQ(panel, bp)
	DECQ(kc)
	JNE(LabelRef(loop))
	eachLane(func(m Mem, acc reg.Register) { VMOVUPS(acc, m) })
}

// ntRow returns the address of row i of A, up to 5.
func ntRow(i int) Mem {
	m := Mem{Base: a0}
	switch i {
	case 1, 2, 4:
		m.Index, m.Scale = lda, uint8(i)
	case 3:
		m.Index, m.Scale = ntLda3, 1
	case 5:
		m.Index, m.Scale = lda5, 1
	}
	return m
}
