package main

import (
	"sync"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"

	"github.com/fedfast/fedfast/kernels/_asm/dot"
	"github.com/fedfast/fedfast/kernels/_asm/level"
)

// alternate returns the places of 32 numbers of which those of two vectors alternate.
var alternate = sync.OnceValue(func() Mem {
	m := GLOBL("alternate", RODATA|NOPTR)
	for i := range 16 {
		DATA(4*i, U32(uint32(i|(16+i)<<16)))
	}
	return m
})

// pair writes a function that rounds rows of groups of 16 floats of two sources, other bytes apart. The rows are step bytes apart, in the
// result dstStep. With interleave, the two sources' floats alternate, else 16 of the first come before 16 of the second.
func pair(name, doc string, interleave bool) {
	TEXT(name, NOSPLIT, "func(dst, src *float32, other, step, dstStep, rows, groups int)")
	Doc(name + " " + doc)
	Pragma("noescape")
	dst, src, other := reg.RDI, reg.RSI, reg.RDX
	step, dstStep, rows, groups := reg.R8, reg.R9, reg.R10, reg.R11
	to, from, count := reg.RAX, reg.RBX, reg.RCX
	Load(Param("dst"), dst)
	Load(Param("src"), src)
	Load(Param("other"), other)
	Load(Param("step"), step)
	Load(Param("dstStep"), dstStep)
	Load(Param("rows"), rows)
	Load(Param("groups"), groups)
	order := zmm[31]
	if interleave {
		VMOVUPS(alternate(), order)
	}
	Label("row")
	MOVQ(dst, to)
	MOVQ(src, from)
	MOVQ(groups, count)
	Label("group")
	VMOVUPS(Mem{Base: from}, zmm[0])
	VMOVUPS(Mem{Base: from, Index: other, Scale: 1}, zmm[1])
	dot.Convert(zmm[0], zmm[1], zmm[2])
	if interleave {
		VPERMW(zmm[2], order, zmm[2])
	}
	VMOVUPS(zmm[2], Mem{Base: to})
	ADDQ(Imm(64), from)
	ADDQ(Imm(64), to)
	DECQ(count)
	JNE(LabelRef("group"))
	ADDQ(step, src)
	ADDQ(dstStep, dst)
	DECQ(rows)
	JNE(LabelRef("row"))
	VZEROUPPER()
	RET()
}

// round writes the function that rounds floats and leaves them floats.
func round() {
	TEXT("roundBF16", NOSPLIT, "func(dst, src *float32, groups int)")
	Doc("roundBF16 rounds groups of 16 floats to the nearest numbers of bf16, as floats.")
	Pragma("noescape")
	dst, src, count := reg.RDI, reg.RSI, reg.RCX
	Load(Param("dst"), dst)
	Load(Param("src"), src)
	Load(Param("groups"), count)
	Label("loop")
	VMOVUPS(Mem{Base: src}, zmm[0])
	dot.Convert(zmm[0], zmm[0], zmm[0])
	VPMOVZXWD(reg.Y0, reg.Z0)
	VPSLLD(Imm(16), reg.Z0, reg.Z0)
	VMOVUPS(zmm[0], Mem{Base: dst})
	ADDQ(Imm(64), src)
	ADDQ(Imm(64), dst)
	DECQ(count)
	JNE(LabelRef("loop"))
	VZEROUPPER()
	RET()
}

// peak writes a loop that touches no memory, of 24 independent sums.
func peak() {
	TEXT("peakBF16", NOSPLIT, "func(n int)")
	Doc("peakBF16 runs n times 24 independent additions of two products on registers.")
	Load(Param("n"), kc)
	t := tile{rows: 6, panels: 4}
	t.zero()
	VPXORD(zmm[24], zmm[24], zmm[24])
	level.Align()
	Label("loop")
	t.each(func(i, p int) { dot.Add(zmm[24], zmm[24], t.acc(i, p)) })
	DECQ(kc)
	JNE(LabelRef("loop"))
	VZEROUPPER()
	RET()
}
