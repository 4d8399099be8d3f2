package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// gather writes the function that copies rows of some panels' width, which are far apart, next to each other. Meanwhile it prefetches
// what is ahead bytes further, as the processor does not see a pattern across pages. It moves bits only and needs AVX, so the AVX-512 level
// uses it too.
func gather(panels int, fetch func(Op)) {
	TEXT(fmt.Sprintf("gatherAVX2x%d", panels), NOSPLIT, "func(dst, src *float32, rows, ld, ahead int)")
	Doc(fmt.Sprintf("gatherAVX2x%d copies rows of %d floats that are ld bytes apart in src.", panels, 16*panels))
	Pragma("noescape")
	dst, src := reg.RDI, reg.RSI
	count, ld := reg.RCX, reg.RDX
	Load(Param("dst"), dst)
	Load(Param("src"), src)
	Load(Param("rows"), count)
	Load(Param("ld"), ld)
	Load(Param("ahead"), ahead)
	Label("loop")
	for p := range panels {
		fetch(Mem{Base: src, Index: ahead, Scale: 1, Disp: 64 * p})
	}
	for i := range 2 * panels {
		VMOVUPS(Mem{Base: src, Disp: 32 * i}, ymm[i])
	}
	for i := range 2 * panels {
		VMOVUPS(ymm[i], Mem{Base: dst, Disp: 32 * i})
	}
	ADDQ(ld, src)
	ADDQ(U32(uint32(64*panels)), dst)
	DECQ(count)
	JNE(LabelRef("loop"))
	VZEROUPPER()
	RET()
}
