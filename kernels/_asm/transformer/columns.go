package main

import (
	"math"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// columns writes the softmax of columns and its backward pass.
func columns(v isa) {
	v.softmax()
	v.backward()
}

// softmax writes the softmax of 16 columns.
func (v isa) softmax() {
	v.text("softmaxColumns", "(x *float32, ld, rows, masked int, largest, scale *float32)", "is a function of columnTable.")
	x, ld, rows := integer("x"), integer("ld"), integer("rows")
	largest, scale := integer("largest"), integer("scale")
	v.hold(log2e, ln2Hi, ln2Lo, exp2, exp3, exp4, exp5, exp6, softmaxLow, 1)
	for _, part := range v.parts() {
		p := v.pointer(x, part)
		top := v.number(-math.MaxFloat32)
		v.eachRow(rows, ld, part, []reg.GPVirtual{p}, func(mask func(reg.VecVirtual)) {
			y := v.load(Mem{Base: p})
			mask(y)
			VMAXPS(top, y, top) // the second source, top, wins over NaN
		})
		VMOVUPS(top, Mem{Base: largest, Disp: part})

		p, sum := v.pointer(x, part), v.zeros()
		v.eachRow(rows, ld, part, []reg.GPVirtual{p}, func(mask func(reg.VecVirtual)) {
			y := v.load(Mem{Base: p})
			mask(y)
			VSUBPS(top, y, y)
			e := v.term(y)
			VADDPS(e, sum, sum)
			VMOVUPS(e, Mem{Base: p})
		})
		factor := v.number(1)
		VDIVPS(sum, factor, factor)
		factor = v.where(cmpNotEqual, sum, v.zeros(), factor)
		VMOVUPS(factor, Mem{Base: scale, Disp: part})

		p = v.pointer(x, part)
		v.eachRow(rows, ld, part, []reg.GPVirtual{p}, func(func(reg.VecVirtual)) {
			y := v.vec()
			VMULPS(Mem{Base: p}, factor, y)
			VMOVUPS(y, Mem{Base: p})
		})
	}
	v.end()
}

// backward writes the backward pass of 16 columns.
func (v isa) backward() {
	v.text("softmaxColumnsBackward", "(x, slopes *float32, ld, step, rows, masked int, largest, scale *float32)", "is a function of columnTable.")
	x, slopes, ld, slopeStep, rows := integer("x"), integer("slopes"), integer("ld"), integer("step"), integer("rows")
	largest, scale := integer("largest"), integer("scale")
	v.hold(log2e, ln2Hi, ln2Lo, exp2, exp3, exp4, exp5, exp6, softmaxLow, 1)
	for _, part := range v.parts() {
		top, factor := v.load(Mem{Base: largest, Disp: part}), v.load(Mem{Base: scale, Disp: part})
		p, q, mean := v.pointer(x, part), v.pointer(slopes, part), v.zeros()
		step := func() { ADDQ(slopeStep, q) }
		v.eachRow(rows, ld, part, []reg.GPVirtual{p}, func(mask func(reg.VecVirtual)) {
			y := v.load(Mem{Base: p})
			mask(y)
			VSUBPS(top, y, y)
			e := v.term(y)
			VMULPS(factor, e, e)
			VMOVUPS(e, Mem{Base: p})
			product := v.vec()
			VMULPS(Mem{Base: q}, e, product)
			VADDPS(product, mean, mean)
			step()
		})
		p, q = v.pointer(x, part), v.pointer(slopes, part)
		step = func() { ADDQ(slopeStep, q) }
		v.eachRow(rows, ld, part, []reg.GPVirtual{p}, func(func(reg.VecVirtual)) {
			y := v.load(Mem{Base: q})
			VSUBPS(mean, y, y)
			VMULPS(Mem{Base: p}, y, y)
			VMOVUPS(y, Mem{Base: q})
			step()
		})
	}
	v.end()
}

// eachRow repeats body for rows whole rows and then for the masked ones, adding ld to the pointers behind each. body gets what leaves out the
// columns that a row does not count in, by adding -Inf to them.
func (v isa) eachRow(rows, ld reg.GPVirtual, part int, pointers []reg.GPVirtual, body func(mask func(reg.VecVirtual))) {
	n, window := GP64(), GP64()
	repeat := func(mask func(reg.VecVirtual), behind func()) {
		loop, done := label("loop"), label("done")
		TESTQ(n, n)
		JEQ(LabelRef(done))
		Label(loop)
		body(mask)
		for _, p := range pointers {
			ADDQ(ld, p)
		}
		behind()
		DECQ(n)
		JNE(LabelRef(loop))
		Label(done)
	}
	MOVQ(rows, n)
	repeat(func(reg.VecVirtual) {}, func() {})
	Load(Param("masked"), n)
	LEAQ(triangle().Offset(64+part), window)
	repeat(func(y reg.VecVirtual) { VADDPS(Mem{Base: window}, y, y) }, func() { SUBQ(Imm(4), window) })
}
