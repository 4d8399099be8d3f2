package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"

	"github.com/fedfast/fedfast/kernels/_asm/level"
)

// read writes a loop that does nothing but read memory, in lines of 64 bytes, four at a time from either half of the
// memory: two streams
// are fetched faster than one. It needs AVX, so the AVX-512 level uses it too.
func read() {
	x, count, far := reg.RSI, reg.RCX, reg.RDX
	begin("readAVX2", "(x *float32, lines int)", "reads 2*lines lines of 64 bytes; lines is a positive multiple of 4.", "x", x, "lines", count)
	MOVQ(count, far)
	SHLQ(Imm(6), far)
	level.Align()
	Label("loop")
	for i := range 4 {
		for h := range 2 {
			VMOVUPS(Mem{Base: x, Disp: 64*i + 32*h}, ymm[2*i+h])
			VMOVUPS(Mem{Base: x, Index: far, Scale: 1, Disp: 64*i + 32*h}, ymm[8+2*i+h])
		}
	}
	ADDQ(U32(256), x)
	SUBQ(Imm(4), count)
	JNE(LabelRef("loop"))
	end()
}
