package main

import (
	"math"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"

	. "github.com/fedfast/fedfast/kernels/_asm/level"
)

// columns writes the softmax of columns and its backward pass.
func columns(v isa) {
	v.softmax()
	v.backward()
}

// softmax writes the softmax of 16 columns.
func (v isa) softmax() {
	v.Text("softmaxColumns", "(x *float32, ld, rows, masked int, largest, scale *float32)", "is a function of columnTable.")
	x, ld, rows := Integer("x"), Integer("ld"), Integer("rows")
	largest, scale := Integer("largest"), Integer("scale")
	v.HoldExp(SoftmaxLow, 1)
	for _, part := range v.Parts() {
		p := v.pointer(x, part)
		top := v.Number(-math.MaxFloat32)
		v.eachRow(rows, ld, part, []reg.GPVirtual{p}, func(mask func(reg.VecVirtual)) {
			y := v.Load(Mem{Base: p})
			mask(y)
			VMAXPS(top, y, top) // the second source, top, wins over NaN
		})
		VMOVUPS(top, Mem{Base: largest, Disp: part})

		p, sum := v.pointer(x, part), v.Zeros()
		v.eachRow(rows, ld, part, []reg.GPVirtual{p}, func(mask func(reg.VecVirtual)) {
			y := v.Load(Mem{Base: p})
			mask(y)
			VSUBPS(top, y, y)
			e := v.term(y)
			VADDPS(e, sum, sum)
			VMOVUPS(e, Mem{Base: p})
		})
		factor := v.Number(1)
		VDIVPS(sum, factor, factor)
		factor = v.Where(CmpNotEqual, sum, v.Zeros(), factor)
		VMOVUPS(factor, Mem{Base: scale, Disp: part})

		p = v.pointer(x, part)
		v.eachRow(rows, ld, part, []reg.GPVirtual{p}, func(func(reg.VecVirtual)) {
			y := v.Vec()
			VMULPS(Mem{Base: p}, factor, y)
			VMOVUPS(y, Mem{Base: p})
		})
	}
	v.End()
}

// backward writes the backward pass of 16 columns.
func (v isa) backward() {
	v.Text("softmaxColumnsBackward", "(x, slopes *float32, ld, step, rows, masked int, largest, scale *float32)", "is a function of columnTable.")
	x, slopes, ld, slopeStep, rows := Integer("x"), Integer("slopes"), Integer("ld"), Integer("step"), Integer("rows")
	largest, scale := Integer("largest"), Integer("scale")
	v.HoldExp(SoftmaxLow, 1)
	for _, part := range v.Parts() {
		top, factor := v.Load(Mem{Base: largest, Disp: part}), v.Load(Mem{Base: scale, Disp: part})
		p, q, mean := v.pointer(x, part), v.pointer(slopes, part), v.Zeros()
		step := func() { ADDQ(slopeStep, q) }
		v.eachRow(rows, ld, part, []reg.GPVirtual{p}, func(mask func(reg.VecVirtual)) {
			y := v.Load(Mem{Base: p})
			mask(y)
			VSUBPS(top, y, y)
			e := v.term(y)
			VMULPS(factor, e, e)
			VMOVUPS(e, Mem{Base: p})
			product := v.Vec()
			VMULPS(Mem{Base: q}, e, product)
			VADDPS(product, mean, mean)
			step()
		})
		p, q = v.pointer(x, part), v.pointer(slopes, part)
		step = func() { ADDQ(slopeStep, q) }
		v.eachRow(rows, ld, part, []reg.GPVirtual{p}, func(func(reg.VecVirtual)) {
			y := v.Load(Mem{Base: q})
			VSUBPS(mean, y, y)
			VMULPS(Mem{Base: p}, y, y)
			VMOVUPS(y, Mem{Base: q})
			step()
		})
	}
	v.End()
}

// eachRow repeats body for rows whole rows and then for the masked ones, adding ld to the pointers after each. body
// gets what leaves out the
// columns that a row does not count in, by adding -Inf to them.
func (v isa) eachRow(rows, ld reg.GPVirtual, part int, pointers []reg.GPVirtual, body func(mask func(reg.VecVirtual))) {
	n, window := GP64(), GP64()
	repeat := func(mask func(reg.VecVirtual), behind func()) {
		loop, done := NewLabel("loop"), NewLabel("done")
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
	infinite := Window("columnTriangle", math.Float32bits(float32(math.Inf(-1))))
	Load(Param("masked"), n)
	LEAQ(infinite.Offset(64+part), window)
	repeat(func(y reg.VecVirtual) { VADDPS(Mem{Base: window}, y, y) }, func() { SUBQ(Imm(4), window) })
}

// pointer returns a copy of p, some bytes on.
func (v isa) pointer(p reg.GPVirtual, bytes int) reg.GPVirtual {
	q := GP64()
	LEAQ(Mem{Base: p, Disp: bytes}, q)
	return q
}
