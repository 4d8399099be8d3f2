package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"

	"github.com/fedfast/fedfast/kernels/_asm/level"
)

// edge writes the tile function of one height for pairs of panels in which products with zeros are left out; see
// nnArgs.taps.
func edge(v isa, rows int) {
	name := fmt.Sprintf("nnEdge%sx%d", v.name, rows)
	begin(name, "(args *nnArgs)", "", "args", args)
	fields(lda, nnLda, panel, nnPanel, cp, nnC, panels, nnPanels)
	MOVQ(U32(0), Mem{Base: args, Disp: nnBAt})
	MOVQ(U32(0), Mem{Base: args, Disp: nnBiasAt})
	LEAQ(Mem{Base: lda, Index: lda, Scale: 2}, lda3)
	LEAQ(Mem{Base: lda, Index: lda, Scale: 4}, lda5)
	t := tile{isa: v, rows: rows, panels: 2}

	Label("group")
	MOVQ(Mem{Base: args, Disp: nnA}, a0)
	LEAQ(Mem{Base: a0, Index: lda5, Scale: 1}, a7)
	LEAQ(Mem{Base: a7, Index: lda, Scale: 2}, a7)
	MOVQ(Mem{Base: args, Disp: nnB}, bp)
	ADDQ(Mem{Base: args, Disp: nnBAt}, bp)
	nnStart(t)
	MOVQ(Mem{Base: args, Disp: nnSegs}, tmp)
	MOVQ(tmp, Mem{Base: args, Disp: nnSegsLeft})
	Label("seg")
	level.Taps(Mem{Base: args, Disp: nnTaps}, reg.R15, kc, tmp, rows, func(lo, hi int) {
		t.stepOf(lo, hi, rowOf, func(p int) Mem { return bOf(v, p) })
		ADDQ(U32(4), a0)
		ADDQ(U32(4), a7)
		ADDQ(U32(64), bp)
	})
	ADDQ(Mem{Base: args, Disp: nnSegNext}, a0)
	ADDQ(Mem{Base: args, Disp: nnSegNext}, a7)
	DECQ(Mem{Base: args, Disp: nnSegsLeft})
	JNE(LabelRef("seg"))
	nnStore(t)
	ADDQ(U32(uint32(64*t.panels)), cp)
	ADDQ(U32(uint32(64*t.panels)), Mem{Base: args, Disp: nnBiasAt})
	for range t.panels {
		ADDQ(panel, Mem{Base: args, Disp: nnBAt})
	}
	SUBQ(U32(uint32(t.panels)), panels)
	JNE(LabelRef("group"))
	end()
}
