package level

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/ir"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// Unroll returns how many steps of a loop are written out where a step has n multiply-adds of 512 bits: enough for
// these to hide what the
// loop itself does, and no more.
func Unroll(n int) int {
	switch {
	case n < 6:
		return 4
	case n < 12:
		return 2
	}
	return 1
}

// Loop repeats body, which handles unroll consecutive steps when told so and one otherwise, as often as counter says
// (at least once). label
// makes what begins with name unique in the function.
func Loop(label func(name string) string, name string, counter reg.GPPhysical, unroll int, body func(steps int)) {
	main, rest, one, done := label(name), label(name+"rest"), label(name+"one"), label(name+"done")
	if unroll == 1 {
		Align()
		Label(main)
		body(1)
		DECQ(counter)
		JNE(LabelRef(main))
		return
	}
	SUBQ(U32(uint32(unroll)), counter)
	JLT(LabelRef(rest))
	Align()
	Label(main)
	body(unroll)
	SUBQ(U32(uint32(unroll)), counter)
	JGE(LabelRef(main))
	Label(rest)
	ADDQ(U32(uint32(unroll)), counter)
	JEQ(LabelRef(done))
	Label(one)
	body(1)
	DECQ(counter)
	JNE(LabelRef(one))
	Label(done)
}

// NextNN goes from an NN tile of some rows to the one below it, at the label "block", until none of the blocks is
// left. Then a and c stay, as
// pointers after the last row would be ones to whatever the collector has there. at are the places in args of blocks,
// a, c and ldc.
func NextNN(args, lda, tmp reg.GPPhysical, rows int, at [4]int) {
	DECQ(Mem{Base: args, Disp: at[0]})
	JEQ(LabelRef("last"))
	IMUL3Q(Imm(uint64(rows)), lda, tmp)
	ADDQ(tmp, Mem{Base: args, Disp: at[1]})
	IMUL3Q(Imm(uint64(rows)), Mem{Base: args, Disp: at[3]}, tmp)
	ADDQ(tmp, Mem{Base: args, Disp: at[2]})
	JMP(LabelRef("block"))
	Label("last")
}

// Halves writes what comes after the whole panels of a tile: one of which the first half counts, or one more before
// that, as args says at a
// place. tile writes that of two panels or one.
func Halves(args reg.GPPhysical, at int, tile func(panels int)) {
	one, done := "half", "halvesdone"
	CMPQ(Mem{Base: args, Disp: at}, Imm(1))
	JLT(LabelRef(done))
	JEQ(LabelRef(one))
	tile(2)
	JMP(LabelRef(done))
	Label(one)
	tile(1)
	Label(done)
}

// Offsets in nnTaps.
const tapsSteps, tapsLeft = 0, 8

// tapsSize is the size of nnTaps.
const tapsSize = 16

// leftOut are the rows that taps leave out, by nnTaps.left.
var leftOut = []struct{ first, last int }{{0, 0}, {1, 0}, {2, 0}, {0, 1}, {0, 2}}

// Taps writes the steps of one segment of a tile with the given number of rows, along the nnTaps that start points to:
// step does one for the rows [lo, hi) and goes
// on to the next. The registers are for the place in the taps, for the steps that are left, and for anything.
func Taps(start Mem, taps, steps, tmp reg.Register, rows int, step func(lo, hi int)) {
	MOVQ(start, taps)
	Label("taps")
	MOVQ(Mem{Base: taps, Disp: tapsSteps}, steps)
	MOVQ(Mem{Base: taps, Disp: tapsLeft}, tmp)
	ADDQ(U32(tapsSize), taps)
	for i := 1; i < len(leftOut); i++ {
		CMPQ(tmp, U32(uint32(i)))
		JEQ(LabelRef(fmt.Sprintf("body%d", i)))
	}
	for i, l := range leftOut {
		body := fmt.Sprintf("body%d", i)
		Align()
		Label(body)
		step(l.first, rows-l.last)
		DECQ(steps)
		JNE(LabelRef(body))
		if i < len(leftOut)-1 {
			JMP(LabelRef("next"))
		}
	}
	Label("next")
	CMPQ(Mem{Base: taps, Disp: tapsSteps}, U32(0))
	JNE(LabelRef("taps"))
}

// Align starts a new 64-byte block of code.
func Align() { Instruction(&ir.Instruction{Opcode: "PCALIGN", Operands: []Op{Imm(64)}}) }
