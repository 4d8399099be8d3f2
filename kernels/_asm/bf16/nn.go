package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"

	"github.com/fedfast/fedfast/kernels/_asm/level"
)

// Offsets in nnArgs.
const (
	nnA, nnB, nnC, nnBias            = 0, 8, 16, 24
	nnLda, nnSegNext, nnSegs, nnK    = 32, 40, 48, 56
	nnPanel, nnLdc, nnPanels, nnMode = 64, 72, 80, 88
	nnAhead, nnAheadStep             = 96, 104 // where pairs are kept; AVX2 prefetches instead
	nnBAt, nnBiasAt, nnSegsLeft      = 112, 120, 128
	nnTaps                           = 136
	nnHalf, nnBlocks                 = 144, 152
)

// The bits of nnArgs.mode.
const (
	modeBias       = 1
	modeAccumulate = 2
	modeReLU       = 4
)

// Registers of the functions.
var (
	args       = reg.RDI
	lda        = reg.R8
	lda3, lda5 = reg.R9, reg.R10
	a0, a7     = reg.RAX, reg.RBX // rows 0 and 7 of A
	bp         = reg.RSI
	panel      = reg.RDX
	panel3     = reg.R11
	kc         = reg.RCX
	cp         = reg.R12
	panels     = reg.R13
	tmp        = reg.R14
	to, toNext = reg.R11, reg.R15 // where pairs are kept, and from a panel of them to the next; tiles of two panels need no panel3
)

// factor says what B holds: pairs, or floats, nnArgs.k rows of one segment, that are rounded to pairs on their way and may be kept as such.
type factor struct {
	name         string
	floats, kept bool
}

var (
	pairs  = factor{name: "nnBF16"}
	floats = factor{name: "nnRoundBF16", floats: true}
	kept   = factor{name: "nnKeepBF16", floats: true, kept: true}
)

// nn writes the tile function of one height, as in _asm/gemm: every panel of the call, the widest groups first.
func nn(rows int, of factor) {
	name := fmt.Sprintf("%sx%d", of.name, rows)
	TEXT(name, NOSPLIT, "func(args *nnArgs)")
	Pragma("noescape")
	Load(Param("args"), args)
	if of.floats {
		VMOVUPS(alternate(), zmm[30])
	}
	MOVQ(Mem{Base: args, Disp: nnLda}, lda)
	MOVQ(Mem{Base: args, Disp: nnPanel}, panel)
	LEAQ(Mem{Base: lda, Index: lda, Scale: 2}, lda3)
	LEAQ(Mem{Base: lda, Index: lda, Scale: 4}, lda5)
	if of.kept {
		MOVQ(Mem{Base: args, Disp: nnAhead}, to)
		MOVQ(Mem{Base: args, Disp: nnAheadStep}, toNext)
	} else {
		LEAQ(Mem{Base: panel, Index: panel, Scale: 2}, panel3)
	}
	Label("block")
	MOVQ(Mem{Base: args, Disp: nnC}, cp)
	MOVQ(Mem{Base: args, Disp: nnPanels}, panels)
	MOVQ(U32(0), Mem{Base: args, Disp: nnBAt})
	MOVQ(U32(0), Mem{Base: args, Disp: nnBiasAt})
	for _, n := range groups(rows) {
		nnGroup(tile{rows: rows, panels: n}, of)
	}
	if !of.floats {
		if level.Halved(rows) {
			level.Halves(args, nnHalf, func(panels int) { nnTile(tile{rows, panels, true}, of) })
		}
		level.NextNN(args, lda, tmp, rows, [...]int{nnBlocks, nnA, nnC, nnLdc})
	}
	VZEROUPPER()
	RET()
}

// nnGroup writes the loop over groups of t.panels panels.
func nnGroup(t tile, of factor) {
	group, done := t.label("group"), t.label("groupdone")
	Label(group)
	CMPQ(panels, U32(uint32(t.panels)))
	JLT(LabelRef(done))
	nnTile(t, of)
	ADDQ(U32(uint32(64*t.panels)), cp)
	ADDQ(U32(uint32(64*t.panels)), Mem{Base: args, Disp: nnBiasAt})
	for range t.panels {
		ADDQ(panel, Mem{Base: args, Disp: nnBAt})
	}
	SUBQ(U32(uint32(t.panels)), panels)
	JMP(LabelRef(group))
	Label(done)
}

// nnTile computes the tile's sums.
func nnTile(t tile, of factor) {
	MOVQ(Mem{Base: args, Disp: nnA}, a0)
	if t.rows > 7 {
		LEAQ(Mem{Base: a0, Index: lda5, Scale: 1}, a7)
		LEAQ(Mem{Base: a7, Index: lda, Scale: 2}, a7)
	}
	MOVQ(Mem{Base: args, Disp: nnB}, bp)
	ADDQ(Mem{Base: args, Disp: nnBAt}, bp)
	nnStart(t)
	if of.floats {
		nnFloats(t, of)
	} else {
		nnPairs(t)
	}
	nnStore(t)
}

// nnPairs writes the products of all segments.
func nnPairs(t tile) {
	MOVQ(Mem{Base: args, Disp: nnSegs}, tmp)
	MOVQ(tmp, Mem{Base: args, Disp: nnSegsLeft})
	Label(t.label("seg"))
	MOVQ(Mem{Base: args, Disp: nnK}, kc)
	level.Loop(t.label, "steps", kc, t.unroll(), func(steps int) {
		for s := range steps {
			t.step(func(i int) Mem { return rowOf(i).Offset(4 * s) }, func(p int) Mem { return panelOf(p).Offset(64 * s) })
		}
		ADDQ(U32(uint32(4*steps)), a0)
		if t.rows > 7 {
			ADDQ(U32(uint32(4*steps)), a7)
		}
		ADDQ(U32(uint32(64*steps)), bp)
	})
	ADDQ(Mem{Base: args, Disp: nnSegNext}, a0)
	if t.rows > 7 {
		ADDQ(Mem{Base: args, Disp: nnSegNext}, a7)
	}
	DECQ(Mem{Base: args, Disp: nnSegsLeft})
	JNE(LabelRef(t.label("seg")))
}

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
			t.roundStep(func(i int) Mem { return rowOf(i).Offset(4 * s) }, func(p int) Mem { return panelOf(p).Offset(128 * s) }, keep(s), false)
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
	t.roundStep(rowOf, panelOf, keep(0), true)
	Label(all)
}

// rowOf returns the address of row i of A.
func rowOf(i int) Mem {
	m := Mem{Base: a0}
	if i >= 7 {
		m.Base, i = a7, i-7
	}
	switch i {
	case 1, 2, 4:
		m.Index, m.Scale = lda, uint8(i)
	case 3, 6:
		m.Index, m.Scale = lda3, uint8(i/3)
	case 5:
		m.Index, m.Scale = lda5, 1
	}
	return m
}

// panelOf returns the address of a row of the group's panel p.
func panelOf(p int) Mem {
	m := Mem{Base: bp}
	switch p {
	case 1, 2:
		m.Index, m.Scale = panel, uint8(p)
	case 3:
		m.Index, m.Scale = panel3, 1
	}
	return m
}

// nnStart sets the sums to zero, the bias or C.
func nnStart(t tile) {
	fromBias, fromC, started := t.label("bias"), t.label("accumulate"), t.label("started")
	MOVQ(Mem{Base: args, Disp: nnMode}, tmp)
	TESTQ(U32(modeBias), tmp)
	JNE(LabelRef(fromBias))
	TESTQ(U32(modeAccumulate), tmp)
	JNE(LabelRef(fromC))
	t.zero()
	JMP(LabelRef(started))
	Label(fromBias)
	MOVQ(Mem{Base: args, Disp: nnBias}, tmp)
	ADDQ(Mem{Base: args, Disp: nnBiasAt}, tmp)
	t.each(func(i, p int) {
		if i == 0 {
			t.load(Mem{Base: tmp, Disp: 64 * p}, p, t.acc(0, p))
		} else {
			VMOVAPS(t.acc(0, p), t.acc(i, p))
		}
	})
	JMP(LabelRef(started))
	Label(fromC)
	t.eachC(t.load)
	Label(started)
}

// nnStore stores the sums, after the ReLU if asked for: max(0, sum) with the sum as the second source keeps NaN and -0.
func nnStore(t tile) {
	store := t.label("store")
	TESTQ(U32(modeReLU), Mem{Base: args, Disp: nnMode})
	JEQ(LabelRef(store))
	VPXORD(zmm[31], zmm[31], zmm[31])
	t.each(func(i, p int) { VMAXPS(t.acc(i, p), zmm[31], t.acc(i, p)) })
	Label(store)
	t.eachC(func(m Mem, _ int, acc reg.Register) { VMOVUPS(acc, m) })
}

// eachC calls f with the address in C of every sum, and its panel.
func (t tile) eachC(f func(m Mem, p int, acc reg.Register)) {
	MOVQ(cp, tmp)
	for i := range t.rows {
		if i > 0 {
			ADDQ(Mem{Base: args, Disp: nnLdc}, tmp)
		}
		for p := range t.panels {
			f(Mem{Base: tmp, Disp: 64 * p}, p, t.acc(i, p))
		}
	}
}
