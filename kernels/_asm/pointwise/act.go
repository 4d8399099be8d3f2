package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// The constants of act_generic.go.
const (
	log2e = 0x1.715476p+0
	ln2Hi = 0x1.62e4p-1
	ln2Lo = 0x1.7f7d1cp-20
	exp2  = 0x1.fffffep-2
	exp3  = 0x1.5554aap-3
	exp4  = 0x1.55579ep-5
	exp5  = 0x1.122c86p-7
	exp6  = 0x1.6ab168p-10

	expLow, expHigh         = -104, 89
	sigmoidLow, sigmoidHigh = -87, 88.25
	tanhHigh                = 10
	softmaxLow              = -60

	signBit = 1 << 31
)

func activations(v isa) {
	for _, f := range []struct {
		name, doc string
		apply     func(x reg.VecVirtual) reg.VecVirtual
	}{
		{"exp", "stores e^src[i] in dst[i].", v.exp},
		{"sigmoid", "stores 1/(1+e^-src[i]) in dst[i].", v.sigmoid},
		{"tanh", "stores the hyperbolic tangent of src[i] in dst[i].", v.tanh},
	} {
		v.text(f.name, "(dst, src []float32)", f.doc)
		dst, src := base("dst"), base("src")
		v.each(length("src"), false, func(s span) { s.put(f.apply(s.get(src)), dst) })
		v.end()
	}

	v.text("reluBackward", "(dx, dy, y []float32)", "stores dy[i] in dx[i] where y[i] > 0, else 0.")
	dx, dy, y := base("dx"), base("dy"), base("y")
	n, zero := length("y"), v.zeros()
	v.each(n, false, func(s span) { s.put(s.where(cmpGreater, s.get(y), zero, s.get(dy)), dx) })
	v.end()
}

// atLeast and atMost limit x, in place; NaN stays NaN because x is what the processor calls the second source.
func (v isa) atLeast(x reg.VecVirtual, low float32) { VMAXPS(x, v.constant(low), x) }
func (v isa) atMost(x reg.VecVirtual, high float32) { VMINPS(x, v.constant(high), x) }

// reduce returns the integer n nearest to x*log2e and e^r - 1 for r = x - n ln2. It uses x up.
func (v isa) reduce(x reg.VecVirtual) (n, q reg.VecVirtual) {
	n = v.vec()
	v.with(VMULPS, VMULPS_BCST, float(log2e), x, n)
	if v.wide {
		VRNDSCALEPS(Imm(8), n, n)
	} else {
		VROUNDPS(Imm(8), n, n)
	}
	r := x
	v.with(VFNMADD231PS, VFNMADD231PS_BCST, float(ln2Hi), n, r)
	v.with(VFNMADD231PS, VFNMADD231PS_BCST, float(ln2Lo), n, r)
	VCVTPS2DQ(n, n)
	p := v.constant(exp6)
	for _, c := range []float32{exp5, exp4, exp3, exp2} {
		v.with(VFMADD213PS, VFMADD213PS_BCST, float(c), r, p) // p = p*r + c
	}
	square := v.vec()
	VMULPS(r, r, square)
	VFMADD213PS(r, square, p) // p = p*r² + r
	return n, p
}

// power turns the integers n into 2^n, in place.
func (v isa) power(n reg.VecVirtual) reg.VecVirtual {
	v.with(VPADDD, VPADDD_BCST, bits(127), n, n)
	VPSLLD(Imm(23), n, n)
	return n
}

// exp and the functions below return a function of x and use x up.
func (v isa) exp(x reg.VecVirtual) reg.VecVirtual {
	v.atLeast(x, expLow)
	v.atMost(x, expHigh)
	n, e := v.reduce(x)
	half := v.vec()
	VPSRAD(Imm(1), n, half)
	VPSUBD(half, n, n)
	s := v.power(half)
	VFMADD213PS(s, s, e) // e = q*s + s
	VMULPS(v.power(n), e, e)
	return e
}

func (v isa) sigmoid(x reg.VecVirtual) reg.VecVirtual {
	v.with(VXORPS, VXORPS_BCST, bits(signBit), x, x)
	v.atLeast(x, sigmoidLow)
	v.atMost(x, sigmoidHigh)
	n, e := v.reduce(x)
	s := v.power(n)
	VFMADD213PS(s, s, e) // e = q*s + s
	one := v.constant(1)
	VADDPS(one, e, e)
	VDIVPS(e, one, e)
	return e
}

func (v isa) tanh(x reg.VecVirtual) reg.VecVirtual {
	sign, a := v.vec(), v.vec()
	v.with(VANDPS, VANDPS_BCST, bits(signBit), x, sign)
	v.with(VANDPS, VANDPS_BCST, bits(signBit-1), x, a)
	v.atMost(a, tanhHigh)
	VADDPS(a, a, a)
	n, t := v.reduce(a)
	s := v.power(n)
	less := v.vec()
	v.with(VSUBPS, VSUBPS_BCST, float(1), s, less)
	VFMADD213PS(less, s, t) // t = q*s + (s-1)
	v.with(VADDPS, VADDPS_BCST, float(2), t, s)
	VDIVPS(s, t, t)
	VORPS(sign, t, t)
	return t
}

// softmaxTerm returns e^x for x <= 0, and 0 below softmaxLow.
func (v isa) softmaxTerm(x reg.VecVirtual) reg.VecVirtual {
	low := v.constant(softmaxLow)
	d := v.vec()
	VMAXPS(x, low, d)
	n, e := v.reduce(d)
	s := v.power(n)
	VFMADD213PS(s, s, e) // e = q*s + s
	return v.where(cmpNotLess, x, low, e)
}
