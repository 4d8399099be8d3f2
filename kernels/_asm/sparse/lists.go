package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"

	"github.com/fedfast/fedfast/kernels/_asm/level"
)

// Offsets in maximaArgs.
const (
	maximaGrad, maximaIdx, maximaStart, maximaValue, maximaFilter = 0, 8, 16, 24, 32
	maximaWindows, maximaGroups, maximaPosition                   = 40, 48, 56
)

// lists is a function that appends the entries of pixels: of both pixels of a row of windows, where the gradient's
// byte says so, or of all
// pixels of the gradient.
type lists struct {
	level.Level
	maxima    bool
	positions []reg.VecVirtual // of the window's pixels
	filters   reg.VecVirtual   // numbers of the group's filters

	grad, idx, value, filter, e reg.GPVirtual
}

// write writes the loops over windows or pixels and groups of 16 filters. The isa's own parts are functions: first
// sets filters to
// those of the first group, spread fills a position, and body appends a group's entries at e and moves e.
func (l *lists) write(first func(), spread func(position reg.GPVirtual, to reg.VecVirtual), body func(pixel int)) {
	name, doc, pixels := "nonZero", "lists the values of pixels", 1
	if l.maxima {
		name, doc, pixels = "maxima", "lists the values of one row of pixels of windows", 2
	}
	name += l.Name
	TEXT(name, NOSPLIT, "func(args *maximaArgs)")
	Doc(name + " " + doc + "; see maximaArgs.")
	Pragma("noescape")
	args := Load(Param("args"), GP64()).(reg.GPVirtual)
	if l.maxima {
		position := load(args, maximaPosition)
		for range pixels {
			l.positions = append(l.positions, l.Vec())
			spread(position, l.positions[len(l.positions)-1])
			INCQ(position)
		}
		l.idx = GP64()
	}
	grad, idx := load(args, maximaGrad), load(args, maximaIdx)
	start, windows := load(args, maximaStart), load(args, maximaWindows)
	l.value, l.filter = load(args, maximaValue), load(args, maximaFilter)
	step, groups := sixteen(l.Level), GP64()
	l.filters, l.grad, l.e = l.Vec(), GP64(), GP64()
	MOVLQSX(Mem{Base: start}, l.e)
	Label("windows")
	for pixel := range pixels {
		MOVQ(grad, l.grad)
		if l.maxima {
			MOVQ(idx, l.idx)
		}
		MOVQ(field(args, maximaGroups), groups)
		first()
		Label(fmt.Sprintf("groups%d", pixel))
		body(pixel)
		VPADDD(step, l.filters, l.filters)
		ADDQ(Imm(64), l.grad)
		if l.maxima {
			ADDQ(Imm(16), l.idx)
		}
		DECQ(groups)
		JNE(LabelRef(fmt.Sprintf("groups%d", pixel)))
		MOVL(l.e.As32(), Mem{Base: start, Disp: 4 + 4*pixel})
	}
	MOVQ(l.grad, grad)
	if l.maxima {
		MOVQ(l.idx, idx)
	}
	ADDQ(U32(uint32(4*pixels)), start)
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
func sixteen(v level.Level) reg.VecVirtual {
	x, n := v.Vec(), GP32()
	MOVL(U32(16), n)
	VMOVD(n, x.AsX())
	VPBROADCASTD(x.AsX(), x)
	return x
}

// lanesTable is the numbers 0 to 15.
var lanesTable *Mem

func listsAVX512(maxima bool) {
	if lanesTable == nil {
		m := lanes("lanes512")
		lanesTable = &m
	}
	l := &lists{Level: level.Level{Name: "AVX512", Wide: true}, maxima: maxima}
	zeroth := l.Vec()
	l.write(func() {
		VMOVDQU32(*lanesTable, l.filters)
	}, func(position reg.GPVirtual, to reg.VecVirtual) {
		VPBROADCASTD(position.As32(), to)
	}, func(pixel int) {
		g, here, n := l.Vec(), K(), GP32()
		l.Zero(zeroth)
		VMOVUPS(Mem{Base: l.grad}, g)
		if l.maxima {
			at := l.Vec()
			VPMOVZXBD(Mem{Base: l.idx}, at)
			VPCMPEQD(l.positions[pixel], at, here)
			VCMPPS(Imm(cmpNotEqual), zeroth, g, here, here)
		} else {
			VCMPPS(Imm(cmpNotEqual), zeroth, g, here)
		}
		filters := l.Vec()
		VCOMPRESSPS_Z(g, here, g)
		VPCOMPRESSD_Z(l.filters, here, filters)
		VMOVUPS(g, Mem{Base: l.value, Index: l.e, Scale: 4})
		VMOVDQU32(filters, Mem{Base: l.filter, Index: l.e, Scale: 4})
		KMOVW(here, n)
		POPCNTL(n, n)
		ADDQ(n.As64(), l.e)
	})
}

// compressTable holds, for each mask of 8 lanes, the lanes that it has, first to last.
var compressTable *Mem

func listsAVX2(maxima bool) {
	if compressTable == nil {
		m := GLOBL("compress", RODATA|NOPTR)
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
		compressTable = &m
	}
	l := &lists{Level: level.Level{Name: "AVX2"}, maxima: maxima}
	table := GP64()
	l.write(func() {
		LEAQ(*compressTable, table)
		VPXOR(l.filters, l.filters, l.filters)
	}, func(position reg.GPVirtual, to reg.VecVirtual) {
		VMOVD(position.As32(), to.AsX())
		VPBROADCASTD(to.AsX(), to)
	}, func(pixel int) {
		for half := range 2 {
			g, some, order, n := l.Vec(), l.Vec(), l.Vec(), GP32()
			VMOVUPS(Mem{Base: l.grad, Disp: 32 * half}, g)
			VXORPS(some, some, some)
			VCMPPS(Imm(cmpNotEqual), some, g, some)
			if l.maxima {
				at := l.Vec()
				VPMOVZXBD(Mem{Base: l.idx, Disp: 8 * half}, at)
				VPCMPEQD(l.positions[pixel], at, at)
				VANDPS(at, some, some)
			}
			VMOVMSKPS(some, n)
			VPMOVZXBD(Mem{Base: table, Index: n.As64(), Scale: 8}, order)
			VPERMPS(g, order, g)
			VPADDD(l.filters, order, order)
			if half > 0 {
				eight, x := l.Vec(), GP32()
				MOVL(U32(8), x)
				VMOVD(x, eight.AsX())
				VPBROADCASTD(eight.AsX(), eight)
				VPADDD(eight, order, order)
			}
			VMOVUPS(g, Mem{Base: l.value, Index: l.e, Scale: 4})
			VMOVDQU(order, Mem{Base: l.filter, Index: l.e, Scale: 4})
			POPCNTL(n, n)
			ADDQ(n.As64(), l.e)
		}
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
