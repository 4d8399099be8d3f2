package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"

	. "github.com/fedfast/fedfast/kernels/_asm/level"
)

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
