package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// Offsets in maximaArgs.
const (
	maximaGrad, maximaIdx, maximaStart, maximaValue, maximaFilter = 0, 8, 16, 24, 32
	maximaWindows, maximaGroups, maximaPosition                   = 40, 48, 56
)

// maxima writes the loops over windows, their two pixels and groups of 16 filters. body handles a group: it appends the lanes of the
// gradient at grad whose byte at idx is the pixel's position, first being a register with the group's filters, and moves e behind.
func maxima(name string, first func() (start func(), next func()), body func(pixel int, grad, idx reg.GPVirtual, value, filter, e reg.GPVirtual), spread func(position reg.GPVirtual, pixel int)) {
	TEXT("maxima"+name, NOSPLIT, "func(args *maximaArgs)")
	Doc("maxima" + name + " lists the values of one row of pixels; see maximaArgs.")
	Pragma("noescape")
	args := Load(Param("args"), GP64()).(reg.GPVirtual)
	position := load(args, maximaPosition)
	for pixel := range 2 {
		spread(position, pixel)
		INCQ(position)
	}
	grad, idx := load(args, maximaGrad), load(args, maximaIdx)
	value, filter, start := load(args, maximaValue), load(args, maximaFilter), load(args, maximaStart)
	windows := load(args, maximaWindows)
	begin, next := first()
	e := GP64()
	MOVLQSX(Mem{Base: start}, e)
	at, at4, groups := GP64(), GP64(), GP64()
	Label("windows")
	for pixel := range 2 {
		MOVQ(grad, at4)
		MOVQ(idx, at)
		MOVQ(field(args, maximaGroups), groups)
		begin()
		Label(fmt.Sprintf("groups%d", pixel))
		body(pixel, at4, at, value, filter, e)
		next()
		ADDQ(Imm(64), at4)
		ADDQ(Imm(16), at)
		DECQ(groups)
		JNE(LabelRef(fmt.Sprintf("groups%d", pixel)))
		MOVL(e.As32(), Mem{Base: start, Disp: 4 + 4*pixel})
	}
	MOVQ(at4, grad)
	MOVQ(at, idx)
	ADDQ(Imm(8), start)
	DECQ(windows)
	JNE(LabelRef("windows"))
	VZEROUPPER()
	RET()
}

// cmpNotEqual is the predicate of VCMPPS that also holds for NaN.
const cmpNotEqual = 4

// lanes returns the address of the numbers 0 to 15.
func lanes(name string) Mem {
	m := GLOBL(name, RODATA|NOPTR)
	for i := range 16 {
		DATA(4*i, U32(uint32(i)))
	}
	return m
}

// sixteen returns a register with 16 in all lanes.
func sixteen(v isa) reg.VecVirtual {
	x, n := v.vec(), GP32()
	MOVL(U32(16), n)
	VMOVD(n, x.AsX())
	VPBROADCASTD(x.AsX(), x)
	return x
}

func maximaAVX512() {
	v := isa{"AVX512", true}
	var positions [2]reg.VecVirtual
	var filters reg.VecVirtual
	maxima(v.name, func() (func(), func()) {
		zeroth, step := v.vec(), sixteen(v)
		VMOVDQU32(lanes("lanes512"), zeroth)
		filters = v.vec()
		return func() { VMOVDQA32(zeroth, filters) }, func() { VPADDD(step, filters, filters) }
	}, func(pixel int, grad, idx, value, filter, e reg.GPVirtual) {
		g, at, zero, here, n := v.vec(), v.vec(), v.vec(), K(), GP32()
		v.zero(zero)
		VMOVUPS(Mem{Base: grad}, g)
		VPMOVZXBD(Mem{Base: idx}, at)
		VPCMPEQD(positions[pixel], at, here)
		VCMPPS(Imm(cmpNotEqual), zero, g, here, here)
		VCOMPRESSPS_Z(g, here, g)
		VPCOMPRESSD_Z(filters, here, at)
		VMOVUPS(g, Mem{Base: value, Index: e, Scale: 4})
		VMOVDQU32(at, Mem{Base: filter, Index: e, Scale: 4})
		KMOVW(here, n)
		POPCNTL(n, n)
		ADDQ(n.As64(), e)
	}, func(position reg.GPVirtual, pixel int) {
		positions[pixel] = v.vec()
		VPBROADCASTD(position.As32(), positions[pixel])
	})
}

func maximaAVX2() {
	v := isa{"AVX2", false}
	// For each mask of 8 lanes, the lanes that it holds, first to last.
	table := GLOBL("compress", RODATA|NOPTR)
	for mask := range 256 {
		var bytes uint64
		n := 0
		for lane := range 8 {
			if mask>>lane&1 != 0 {
				bytes |= uint64(lane) << (8 * n)
				n++
			}
		}
		DATA(8*mask, U64(bytes))
	}
	var positions [2]reg.VecVirtual
	var filters reg.VecVirtual
	var lut reg.GPVirtual
	maxima(v.name, func() (func(), func()) {
		step := sixteen(v)
		filters, lut = v.vec(), GP64()
		LEAQ(table, lut)
		return func() { VPXOR(filters, filters, filters) }, func() { VPADDD(step, filters, filters) }
	}, func(pixel int, grad, idx, value, filter, e reg.GPVirtual) {
		for half := range 2 {
			g, at, some, order, n := v.vec(), v.vec(), v.vec(), v.vec(), GP32()
			VMOVUPS(Mem{Base: grad, Disp: 32 * half}, g)
			VPMOVZXBD(Mem{Base: idx, Disp: 8 * half}, at)
			VPCMPEQD(positions[pixel], at, at)
			VXORPS(some, some, some)
			VCMPPS(Imm(cmpNotEqual), some, g, some)
			VANDPS(at, some, some)
			VMOVMSKPS(some, n)
			VPMOVZXBD(Mem{Base: lut, Index: n.As64(), Scale: 8}, order)
			VPERMPS(g, order, g)
			VPADDD(filters, order, order)
			if half > 0 {
				eight, x := v.vec(), GP32()
				MOVL(U32(8), x)
				VMOVD(x, eight.AsX())
				VPBROADCASTD(eight.AsX(), eight)
				VPADDD(eight, order, order)
			}
			VMOVUPS(g, Mem{Base: value, Index: e, Scale: 4})
			VMOVDQU(order, Mem{Base: filter, Index: e, Scale: 4})
			POPCNTL(n, n)
			ADDQ(n.As64(), e)
		}
	}, func(position reg.GPVirtual, pixel int) {
		positions[pixel] = v.vec()
		VMOVD(position.As32(), positions[pixel].AsX())
		VPBROADCASTD(positions[pixel].AsX(), positions[pixel])
	})
}

// Offsets in appendArgs.
const (
	appendStart, appendPixels, appendValue, appendFilter, appendTail = 0, 8, 16, 24, 32
	appendListValue, appendListAt, appendSum, appendAt, appendStep   = 40, 48, 56, 64, 72
)

func appendByFilter() {
	TEXT("appendAVX2", NOSPLIT, "func(args *appendArgs)")
	Doc("appendAVX2 deals the entries of pixels out to the lists of their filters; see appendArgs.")
	Pragma("noescape")
	args := Load(Param("args"), GP64()).(reg.GPVirtual)
	start, pixels := load(args, appendStart), load(args, appendPixels)
	value, filter, tail := load(args, appendValue), load(args, appendFilter), load(args, appendTail)
	listValue, listAt, sum := load(args, appendListValue), load(args, appendListAt), load(args, appendSum)
	at := load(args, appendAt)
	e, end, f, t, x, y := GP64(), GP64(), GP64(), GP64(), XMM(), XMM()
	MOVLQSX(Mem{Base: start}, e)
	Label("pixels")
	MOVLQSX(Mem{Base: start, Disp: 4}, end)
	CMPQ(e, end)
	JGE(LabelRef("next"))
	Label("entries")
	MOVL(Mem{Base: filter, Index: e, Scale: 4}, f.As32())
	VMOVSS(Mem{Base: value, Index: e, Scale: 4}, x)
	MOVL(Mem{Base: tail, Index: f, Scale: 4}, t.As32())
	VADDSS(Mem{Base: sum, Index: f, Scale: 4}, x, y)
	VMOVSS(x, Mem{Base: listValue, Index: t, Scale: 4})
	MOVL(at.As32(), Mem{Base: listAt, Index: t, Scale: 4})
	INCL(t.As32())
	VMOVSS(y, Mem{Base: sum, Index: f, Scale: 4})
	MOVL(t.As32(), Mem{Base: tail, Index: f, Scale: 4})
	INCQ(e)
	CMPQ(e, end)
	JLT(LabelRef("entries"))
	Label("next")
	ADDQ(field(args, appendStep), at)
	ADDQ(Imm(4), start)
	DECQ(pixels)
	JNE(LabelRef("pixels"))
	RET()
}
