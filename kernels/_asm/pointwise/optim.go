package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"

	. "github.com/fedfast/fedfast/kernels/_asm/level"
)

func optimizers(v isa) {
	v.sgd("sgdPlain", "(w, g, anchor []float32, r sgdRates)", "does a step without momentum.", false, false)
	v.sgd("sgdMomentum", "(w, g, v, anchor []float32, r sgdRates)", "does a step with momentum.", true, true)
	v.sgd("sgdVelocity", "(w, g, v, anchor []float32, r sgdRates)", "does the first step with momentum.", true, false)
	v.nesterov()
	v.adam()
}

// sgd writes a step; velocity says whether it stores one and momentum whether it reads one.
func (v isa) sgd(name, signature, doc string, velocity, momentum bool) {
	v.Text(name, signature, doc)
	w, g, anchor := base("w"), base("g"), base("anchor")
	var speed reg.GPVirtual
	if velocity {
		speed = base("v")
	}
	n, anchors := length("w"), length("anchor")
	r := Param("r")
	lr, decay, mu := v.Param(r.Field("lr")), v.Param(r.Field("decay")), v.Param(r.Field("mu"))
	var rate reg.VecVirtual
	if momentum {
		rate = v.Param(r.Field("momentum"))
	}
	step := func(proximal bool) {
		v.each(n, false, func(s span) {
			x, d := s.get(w), s.get(g)
			VFMADD231PS(x, decay, d)
			if proximal {
				away := s.get(anchor)
				VSUBPS(away, x, away)
				VFMADD231PS(away, mu, d)
			}
			if momentum {
				VFMADD231PS(s.get(speed), rate, d)
			}
			if velocity {
				s.put(d, speed)
			}
			VFNMADD231PS(d, lr, x)
			s.put(x, w)
		})
		v.End()
	}
	free := NewLabel("free")
	TESTQ(anchors, anchors)
	JEQ(LabelRef(free))
	step(true)
	Label(free)
	step(false)
}

// nesterov writes the step with Nesterov's momentum, whose products and sums are rounded one by one.
func (v isa) nesterov() {
	v.Text("sgdNesterov", "(w, g, v, anchor []float32, r sgdRates)", "does a step with Nesterov's momentum.")
	w, g, speed, anchor := base("w"), base("g"), base("v"), base("anchor")
	n, anchors := length("w"), length("anchor")
	r := Param("r")
	lr, momentum, decay, mu := v.Param(r.Field("lr")), v.Param(r.Field("momentum")), v.Param(r.Field("decay")), v.Param(r.Field("mu"))
	v.proximal(n, anchors, func(s span, proximal bool) {
		x := s.get(w)
		d := s.direction(x, g, decay)
		if proximal {
			s.pull(d, x, anchor, mu)
		}
		m := s.get(speed)
		VMULPS(momentum, m, m)
		VADDPS(d, m, m)
		s.put(m, speed)
		VMULPS(momentum, m, m)
		VADDPS(m, d, d)
		VMULPS(lr, d, d)
		VSUBPS(d, x, x)
		s.put(x, w)
	})
}

// proximal writes a function's loop over n floats twice: for an anchor and for none.
func (v isa) proximal(n, anchors reg.GPVirtual, step func(s span, proximal bool)) {
	free := NewLabel("free")
	TESTQ(anchors, anchors)
	JEQ(LabelRef(free))
	v.each(n, false, func(s span) { step(s, true) })
	v.End()
	Label(free)
	v.each(n, false, func(s span) { step(s, false) })
	v.End()
}

// direction returns the gradient with weight decay, rounded after each operation.
func (s span) direction(x reg.VecVirtual, g reg.Register, decay reg.VecVirtual) reg.VecVirtual {
	d := s.Vec()
	VMULPS(decay, x, d)
	VADDPS(s.get(g), d, d)
	return d
}

// pull adds the proximal term to d, rounded after each operation.
func (s span) pull(d, x reg.VecVirtual, anchor reg.Register, mu reg.VecVirtual) {
	away := s.get(anchor)
	VSUBPS(away, x, away)
	VMULPS(mu, away, away)
	VADDPS(away, d, d)
}

// adam writes a step of Adam. Its rates are read anew for each register, since not all of them fit beside it; the root
// and the division
// take longer.
func (v isa) adam() {
	v.Text("adam", "(w, g, m, v, anchor []float32, r adamRates)", "does a step of Adam or AdamW.")
	w, g, first, second, anchor := base("w"), base("g"), base("m"), base("v"), base("anchor")
	n, anchors := length("w"), length("anchor")
	r := Param("r")
	rate := func(name string) reg.VecVirtual { return v.Param(r.Field(name)) }
	v.proximal(n, anchors, func(s span, proximal bool) {
		x := s.get(w)
		d := s.direction(x, g, rate("decay"))
		if proximal {
			s.pull(d, x, anchor, rate("mu"))
		}
		m := s.get(first)
		VMULPS(rate("beta1"), m, m)
		t := rate("rest1")
		VMULPS(d, t, t)
		VADDPS(t, m, m)
		s.put(m, first)
		u := s.get(second)
		VMULPS(rate("beta2"), u, u)
		t = rate("rest2")
		VMULPS(d, t, t)
		VMULPS(d, t, t)
		VADDPS(t, u, u)
		s.put(u, second)
		VSQRTPS(u, u)
		VMULPS(rate("scale"), u, u)
		VADDPS(rate("eps"), u, u)
		VDIVPS(u, m, m)
		VMULPS(rate("rate"), m, m)
		VMULPS(rate("keep"), x, x)
		VSUBPS(m, x, x)
		s.put(x, w)
	})
}
