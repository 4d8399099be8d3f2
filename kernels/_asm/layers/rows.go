package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// lanes returns the registers of 16 sums that start at zero.
func (v isa) lanes() []reg.VecVirtual {
	var sums []reg.VecVirtual
	for range v.parts() {
		sums = append(sums, v.zeros())
	}
	return sums
}

// keep stores the sums at a parameter.
func (v isa) keep(sums []reg.VecVirtual, name string, offset int) {
	p := integer(name)
	for k, at := range v.parts() {
		VMOVUPS(sums[k], Mem{Base: p, Disp: offset + at})
	}
}

func rows(v isa) {
	v.text("rowSum", "(lanes, x *float32, n int)", "stores the 16 sums of n blocks.")
	x, sums := integer("x"), v.lanes()
	v.each(integer("n"), func(k int, at func(p reg.GPVirtual) Mem) { VADDPS(at(x), sums[k], sums[k]) })
	v.keep(sums, "lanes", 0)
	v.end()

	v.text("rowSquares", "(lanes, x *float32, mean float32, n int)", "stores the 16 sums of (x-mean)*(x-mean).")
	x, sums = integer("x"), v.lanes()
	mean := v.param("mean")
	v.each(integer("n"), func(k int, at func(p reg.GPVirtual) Mem) {
		d := v.difference(v.load(at(x)), mean)
		VADDPS(v.product(d, d), sums[k], sums[k])
	})
	v.keep(sums, "lanes", 0)
	v.end()

	v.text("rowScale", "(y, x, weight, bias *float32, mean, scale float32, n int)", "stores (x-mean)*scale*weight + bias.")
	y, x, weight, bias := integer("y"), integer("x"), integer("weight"), integer("bias")
	mean, scale := v.param("mean"), v.param("scale")
	v.each(integer("n"), func(_ int, at func(p reg.GPVirtual) Mem) {
		z := v.product(v.difference(v.load(at(x)), mean), scale)
		VMOVUPS(v.sum(v.product(z, at(weight)), at(bias)), at(y))
	})
	v.end()

	v.text("rowGradient", "(lanes, gw, gb, x, dy, weight *float32, mean, scale float32, n int)", "adds a row to the gradients of weight and bias, and stores the 16 sums of u = dy*weight and of u*z.")
	gw, gb, dy := integer("gw"), integer("gb"), integer("dy")
	x, weight = integer("x"), integer("weight")
	mean, scale = v.param("mean"), v.param("scale")
	sums, products := v.lanes(), v.lanes()
	v.each(integer("n"), func(k int, at func(p reg.GPVirtual) Mem) {
		z, g := v.product(v.difference(v.load(at(x)), mean), scale), v.load(at(dy))
		VMOVUPS(v.sum(v.product(g, z), at(gw)), at(gw))
		VMOVUPS(v.sum(g, at(gb)), at(gb))
		u := v.product(g, at(weight))
		VADDPS(u, sums[k], sums[k])
		VADDPS(v.product(u, z), products[k], products[k])
	})
	v.keep(sums, "lanes", 0)
	v.keep(products, "lanes", 64)
	v.end()

	v.text("rowInput", "(dx, x, dy, weight *float32, mean, scale, first, second float32, n int)", "stores scale*((dy*weight - first) - z*second).")
	dx, dy := integer("dx"), integer("dy")
	x, weight = integer("x"), integer("weight")
	mean, scale = v.param("mean"), v.param("scale")
	first, second := v.param("first"), v.param("second")
	v.each(integer("n"), func(_ int, at func(p reg.GPVirtual) Mem) {
		z := v.product(v.difference(v.load(at(x)), mean), scale)
		u := v.difference(v.product(v.load(at(dy)), at(weight)), first)
		VMOVUPS(v.product(v.difference(u, v.product(z, second)), scale), at(dx))
	})
	v.end()

	v.text("softmaxGradient", "(dst, p *float32, mean float32, n int)", "stores p*(dst-mean) in dst.")
	dst, shares := integer("dst"), integer("p")
	mean = v.param("mean")
	v.each(integer("n"), func(_ int, at func(p reg.GPVirtual) Mem) {
		VMOVUPS(v.product(v.difference(v.load(at(dst)), mean), at(shares)), at(dst))
	})
	v.end()
}
