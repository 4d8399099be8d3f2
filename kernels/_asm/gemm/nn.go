package main

import (
	"cmp"

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
	nnAhead, nnAheadStep             = 96, 104
	nnBAt, nnBiasAt, nnSegsLeft      = 112, 120, 128
	nnTaps                           = 136
	nnHalf, nnBlocks                 = 144, 152
)

// Registers of an nn function.
var (
	args       = reg.RDI
	lda        = reg.R8
	lda3, lda5 = reg.R9, reg.R10
	a0, a7     = reg.RAX, reg.RBX // rows 0 and 7 of A
	bp         = reg.RSI
	panel      = reg.RDX
	kc         = reg.RCX
	ahead      = reg.R11 // what to prefetch
	aheadStep  = reg.RBX // between two prefetches; tiles that prefetch have no row 7
	cp         = reg.R12
	panels     = reg.R13
	tmp        = reg.R14
	to, toNext = reg.R11, reg.R15 // where pairs are kept, and from a panel of them to the next; tiles of two panels need no panel3
)

// nn writes the tile function of one height: every panel of the call, the widest groups first.
func nn(v isa, rows int, of factor) {
	v.start(cmp.Or(of.name, "nn"+v.name), "nnArgs", rows)
	if of.floats {
		VMOVUPS(alternate(), zmm[30])
	}
	fields(lda, nnLda, panel, nnPanel)
	if v.prefetches(rows) {
		fields(ahead, nnAhead, aheadStep, nnAheadStep)
	}
	if rows > 3 || v.pairs {
		LEAQ(Mem{Base: lda, Index: lda, Scale: 2}, lda3)
		LEAQ(Mem{Base: lda, Index: lda, Scale: 4}, lda5)
	}
	if of.kept {
		fields(to, nnAhead, toNext, nnAheadStep)
	} else if rows <= 3 || v.pairs {
		LEAQ(Mem{Base: panel, Index: panel, Scale: 2}, v.panel3)
	}
	Label("block")
	fields(cp, nnC, panels, nnPanels)
	MOVQ(U32(0), Mem{Base: args, Disp: nnBAt})
	MOVQ(U32(0), Mem{Base: args, Disp: nnBiasAt})
	for _, n := range v.nnGroups(rows) {
		nnGroup(tile{isa: v, rows: rows, panels: n}, of)
	}
	if v.zmm && !of.floats {
		if level.Halved(rows) {
			level.Halves(args, nnHalf, func(panels int) { nnPass(tile{isa: v, rows: rows, panels: panels, halved: true}, of, 0) })
		}
		level.NextNN(args, lda, tmp, rows, [...]int{nnBlocks, nnA, nnC, nnLdc})
	}
	v.end()
}

// prefetches reports whether tiles of that height prefetch B: those that read one stream, which the processor follows
// too slowly.
func (v isa) prefetches(rows int) bool { return !v.zmm && rows > 3 }

// nnGroups is groups for nn tiles. With ymm registers four rows and one panel are eight sums, just as many as hide the
// latency of a fused
// multiply-add: three panels are taken in two passes of twelve.
func (v isa) nnGroups(rows int) []int {
	if !v.zmm && rows == 4 {
		return []int{3, 1}
	}
	return v.groups(rows)
}

// nnGroup writes the loop over groups of t.panels panels.
func nnGroup(t tile, of factor) {
	group, done := t.label("group"), t.label("groupdone")
	Label(group)
	CMPQ(panels, U32(uint32(t.panels)))
	JLT(LabelRef(done))
	if t.panels == 3 {
		nnPass(t.half(0), of, 2)
		nnPass(t.half(1), of, 1)
	} else {
		nnPass(t, of, t.panels)
	}
	ADDQ(U32(uint32(64*t.panels)), cp)
	ADDQ(U32(uint32(64*t.panels)), Mem{Base: args, Disp: nnBiasAt})
	if t.pairs {
		for range t.panels {
			ADDQ(panel, Mem{Base: args, Disp: nnBAt})
		}
	} else {
		MOVQ(panel, tmp)
		switch t.panels {
		case 2, 4:
			SHLQ(Imm(uint64(t.panels/2)), tmp)
		case 3:
			LEAQ(Mem{Base: tmp, Index: tmp, Scale: 2}, tmp)
		}
		ADDQ(tmp, Mem{Base: args, Disp: nnBAt})
	}
	SUBQ(U32(uint32(t.panels)), panels)
	JMP(LabelRef(group))
	Label(done)
}

// nnPass computes the tile's sums. It prefetches fetch lines a step.
func nnPass(t tile, of factor, fetch int) {
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
		nnSegments(t, fetch)
	}
	nnStore(t)
}

// nnSegments writes the products of all segments.
func nnSegments(t tile, fetch int) {
	MOVQ(Mem{Base: args, Disp: nnSegs}, tmp)
	MOVQ(tmp, Mem{Base: args, Disp: nnSegsLeft})
	Label(t.label("seg"))
	MOVQ(Mem{Base: args, Disp: nnK}, kc)
	level.Loop(t.label, t.steps("k"), kc, t.unroll(), func(steps int) {
		for s := range steps {
			if steps > 1 && t.prefetches(t.rows) {
				for range fetch {
					PREFETCHT1(Mem{Base: ahead})
					ADDQ(aheadStep, ahead)
				}
			}
			t.step(func(i int) Mem { return rowOf(i).Offset(4 * s) }, func(j int) Mem { return bOf(t.isa, t.first+j).Offset(64 * s) })
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

// rowOf returns the address of row i of A.
func rowOf(i int) Mem { return row(i, a7, lda3) }

// row is rowOf with the registers that hold row 7 and three rows.
func row(i int, a7, lda3 reg.GPPhysical) Mem {
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

// bOf returns the address of vector j of a row of the group's panels.
func bOf(v isa, j int) Mem {
	m := Mem{Base: bp, Disp: j % v.perPa * v.bytes()}
	switch j / v.perPa {
	case 1, 2:
		m.Index, m.Scale = panel, uint8(j/v.perPa)
	case 3:
		m.Index, m.Scale = v.panel3, 1
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
	for j := range t.vecs() {
		VMOVUPS(Mem{Base: tmp, Disp: (t.first + j) * t.bytes()}, t.of(j, t.acc(0, j)))
	}
	t.each(func(i, j int) {
		if i > 0 {
			VMOVAPS(t.acc(0, j), t.acc(i, j))
		}
	})
	JMP(LabelRef(started))
	Label(fromC)
	t.eachC(func(m Mem, j int, acc reg.Register) { VMOVUPS(m, t.of(j, acc)) })
	Label(started)
}

// The bits of nnArgs.mode.
const (
	modeBias       = 1
	modeAccumulate = 2
	modeReLU       = 4
)

// nnStore stores the sums, after the ReLU if asked for. VMAXPS returns its second source for NaN and for two zeros, so
// the sum must
// be that: max(0, sum) keeps NaN and -0.
func nnStore(t tile) {
	store := t.label("store")
	TESTQ(U32(modeReLU), Mem{Base: args, Disp: nnMode})
	JEQ(LabelRef(store))
	// A register that holds no sum is free by now.
	zero := t.reg(t.rows * t.vecs())
	if t.pairs {
		zero = t.reg(31)
	}
	t.clear(zero)
	t.each(func(i, j int) { VMAXPS(t.acc(i, j), zero, t.acc(i, j)) })
	Label(store)
	t.eachC(func(m Mem, _ int, acc reg.Register) { VMOVUPS(acc, m) })
}

// eachC calls f with the address in C of every sum, and its vector.
func (t tile) eachC(f func(m Mem, j int, acc reg.Register)) {
	MOVQ(cp, tmp)
	for i := range t.rows {
		if i > 0 {
			ADDQ(Mem{Base: args, Disp: nnLdc}, tmp)
		}
		for j := range t.vecs() {
			f(Mem{Base: tmp, Disp: (t.first + j) * t.bytes()}, j, t.acc(i, j))
		}
	}
}
