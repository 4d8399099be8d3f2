package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"

	"github.com/fedfast/fedfast/kernels/_asm/level"
)

// Offsets in tnArgs.
const (
	tnA, tnG, tnC                  = 0, 8, 16
	tnLda, tnLdg, tnANext, tnGNext = 24, 32, 40, 48
	tnM, tnSegs, tnPanel, tnPanels = 56, 64, 72, 80
	tnAccumulate, tnBlocks, tnGAt  = 88, 96, 104
	tnHalf                         = 112
)

// Registers of a tn function that an nn function does not have.
var (
	segs      = reg.R11
	gp        = reg.RBX
	ldg, ldg3 = reg.R10, reg.RSI
)

// tn writes the tile function of one height: every panel of the call, the widest groups first.
func tn(v isa, rows int) {
	v.start("tn"+v.name, "tnArgs", rows)
	fields(lda, tnLda, ldg, tnLdg)
	LEAQ(Mem{Base: lda, Index: lda, Scale: 2}, lda3)
	LEAQ(Mem{Base: ldg, Index: ldg, Scale: 2}, ldg3)
	Label("block")
	MOVQ(U32(0), Mem{Base: args, Disp: tnGAt})
	fields(cp, tnC, panels, tnPanels)
	for _, n := range v.groups(rows) {
		tnGroup(tile{isa: v, rows: rows, panels: n})
	}
	if v.zmm && level.Halved(rows) {
		level.Halves(args, tnHalf, func(panels int) { tnTile(tile{isa: v, rows: rows, panels: panels, halved: true}) })
	}
	DECQ(Mem{Base: args, Disp: tnBlocks})
	JEQ(LabelRef("last")) // a pointer after the last row would be one to whatever the collector has there
	ADDQ(U32(uint32(4*rows)), Mem{Base: args, Disp: tnA})
	ADDQ(U32(uint32(64*rows)), Mem{Base: args, Disp: tnC})
	JMP(LabelRef("block"))
	Label("last")
	v.end()
}

// tnGroup writes the loop over groups of t.panels panels.
func tnGroup(t tile) {
	group, done := t.label("group"), t.label("groupdone")
	Label(group)
	CMPQ(panels, U32(uint32(t.panels)))
	JLT(LabelRef(done))
	tnTile(t)
	for range t.panels {
		ADDQ(Mem{Base: args, Disp: tnPanel}, cp)
	}
	ADDQ(U32(uint32(64*t.panels)), Mem{Base: args, Disp: tnGAt})
	SUBQ(U32(uint32(t.panels)), panels)
	JMP(LabelRef(group))
	Label(done)
}

// tnTile computes the tile's sums.
func tnTile(t tile) {
	fields(a0, tnA, gp, tnG)
	ADDQ(Mem{Base: args, Disp: tnGAt}, gp)

	zero, started := t.label("zero"), t.label("started")
	CMPQ(Mem{Base: args, Disp: tnAccumulate}, Imm(0))
	JEQ(LabelRef(zero))
	t.eachPacked(func(m Mem, j int, acc reg.Register) { VMOVUPS(m, t.of(j, acc)) })
	JMP(LabelRef(started))
	Label(zero)
	t.zero()
	Label(started)

	MOVQ(Mem{Base: args, Disp: tnSegs}, segs)
	Label(t.label("seg"))
	MOVQ(Mem{Base: args, Disp: tnM}, kc)
	level.Loop(t.label, t.steps("m"), kc, t.unroll(), t.tnSteps)
	ADDQ(Mem{Base: args, Disp: tnANext}, a0)
	ADDQ(Mem{Base: args, Disp: tnGNext}, gp)
	DECQ(segs)
	JNE(LabelRef(t.label("seg")))

	t.eachPacked(func(m Mem, _ int, acc reg.Register) { VMOVUPS(acc, m) })
}

// tnSteps takes some rows of A and of G.
func (t tile) tnSteps(steps int) {
	for s := range steps {
		t.step(
			func(i int) Mem { return stepOf(a0, lda, lda3, s).Offset(4 * i) },
			func(j int) Mem { return stepOf(gp, ldg, ldg3, s).Offset(j * t.bytes()) })
	}
	if steps > 1 {
		LEAQ(Mem{Base: a0, Index: lda, Scale: uint8(steps)}, a0)
		LEAQ(Mem{Base: gp, Index: ldg, Scale: uint8(steps)}, gp)
	} else {
		ADDQ(lda, a0)
		ADDQ(ldg, gp)
	}
}

// stepOf returns base + s*ld.
func stepOf(base, ld, ld3 reg.GPPhysical, s int) Mem {
	m := Mem{Base: base}
	switch s {
	case 1, 2:
		m.Index, m.Scale = ld, uint8(s)
	case 3:
		m.Index, m.Scale = ld3, 1
	}
	return m
}

// eachPacked calls f with the address in the packed C of every sum, and its vector.
func (t tile) eachPacked(f func(m Mem, j int, acc reg.Register)) {
	MOVQ(cp, tmp)
	for p := range t.panels {
		if p > 0 {
			ADDQ(Mem{Base: args, Disp: tnPanel}, tmp)
		}
		for i := range t.rows {
			for h := range t.perPa {
				f(Mem{Base: tmp, Disp: 64*i + h*t.bytes()}, p*t.perPa+h, t.acc(i, p*t.perPa+h))
			}
		}
	}
}
