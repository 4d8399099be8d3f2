package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"

	. "github.com/fedfast/fedfast/kernels/_asm/level"
)

// The constants of curve_generic.go.
const (
	geluLinear = 0x1.988454p+0
	geluCube   = 0x1.2444f2p-4
	geluSlope  = 0x1.b6676cp-3

	sixth = 0x1.555556p-3
	third = 0x1.555556p-2
)

func curves(v isa) {
	v.Text("multiply", "(dst, a, b *float32, n int)", "stores a*b in dst, of n blocks of 16 floats.")
	dst, a, b := Integer("dst"), Integer("a"), Integer("b")
	v.registers(Integer("n"), func(at func(p reg.GPVirtual) Mem) {
		VMOVUPS(v.Product(v.Load(at(a)), at(b)), at(dst))
	})
	v.End()

	v.unary("geluArgument", "stores what GELU's tanh form takes the sigmoid of.", func(x reg.VecVirtual) reg.VecVirtual {
		square := v.Product(x, x)
		square = v.Sum(v.Product(square, v.Number(geluCube)), v.Number(geluLinear))
		return v.Product(x, square)
	})

	v.curve("sigmoidSlope", func(_, s reg.VecVirtual) (y, slope reg.VecVirtual) {
		return s, v.Difference(s, v.Product(s, s))
	})
	v.curve("tanhSlope", func(_, s reg.VecVirtual) (y, slope reg.VecVirtual) {
		return s, v.Difference(v.Number(1), v.Product(s, s))
	})
	v.curve("silu", func(x, s reg.VecVirtual) (y, slope reg.VecVirtual) {
		y = v.Product(x, s)
		return y, v.Sum(s, v.Product(y, v.Difference(v.Number(1), s)))
	})
	v.curve("geluTanh", func(x, s reg.VecVirtual) (y, slope reg.VecVirtual) {
		y = v.Product(x, s)
		inner := v.Sum(v.Product(v.Product(x, x), v.Number(geluSlope)), v.Number(geluLinear))
		return y, v.Sum(s, v.Product(v.Product(y, v.Difference(v.Number(1), s)), inner))
	})
	v.curve("hardSwish", func(x, _ reg.VecVirtual) (y, slope reg.VecVirtual) {
		y = v.Product(v.Product(x, v.ramp(x)), v.Number(sixth))
		middle := v.Sum(v.Product(x, v.Number(third)), v.Number(0.5))
		low, high := v.Number(-3), v.Number(3)
		middle = v.Where(CmpGreater, x, low, v.Where(CmpGreater, high, x, middle))
		return y, v.Sum(middle, v.Where(CmpAtLeast, x, high, v.Number(1)))
	})
	v.curve("hardSigmoid", func(x, _ reg.VecVirtual) (y, slope reg.VecVirtual) {
		y = v.Product(v.ramp(x), v.Number(sixth))
		return y, v.Where(CmpGreater, x, v.Number(-3), v.Where(CmpGreater, v.Number(3), x, v.Number(sixth)))
	})
}

// unary writes a function of one vector.
func (v isa) unary(name, doc string, f func(x reg.VecVirtual) reg.VecVirtual) {
	v.Text(name, "(dst, src *float32, n int)", doc)
	dst, src := Integer("dst"), Integer("src")
	v.registers(Integer("n"), func(at func(p reg.GPVirtual) Mem) { VMOVUPS(f(v.Load(at(src))), at(dst)) })
	v.End()
}

// curve writes a function of x and of what slope holds before, which gives the value and the slope.
func (v isa) curve(name string, f func(x, s reg.VecVirtual) (y, slope reg.VecVirtual)) {
	v.Text(name, "(y, slope, x *float32, n int)", "is a function of curveTable.")
	to, slopes, from := Integer("y"), Integer("slope"), Integer("x")
	v.registers(Integer("n"), func(at func(p reg.GPVirtual) Mem) {
		y, slope := f(v.Load(at(from)), v.Load(at(slopes)))
		VMOVUPS(y, at(to))
		VMOVUPS(slope, at(slopes))
	})
	v.End()
}

// ramp returns x+3 within [0, 6]; NaN stays NaN because x is what the processor calls the second source.
func (v isa) ramp(x reg.VecVirtual) reg.VecVirtual {
	r := v.Sum(x, v.Number(3))
	VMAXPS(r, v.Zeros(), r)
	VMINPS(r, v.Number(6), r)
	return r
}
