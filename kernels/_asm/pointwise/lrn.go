package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"

	. "github.com/fedfast/fedfast/kernels/_asm/level"
)

// Offsets in lrnArgs.
const (
	lrnX, lrnBase, lrnPower, lrnDY, lrnOut, lrnSpace    = 0, 8, 16, 24, 32, 40
	lrnPixels, lrnGroups, lrnGap                        = 48, 56, 64
	lrnRadius, lrnTerms, lrnQuarters, lrnBias, lrnAlpha = 72, 80, 88, 96, 100
)

// values is a register's worth of a pixel's channels, inside the loops that lrnLoop makes.
type values struct {
	isa
	args   reg.GPVirtual
	offset reg.GPVirtual // of the channels in the slices
	space  reg.GPVirtual // address of their terms
	part   int
	slice  map[int]reg.GPVirtual
}

// of returns the address of the channels in a slice.
func (x values) of(slice int) Mem {
	return Mem{Base: x.slice[slice], Index: x.offset, Scale: 1, Disp: x.part}
}

// lrnLoop goes through pixels and channels; before runs once, after the loading of the arguments.
func (v isa) lrnLoop(name, doc string, slices []int, before func(args reg.GPVirtual), body func(x values)) {
	v.Text(name, "(args *lrnArgs)", doc)
	x := values{isa: v, offset: GP64(), slice: map[int]reg.GPVirtual{}}
	x.args = Load(Param("args"), GP64()).(reg.GPVirtual)
	load := func(offset int) reg.GPVirtual {
		r := GP64()
		MOVQ(Mem{Base: x.args, Disp: offset}, r)
		return r
	}
	for _, s := range slices {
		x.slice[s] = load(s)
	}
	x.space = load(lrnSpace)
	pixels, groups := load(lrnPixels), GP64()
	before(x.args)
	XORQ(x.offset, x.offset)
	each, inside := NewLabel("pixels"), NewLabel("groups")
	Label(each)
	MOVQ(Mem{Base: x.args, Disp: lrnGroups}, groups)
	Label(inside)
	for _, x.part = range v.Parts() {
		body(x)
	}
	ADDQ(Imm(64), x.offset)
	ADDQ(Imm(64), x.space)
	DECQ(groups)
	JNE(LabelRef(inside))
	ADDQ(Mem{Base: x.args, Disp: lrnGap}, x.space)
	DECQ(pixels)
	JNE(LabelRef(each))
	v.End()
}

// sum returns the sums of the terms around the channels.
func (x values) sum() reg.VecVirtual {
	at, n, s := GP64(), GP64(), x.Vec()
	loop, done := NewLabel("terms"), NewLabel("summed")
	MOVQ(x.space, at)
	SUBQ(Mem{Base: x.args, Disp: lrnRadius}, at)
	MOVQ(Mem{Base: x.args, Disp: lrnTerms}, n)
	VMOVUPS(Mem{Base: at, Disp: x.part}, s)
	DECQ(n)
	JEQ(LabelRef(done))
	Label(loop)
	VADDPS(Mem{Base: at, Disp: x.part + 4}, s, s)
	ADDQ(Imm(4), at)
	DECQ(n)
	JNE(LabelRef(loop))
	Label(done)
	return s
}

// lrn writes local response normalisation.
func lrn(v isa) {
	nothing := func(reg.GPVirtual) {}
	v.lrnLoop("lrnSquares", "stores squares as terms; see lrnArgs.", []int{lrnX}, nothing, func(x values) {
		a := v.Load(x.of(lrnX))
		VMULPS(a, a, a)
		VMOVUPS(a, Mem{Base: x.space, Disp: x.part})
	})

	bias, alpha, one := v.Vec(), v.Vec(), v.Vec()
	v.lrnLoop("lrnNormalize", "normalises by the sums of terms; see lrnArgs.", []int{lrnX, lrnBase, lrnPower, lrnOut}, func(args reg.GPVirtual) {
		VBROADCASTSS(Mem{Base: args, Disp: lrnBias}, bias)
		VBROADCASTSS(Mem{Base: args, Disp: lrnAlpha}, alpha)
		VBROADCASTSS(v.Float(1), one)
	}, func(x values) {
		b := x.sum()
		VMULPS(alpha, b, b)
		VADDPS(bias, b, b)
		VMOVUPS(b, x.of(lrnBase))
		x.quarterPower(b)
		VDIVPS(b, one, b)
		VMOVUPS(b, x.of(lrnPower))
		VMULPS(x.of(lrnX), b, b)
		VMOVUPS(b, x.of(lrnOut))
	})

	v.lrnLoop("lrnQuotients", "stores dy*x*power/base as terms; see lrnArgs.", []int{lrnX, lrnBase, lrnPower, lrnDY}, nothing, func(x values) {
		q := v.Load(x.of(lrnDY))
		VMULPS(x.of(lrnX), q, q)
		VMULPS(x.of(lrnPower), q, q)
		VDIVPS(x.of(lrnBase), q, q)
		VMOVUPS(q, Mem{Base: x.space, Disp: x.part})
	})

	factor := v.Vec()
	v.lrnLoop("lrnGradient", "computes the gradient from the sums of terms; see lrnArgs.", []int{lrnX, lrnPower, lrnDY, lrnOut}, func(args reg.GPVirtual) {
		VBROADCASTSS(Mem{Base: args, Disp: lrnAlpha}, factor)
	}, func(x values) {
		around, d := x.sum(), v.Load(x.of(lrnDY))
		VMULPS(factor, around, around)
		VMULPS(x.of(lrnX), around, around)
		VMULPS(x.of(lrnPower), d, d)
		VSUBPS(around, d, d)
		VMOVUPS(d, x.of(lrnOut))
	})
}

// quarterPower raises b to a number of quarters.
func (x values) quarterPower(b reg.VecVirtual) {
	three, square, done := NewLabel("three"), NewLabel("square"), NewLabel("raised")
	quarters, root := GP64(), x.Vec()
	MOVQ(Mem{Base: x.args, Disp: lrnQuarters}, quarters)
	CMPQ(quarters, Imm(4))
	JEQ(LabelRef(done))
	CMPQ(quarters, Imm(3))
	JEQ(LabelRef(three))
	CMPQ(quarters, Imm(2))
	JEQ(LabelRef(square))
	VSQRTPS(b, b)
	Label(square)
	VSQRTPS(b, b)
	JMP(LabelRef(done))
	Label(three)
	VSQRTPS(b, b)
	VSQRTPS(b, root)
	VMULPS(root, b, b)
	Label(done)
}
