package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

func optimizers(v isa) {
	v.sgd("sgdPlain", "(w, g, anchor []float32, r sgdRates)", "does a step without momentum.", false, false)
	v.sgd("sgdMomentum", "(w, g, v, anchor []float32, r sgdRates)", "does a step with momentum.", true, true)
	v.sgd("sgdVelocity", "(w, g, v, anchor []float32, r sgdRates)", "does the first step with momentum.", true, false)
}

// sgd writes a step; velocity says whether it stores one and momentum whether it reads one.
func (v isa) sgd(name, signature, doc string, velocity, momentum bool) {
	v.text(name, signature, doc)
	w, g, anchor := base("w"), base("g"), base("anchor")
	var speed reg.GPVirtual
	if velocity {
		speed = base("v")
	}
	n, anchors := length("w"), length("anchor")
	r := Param("r")
	lr, decay, mu := v.param(r.Field("lr")), v.param(r.Field("decay")), v.param(r.Field("mu"))
	var rate reg.VecVirtual
	if momentum {
		rate = v.param(r.Field("momentum"))
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
		v.end()
	}
	free := label("free")
	TESTQ(anchors, anchors)
	JEQ(LabelRef(free))
	step(true)
	Label(free)
	step(false)
}
