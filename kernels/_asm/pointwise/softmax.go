package main

import (
	"math"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"

	. "github.com/fedfast/fedfast/kernels/_asm/level"
)

func softmax(v isa) {
	v.Text("softmaxRow", "(dst, src []float32, scale float32) (largest, sum float32)",
		"stores scale*softmax(src) in dst, if it has a length, and returns the largest element and the sum of e^(src[j]-largest).")
	v.HoldExp(SoftmaxLow, 1)
	src := base("src")
	n := length("src")
	infinite := float32(math.Inf(-1))
	var top []reg.VecVirtual
	for range v.Parts() {
		top = append(top, v.Number(infinite))
	}
	v.each(n, false, func(s span) {
		x, t := s.get(src), top[s.number]
		switch { // the second source, t, wins over NaN
		case s.mask == nil:
			VMAXPS(t, x, t)
		case v.Wide:
			VMAXPS(t, x, s.mask, t)
		default:
			VBLENDVPS(s.mask, x, v.Number(infinite), x)
			VMAXPS(t, x, t)
		}
	})
	max := v.Tree(top, Largest)
	Store(max, Return("largest"))
	max = v.Spread(max)

	dst, sums := base("dst"), v.Accumulators()
	stores := length("dst")
	evaluate, scale := NewLabel("evaluate"), NewLabel("scale")
	terms := func(store bool) {
		Load(Param("src").Len(), n)
		v.each(n, false, func(s span) {
			x := s.get(src)
			VSUBPS(max, x, x)
			e := v.softmaxTerm(x)
			switch {
			case s.mask == nil:
			case v.Wide:
				VMOVAPS_Z(e, s.mask, e)
			default:
				VANDPS(s.mask, e, e)
			}
			VADDPS(e, sums[s.number], sums[s.number])
			if store {
				VMOVUPS(e, s.at(dst))
			}
		})
	}
	TESTQ(stores, stores)
	JEQ(LabelRef(evaluate))
	terms(true)
	JMP(LabelRef(scale))
	Label(evaluate)
	terms(false)

	Label(scale)
	total := v.Tree(sums, Sum)
	Store(total, Return("sum"))
	factor := Load(Param("scale"), XMM()).(reg.VecVirtual)
	VDIVSS(total, factor, factor)
	factor = v.Spread(factor)
	v.each(stores, true, func(s span) {
		x := v.Vec()
		VMULPS(s.at(dst), factor, x)
		VMOVUPS(x, s.at(dst))
	})
	v.End()
}
