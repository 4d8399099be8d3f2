package main

import (
	"sync"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"

	"github.com/fedfast/fedfast/kernels/_asm/dot"
	"github.com/fedfast/fedfast/kernels/_asm/level"
)

// factor says what B holds: pairs, or floats, nnArgs.k rows of one segment, that are rounded to pairs on their way and
// may be kept as such.
type factor struct {
	name         string
	floats, kept bool
}

var (
	pairs  factor
	floats = factor{name: "nnRoundBF16", floats: true}
	kept   = factor{name: "nnKeepBF16", floats: true, kept: true}
)

// tall are the tiles of nn that keep pairs: wider tiles are for lower ones.
var tall = level.NNHeights[7:]

// nnFloats writes the products of one segment with floats.
func nnFloats(t tile, of factor) {
	even, all := t.label("even"), t.label("all")
	keep := func(s int) func(p int) Mem {
		if !of.kept {
			return nil
		}
		return func(p int) Mem {
			m := Mem{Base: to, Disp: 64 * s}
			if p > 0 {
				m.Index, m.Scale = toNext, 1
			}
			return m
		}
	}
	MOVQ(Mem{Base: args, Disp: nnK}, kc)
	SHRQ(Imm(1), kc)
	JEQ(LabelRef(even))
	level.Loop(t.label, "steps", kc, min(t.unroll(), 2), func(steps int) {
		for s := range steps {
			t.roundStep(func(i int) Mem { return rowOf(i).Offset(4 * s) }, func(p int) Mem { return bOf(t.isa, p).Offset(128 * s) }, keep(s), false)
		}
		ADDQ(U32(uint32(4*steps)), a0)
		if t.rows > 7 {
			ADDQ(U32(uint32(4*steps)), a7)
		}
		ADDQ(U32(uint32(128*steps)), bp)
		if of.kept {
			ADDQ(U32(uint32(64*steps)), to)
		}
	})
	Label(even)
	TESTQ(U32(1), Mem{Base: args, Disp: nnK})
	JEQ(LabelRef(all))
	t.roundStep(rowOf, func(p int) Mem { return bOf(t.isa, p) }, keep(0), true)
	Label(all)
}

// fetched is how far ahead rows of floats are fetched: the processor stops at the end of a page, and waits at the
// start of the next one for
// as long as it takes to use half a page.
const fetched = 4 << 10

// roundStep is step on two rows of floats of B, which it rounds to pairs: b gives the address of the first, the second
// is next to it. Only
// the first is there if single. The pairs are stored where to says, unless that is nil.
func (t tile) roundStep(a, b, to func(i int) Mem, single bool) {
	free := t.rows * t.panels
	for p := range t.panels {
		y, z := zmm[free+p], zmm[31]
		VMOVUPS(b(p), y)
		if single {
			VPXORD(z, z, z)
		} else {
			VMOVUPS(b(p).Offset(64), z)
			PREFETCHT1(b(p).Offset(fetched))
			PREFETCHT1(b(p).Offset(fetched + 64))
		}
		dot.Convert(y, z, y)
		VPERMW(y, zmm[30], y)
		if to != nil {
			VMOVUPS(y, to(p))
		}
	}
	for i := range t.rows {
		VBROADCASTSS(a(i), zmm[31])
		for p := range t.panels {
			dot.Add(zmm[free+p], zmm[31], t.acc(i, p))
		}
	}
}

// alternate returns the places of 32 numbers of which those of two vectors alternate.
var alternate = sync.OnceValue(func() Mem {
	m := GLOBL("alternate", RODATA|NOPTR)
	for i := range 16 {
		DATA(4*i, U32(uint32(i|(16+i)<<16)))
	}
	return m
})

// pair writes a function that rounds rows of groups of 16 floats of two sources, other bytes apart. The rows are step
// bytes apart, in the result dstStep. combine leaves what it makes of the first registers, which hold the floats of the
// two sources, in the first ones.
func (v isa) pair(name, doc string, start, combine func()) {
	dst, src, other := reg.RDI, reg.RSI, reg.RDX
	step, dstStep, rows, groups := reg.R8, reg.R9, reg.R10, reg.R11
	to, from, count := reg.RAX, reg.RBX, reg.RCX
	begin(name, "(dst, src *float32, other, step, dstStep, rows, groups int)", doc,
		"dst", dst, "src", src, "other", other, "step", step, "dstStep", dstStep, "rows", rows, "groups", groups)
	v.keepModes()
	start()
	Label("row")
	MOVQ(dst, to)
	MOVQ(src, from)
	MOVQ(groups, count)
	Label("group")
	for i := range v.perPa {
		VMOVUPS(Mem{Base: from, Disp: v.bytes() * i}, v.reg(i))
		VMOVUPS(Mem{Base: from, Index: other, Scale: 1, Disp: v.bytes() * i}, v.reg(v.perPa+i))
	}
	combine()
	for i := range v.perPa {
		VMOVUPS(v.reg(i), Mem{Base: to, Disp: v.bytes() * i})
	}
	ADDQ(Imm(64), from)
	ADDQ(Imm(64), to)
	DECQ(count)
	JNE(LabelRef("group"))
	ADDQ(step, src)
	ADDQ(dstStep, dst)
	DECQ(rows)
	JNE(LabelRef("row"))
	v.end()
}

// each writes a function that makes of groups of 16 floats what change writes to dst, from a vector in the first
// register.
func (v isa) each(name, doc string, change func(dst Mem)) {
	dst, src, count := reg.RDI, reg.RSI, reg.RCX
	begin(name, "(dst, src *float32, groups int)", doc, "dst", dst, "src", src, "groups", count)
	v.keepModes()
	Label("loop")
	for i := range v.perPa {
		VMOVUPS(Mem{Base: src, Disp: v.bytes() * i}, v.reg(0))
		change(Mem{Base: dst, Disp: v.bytes() * i})
	}
	ADDQ(Imm(64), src)
	ADDQ(Imm(64), dst)
	DECQ(count)
	JNE(LabelRef("loop"))
	v.end()
}

// packBF16 writes what rounds to bf16.
func packBF16() {
	convert := func() { dot.Convert(zmm[0], zmm[1], zmm[0]) }
	bf16.pair("pairBF16", pairDoc, func() { VMOVUPS(alternate(), zmm[31]) }, func() {
		convert()
		VPERMW(zmm[0], zmm[31], zmm[0])
	})
	bf16.pair("joinBF16", joinDoc, func() {}, convert)
	bf16.each("roundBF16", roundDoc, func(dst Mem) {
		dot.Convert(zmm[0], zmm[0], zmm[0])
		VPMOVZXWD(reg.Y0, reg.Z0)
		VPSLLD(Imm(16), reg.Z0, reg.Z0)
		VMOVUPS(zmm[0], dst)
	})
}

const (
	pairDoc  = "rounds rows of two sources to pairs of a float of each."
	joinDoc  = "rounds rows of two sources, 16 floats of one and 16 of the other."
	roundDoc = "rounds groups of 16 floats to the nearest numbers of bf16, as floats."
)

// peakBF16 writes a loop that touches no memory, of 24 independent sums.
func peakBF16() {
	TEXT("peakBF16", NOSPLIT, "func(n int)")
	Doc("peakBF16 runs n times 24 independent additions of two products on registers.")
	Load(Param("n"), kc)
	t := tile{isa: bf16, rows: 6, panels: 4}
	t.zero()
	VPXORD(zmm[24], zmm[24], zmm[24])
	level.Align()
	Label("loop")
	t.each(func(i, p int) { dot.Add(zmm[24], zmm[24], t.acc(i, p)) })
	DECQ(kc)
	JNE(LabelRef("loop"))
	end()
}
