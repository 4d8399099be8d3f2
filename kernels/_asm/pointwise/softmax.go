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

func vectors(v isa) {
	v.Text("axpy", "(y, x []float32, alpha float32)", "adds alpha*x[i] to y[i].")
	y, x := base("y"), base("x")
	n, alpha := length("x"), v.Param(Param("alpha"))
	v.each(n, false, func(s span) {
		sum := s.get(y)
		VFMADD231PS(s.get(x), alpha, sum)
		s.put(sum, y)
	})
	v.End()

	v.Text("scale", "(dst, src []float32, alpha float32)", "stores alpha*src[i] in dst[i].")
	dst, src := base("dst"), base("src")
	n, alpha = length("src"), v.Param(Param("alpha"))
	v.each(n, false, func(s span) {
		p := s.get(src)
		VMULPS(alpha, p, p)
		s.put(p, dst)
	})
	v.End()

	for _, f := range []struct {
		name, doc string
		apply     func(a, b reg.VecVirtual)
	}{
		{"add", "stores a[i]+b[i] in dst[i].", func(a, b reg.VecVirtual) { VADDPS(b, a, a) }},
		{"sub", "stores a[i]-b[i] in dst[i].", func(a, b reg.VecVirtual) { VSUBPS(b, a, a) }},
	} {
		v.Text(f.name, "(dst, a, b []float32)", f.doc)
		dst, a, b := base("dst"), base("a"), base("b")
		v.each(length("dst"), false, func(s span) {
			x := s.get(a)
			f.apply(x, s.get(b))
			s.put(x, dst)
		})
		v.End()
	}

	v.Text("blend", "(y []float32, alphas *float32, xs *[]float32, inputs int)", "stores in y[i] the sum of alphas[k]*xs[k][i]; all slices are as long as y.")
	y = base("y")
	alphas, xs, inputs := Integer("alphas"), Integer("xs"), Integer("inputs")
	v.each(length("y"), false, func(s span) {
		k, slice, from, loop, done := GP64(), GP64(), GP64(), NewLabel("input"), NewLabel("sum")
		share := v.Vec()
		MOVQ(Mem{Base: xs}, from)
		VBROADCASTSS(Mem{Base: alphas}, share)
		sum := s.get(from)
		VMULPS(share, sum, sum)
		MOVQ(U32(1), k)
		MOVQ(xs, slice)
		Label(loop)
		CMPQ(k, inputs)
		JGE(LabelRef(done))
		ADDQ(Imm(24), slice)
		MOVQ(Mem{Base: slice}, from)
		VBROADCASTSS(Mem{Base: alphas, Index: k, Scale: 4}, share)
		VFMADD231PS(s.get(from), share, sum)
		INCQ(k)
		JMP(LabelRef(loop))
		Label(done)
		s.put(sum, y)
	})
	v.End()
}
