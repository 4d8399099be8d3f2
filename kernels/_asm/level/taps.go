package level

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/ir"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

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
