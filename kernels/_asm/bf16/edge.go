package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// Offsets in nnTaps.
const tapsSteps, tapsLeft = 0, 8

// tapsSize is the size of nnTaps.
const tapsSize = 16

// leftOut are the rows that taps leave out, by nnTaps.left.
var leftOut = []struct{ first, last int }{{0, 0}, {1, 0}, {2, 0}, {0, 1}, {0, 2}}

// edge writes the tile function of one height for pairs of panels in which products with zeros are left out; see nnArgs.taps.
func edge(rows int) {
	name := fmt.Sprintf("nnEdgeBF16x%d", rows)
	TEXT(name, NOSPLIT, "func(args *nnArgs)")
	Doc(fmt.Sprintf("%s computes %d rows of an NN product without those that zeros beside an image have part in; see nnArgs.", name, rows))
	Pragma("noescape")
	Load(Param("args"), args)
	MOVQ(Mem{Base: args, Disp: nnLda}, lda)
	MOVQ(Mem{Base: args, Disp: nnPanel}, panel)
	MOVQ(Mem{Base: args, Disp: nnC}, cp)
	MOVQ(Mem{Base: args, Disp: nnPanels}, panels)
	MOVQ(U32(0), Mem{Base: args, Disp: nnBAt})
	MOVQ(U32(0), Mem{Base: args, Disp: nnBiasAt})
	LEAQ(Mem{Base: lda, Index: lda, Scale: 2}, lda3)
	LEAQ(Mem{Base: lda, Index: lda, Scale: 4}, lda5)
	t, taps := tile{rows, 2}, reg.R15

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
	MOVQ(Mem{Base: args, Disp: nnTaps}, taps)
	Label("taps")
	MOVQ(Mem{Base: taps, Disp: tapsSteps}, kc)
	MOVQ(Mem{Base: taps, Disp: tapsLeft}, tmp)
	ADDQ(U32(tapsSize), taps)
	for i := 1; i < len(leftOut); i++ {
		CMPQ(tmp, U32(uint32(i)))
		JEQ(LabelRef(fmt.Sprintf("body%d", i)))
	}
	for i, l := range leftOut {
		body := fmt.Sprintf("body%d", i)
		align()
		Label(body)
		t.stepOf(l.first, rows-l.last, rowOf, func(p int) Mem { return panelOf(p) })
		ADDQ(U32(4), a0)
		ADDQ(U32(4), a7)
		ADDQ(U32(64), bp)
		DECQ(kc)
		JNE(LabelRef(body))
		if i < len(leftOut)-1 {
			JMP(LabelRef("next"))
		}
	}
	Label("next")
	CMPQ(Mem{Base: taps, Disp: tapsSteps}, U32(0))
	JNE(LabelRef("taps"))
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
	VZEROUPPER()
	RET()
}
