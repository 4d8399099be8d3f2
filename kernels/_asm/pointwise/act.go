package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"

	. "github.com/fedfast/fedfast/kernels/_asm/level"
)

// The constants of act_generic.go.
const (
	expLow, expHigh         = -104, 89
	sigmoidLow, sigmoidHigh = -87, 88.25
	tanhHigh                = 10
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
		v.Text(f.name, "(dst, src []float32)", f.doc)
		v.HoldExp(expLow, expHigh, sigmoidLow, sigmoidHigh, tanhHigh, 1, 2)
		dst, src := base("dst"), base("src")
		v.each(length("src"), false, func(s span) { s.put(f.apply(s.get(src)), dst) })
		v.End()
	}

	v.Text("reluBackward", "(dx, dy, y []float32)", "stores dy[i] in dx[i] where y[i] > 0, else 0.")
	dx, dy, y := base("dx"), base("dy"), base("y")
	n, zero := length("y"), v.Zeros()
	v.each(n, false, func(s span) { s.put(s.Where(CmpGreater, s.get(y), zero, s.get(dy)), dx) })
	v.End()
}

// reluAdd goes through rows of whole 16 floats, the distances of which are in bytes.
func (v isa) reluAdd() {
	v.Text("reluAdd", "(dx, dy, y *float32, n, rows, dxRow, dyRow, yRow int)", "adds dy[i] to dx[i] where y[i] > 0, else 0, in rows of n floats.")
	dx, dy, y := Integer("dx"), Integer("dy"), Integer("y")
	n, rows := Integer("n"), Integer("rows")
	dxRow, dyRow, yRow := Integer("dxRow"), Integer("dyRow"), Integer("yRow")
	zero, left, row := v.Zeros(), GP64(), NewLabel("row")
	Label(row)
	MOVQ(n, left)
	v.each(left, true, func(s span) {
		d := s.Where(CmpGreater, s.get(y), zero, s.get(dy))
		VADDPS(s.get(dx), d, d)
		s.put(d, dx)
	})
	ADDQ(dxRow, dx)
	ADDQ(dyRow, dy)
	ADDQ(yRow, y)
	DECQ(rows)
	JNE(LabelRef(row))
	v.End()
}

// atLeast and atMost limit x, in place; NaN stays NaN because x is what the processor calls the second source.
func (v isa) atLeast(x reg.VecVirtual, low float32) { VMAXPS(x, v.Held(low), x) }
func (v isa) atMost(x reg.VecVirtual, high float32) { VMINPS(x, v.Held(high), x) }

// reduce returns the integer n nearest to x*log2e, as a float with AVX-512, and e^r - 1 for r = x - n ln2. It uses x
// up.
func (v isa) reduce(x reg.VecVirtual) (n, q reg.VecVirtual) {
	n = v.Nearest(x)
	if !v.Wide {
		VCVTPS2DQ(n, n)
	}
	q = v.Copy(Exp6)
	v.Series(x, q)
	return n, q
}

// scaled turns q into (q + 1) 2^n, rounded once where that is a normal number.
func (v isa) scaled(n, q reg.VecVirtual) {
	if v.Wide {
		VADDPS(v.Held(1), q, q)
		VSCALEFPS(n, q, q)
		return
	}
	s := v.power(n)
	VFMADD213PS(s, s, q) // q*s + s
}

// power turns n into 2^n, in place.
func (v isa) power(n reg.VecVirtual) reg.VecVirtual {
	if v.Wide {
		VSCALEFPS(n, v.Held(1), n)
		return n
	}
	v.With(VPADDD, VPADDD_BCST, v.Bits(127), n, n)
	VPSLLD(Imm(23), n, n)
	return n
}

// exp and the functions below return a function of x and use x up.
func (v isa) exp(x reg.VecVirtual) reg.VecVirtual {
	v.atLeast(x, expLow)
	v.atMost(x, expHigh)
	n, e := v.reduce(x)
	if v.Wide {
		v.scaled(n, e)
		return e
	}
	half := v.Vec()
	VPSRAD(Imm(1), n, half)
	VPSUBD(half, n, n)
	s := v.power(half)
	VFMADD213PS(s, s, e) // e = q*s + s
	VMULPS(v.power(n), e, e)
	return e
}

func (v isa) sigmoid(x reg.VecVirtual) reg.VecVirtual {
	v.With(VXORPS, VXORPS_BCST, v.Bits(SignBit), x, x)
	v.atLeast(x, sigmoidLow)
	v.atMost(x, sigmoidHigh)
	n, e := v.reduce(x)
	v.scaled(n, e)
	one := v.Held(1)
	VADDPS(one, e, e)
	VDIVPS(e, one, e)
	return e
}

func (v isa) tanh(x reg.VecVirtual) reg.VecVirtual {
	sign, a := v.Vec(), v.Vec()
	v.With(VANDPS, VANDPS_BCST, v.Bits(SignBit), x, sign)
	v.With(VANDPS, VANDPS_BCST, v.Bits(SignBit-1), x, a)
	v.atMost(a, tanhHigh)
	VADDPS(a, a, a)
	n, t := v.reduce(a)
	s := v.power(n)
	less := v.Vec()
	v.With(VSUBPS, VSUBPS_BCST, v.Constant(1), s, less)
	VFMADD213PS(less, s, t) // t = q*s + (s-1)
	v.With(VADDPS, VADDPS_BCST, v.Constant(2), t, s)
	VDIVPS(s, t, t)
	VORPS(sign, t, t)
	return t
}

// softmaxTerm returns e^x for x <= 0, and 0 below SoftmaxLow.
func (v isa) softmaxTerm(x reg.VecVirtual) reg.VecVirtual {
	low := v.Held(SoftmaxLow)
	d := v.Vec()
	VMAXPS(x, low, d)
	n, e := v.reduce(d)
	v.scaled(n, e)
	return v.Where(CmpNotLess, x, low, e)
}
