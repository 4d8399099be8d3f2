package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"

	"github.com/fedfast/fedfast/kernels/_asm/level"
)

// gather writes the function that copies rows of some panels' width, which are far apart, next to each other.
// Meanwhile it prefetches
// what is ahead bytes further, as the processor does not see a pattern across pages. It moves bits only and needs AVX,
// so the AVX-512 level
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
	end()
}

// copyRows writes the function that copies rows of some lines of 64 bytes, and prefetches the lines after those:
// whoever takes a part of every
// row takes the next part next. It moves bits only and needs AVX, so the AVX-512 level uses it too.
func copyRows() {
	dst, src, rows := reg.RDI, reg.RSI, reg.RCX
	dstStep, srcStep, lines := reg.R8, reg.R9, reg.R10
	to, from, left := reg.RAX, reg.RBX, reg.RDX
	begin("copyRowsAVX2", "(dst, src *float32, rows, dstStep, srcStep, lines int)",
		"copies rows of 16*lines floats, which are dstStep and srcStep bytes apart.",
		"dst", dst, "src", src, "rows", rows, "dstStep", dstStep, "srcStep", srcStep, "lines", lines)
	MOVQ(lines, ahead)
	SHLQ(Imm(6), ahead)
	Label("row")
	MOVQ(dst, to)
	MOVQ(src, from)
	MOVQ(lines, left)
	Label("line")
	PREFETCHT1(Mem{Base: from, Index: ahead, Scale: 1})
	for i := range 2 {
		VMOVUPS(Mem{Base: from, Disp: 32 * i}, ymm[i])
	}
	for i := range 2 {
		VMOVUPS(ymm[i], Mem{Base: to, Disp: 32 * i})
	}
	ADDQ(Imm(64), from)
	ADDQ(Imm(64), to)
	DECQ(left)
	JNE(LabelRef("line"))
	ADDQ(dstStep, dst)
	ADDQ(srcStep, src)
	DECQ(rows)
	JNE(LabelRef("row"))
	end()
}

// transpose writes the function that transposes blocks of 16 x 16 floats, each contiguous. It moves bits only and
// needs AVX, so the
// AVX-512 level uses it too.
func transpose() {
	dst, src := reg.RDI, reg.RSI
	count, step := reg.RCX, reg.RDX
	begin("transposeAVX2", "(dst, src *float32, blocks, dstStep int)",
		"transposes blocks of 16 x 16 floats that follow one another in src; in dst they are dstStep bytes apart.",
		"dst", dst, "src", src, "blocks", count, "dstStep", step)
	level.Align()
	Label("loop")
	for r := 0; r < 16; r += 8 {
		for c := 0; c < 16; c += 8 {
			transpose8(Mem{Base: src, Disp: 64*r + 4*c}, Mem{Base: dst, Disp: 64*c + 4*r})
		}
	}
	ADDQ(U32(1024), src)
	ADDQ(step, dst)
	DECQ(count)
	JNE(LabelRef("loop"))
	end()
}

// transpose8 transposes 8 x 8 floats between rows of 64 bytes. Lane 0 of the registers takes rows 0 to 3 and lane 1
// rows 4 to 7 from
// memory, which leaves shuffles within lanes only.
func transpose8(src, dst Mem) {
	for c := 0; c < 2; c++ { // four columns at a time
		for i := range 4 {
			lo := src.Offset(64*i + 16*c)
			VMOVUPS(lo, xmm[i])
			VINSERTF128(Imm(1), lo.Offset(64*4), ymm[i], ymm[i])
		}
		VUNPCKLPS(ymm[1], ymm[0], ymm[4])
		VUNPCKHPS(ymm[1], ymm[0], ymm[5])
		VUNPCKLPS(ymm[3], ymm[2], ymm[6])
		VUNPCKHPS(ymm[3], ymm[2], ymm[7])
		VUNPCKLPD(ymm[6], ymm[4], ymm[0])
		VUNPCKHPD(ymm[6], ymm[4], ymm[1])
		VUNPCKLPD(ymm[7], ymm[5], ymm[2])
		VUNPCKHPD(ymm[7], ymm[5], ymm[3])
		for i := range 4 {
			VMOVUPS(ymm[i], dst.Offset(64*(4*c+i)))
		}
	}
}

var xmm = []reg.Register{reg.X0, reg.X1, reg.X2, reg.X3}
