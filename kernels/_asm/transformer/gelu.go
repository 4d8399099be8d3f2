package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"

	. "github.com/fedfast/fedfast/kernels/_asm/level"
)

// The constants of curve_generic.go.
const (
	erfScale = 0x1.da671p-3
	erf1     = 0x1.04f20cp-3
	erf2     = -0x1.23531cp-3
	erf3     = 0x1.6be1c6p-1
	erf4     = -0x1.7401c6p-1
	erf5     = 0x1.0fb844p-1
	density  = 0x1.988454p-2

	expLow = -104
)

// gelu writes GELU with its slope and without.
func gelu(v isa) {
	v.Text("geluWhole", "(y, slope, x *float32, n int)", "is a function of curveTable.")
	v.geluLoop(true)
	v.Text("geluValue", "(y, x *float32, n int)", "is a function of curveTable.")
	v.geluLoop(false)
}

func (v isa) geluLoop(slopes bool) {
	y, x, n := Integer("y"), Integer("x"), Integer("n")
	var slope reg.GPVirtual
	if slopes {
		slope = Integer("slope")
	}
	v.HoldExp(expLow, 1, erfScale, erf1, erf2, erf3, erf4, erf5, -0.5, density)
	SHLQ(Imm(6), n)
	i, loop := GP64(), NewLabel("loop")
	XORQ(i, i)
	Label(loop)
	for _, part := range v.Parts() {
		at := func(p reg.GPVirtual) Mem { return Mem{Base: p, Index: i, Scale: 1, Disp: part} }
		value, derivative := v.gelu(v.Load(at(x)), slopes)
		VMOVUPS(value, at(y))
		if slopes {
			VMOVUPS(derivative, at(slope))
		}
	}
	ADDQ(Imm(64), i)
	CMPQ(i, n)
	JNE(LabelRef(loop))
	v.End()
}

// gelu returns x Phi(x) and, if wanted, Phi(x) + x phi(x), in the steps of plain Go: only the exponential has fused
// ones.
func (v isa) gelu(x reg.VecVirtual, slope bool) (y, derivative reg.VecVirtual) {
	a, e, t, q, phi := v.Vec(), v.Vec(), v.Vec(), v.Vec(), v.Vec()
	VMULPS(x, x, a)
	VMULPS(v.Constant(-0.5), a, a)
	e = v.exp(a)
	v.absolute(x, a)
	VMULPS(v.Constant(erfScale), a, a)
	VADDPS(v.Constant(1), a, a)
	VMOVAPS(v.Constant(1), t)
	VDIVPS(a, t, t)
	VMULPS(v.Constant(erf5), t, q)
	for _, c := range []float32{erf4, erf3, erf2, erf1} {
		VADDPS(v.Constant(c), q, q)
		VMULPS(t, q, q)
	}
	VMULPS(e, q, q) // Phi(-|x|)
	VMOVAPS(v.Constant(1), phi)
	VSUBPS(q, phi, phi)
	v.unlessNegative(x, phi, q)
	VMULPS(q, x, a)
	if !slope {
		return a, nil
	}
	VMULPS(v.Constant(density), e, e)
	VMULPS(e, x, e)
	VADDPS(e, q, q)
	return a, q
}

// absolute sets a to |x|.
func (v isa) absolute(x, a reg.VecVirtual) {
	if v.Wide {
		VPANDD_BCST(v.Bits(SignBit-1), x, a)
	} else {
		VANDPS(v.Bits(SignBit-1), x, a)
	}
}

// unlessNegative puts y into z in the lanes where x is at least 0.
func (v isa) unlessNegative(x, y, z reg.VecVirtual) {
	zero := v.Zeros()
	if v.Wide {
		k := K()
		VCMPPS(Imm(CmpAtLeast), zero, x, k)
		VMOVAPS(y, k, z)
	} else {
		mask := v.Vec()
		VCMPPS(Imm(CmpAtLeast), zero, x, mask)
		VBLENDVPS(mask, y, z, z)
	}
}

// exp returns e^x for x <= 0. It uses x up.
func (v isa) exp(x reg.VecVirtual) reg.VecVirtual {
	low := v.Vec()
	VMOVAPS(v.Constant(expLow), low)
	VMAXPS(x, low, x) // NaN stays NaN because x is the second source
	n, q := v.reduce(x)
	if v.Wide {
		VADDPS(v.Constant(1), q, q)
		VSCALEFPS(n, q, q)
		return q
	}
	half := v.Vec()
	VCVTPS2DQ(n, n)
	VPSRAD(Imm(1), n, half)
	VPSUBD(half, n, n)
	VPADDD(v.Bits(127), half, half)
	VPSLLD(Imm(23), half, half)
	VFMADD213PS(half, half, q) // q*s + s
	VPADDD(v.Bits(127), n, n)
	VPSLLD(Imm(23), n, n)
	VMULPS(n, q, q)
	return q
}
