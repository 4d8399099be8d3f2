package level

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// Unroll returns how many steps of a loop are written out where a step has n multiply-adds of 512 bits: enough for these to hide what the
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

// Loop repeats body, which handles unroll consecutive steps when told so and one otherwise, as often as counter says (at least once). label
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
