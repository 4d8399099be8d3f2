package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"

	"github.com/fedfast/fedfast/kernels/_asm/level"
)

// Offsets in tsArgs.
const (
	tsA, tsG, tsW, tsV        = 0, 8, 16, 24
	tsLda, tsLdg, tsM         = 32, 40, 48
	tsPanel, tsPanels         = 56, 64
	tsAhead, tsAheadV         = 72, 80
	tsLR, tsMomentum, tsDecay = 88, 92, 96
	tsBlocks                  = 104
	tsSums                    = 112
	tsGAt, tsLeft, tsSumsAt   = 120, 128, 136
	tsEnd                     = 144
	tsAnchor, tsMu            = 152, 160
)

// Registers of a ts function that a tn function does not have.
var (
	speed = reg.R13 // from the weights to their velocity, or to where they come from
	next  = reg.R11 // from the weights to what is prefetched
	nextV = reg.RDX // from the weights to what is prefetched beside them
	sums  = reg.RCX // of the products of a panel; the counter is free then
	apart = reg.R15 // from a panel to the next
	back  = reg.RCX // from the weights to their anchor
	nextA = reg.R15 // from the weights to what is prefetched of the anchor
)

// ts writes the tile function of one height: the gradient of the weights as in tn, and with it, while it is in
// registers, a step of
// gradient descent, with momentum if there is a velocity, or with the products of gradient and displacement.
func ts(v isa, rows int) {
	v.start("ts"+v.name, "tsArgs", rows)
	fields(lda, tsLda, ldg, tsLdg)
	LEAQ(Mem{Base: lda, Index: lda, Scale: 2}, lda3)
	LEAQ(Mem{Base: ldg, Index: ldg, Scale: 2}, ldg3)
	fields(cp, tsW, next, tsAhead, speed, tsV)
	SUBQ(cp, speed)
	MOVQ(Mem{Base: args, Disp: tsAheadV}, nextV)
	ADDQ(speed, nextV)
	Label("block")
	MOVQ(Mem{Base: args, Disp: tsG}, tmp)
	MOVQ(tmp, Mem{Base: args, Disp: tsGAt})
	MOVQ(Mem{Base: args, Disp: tsPanels}, tmp)
	MOVQ(tmp, Mem{Base: args, Disp: tsLeft})
	MOVQ(Mem{Base: args, Disp: tsSums}, tmp)
	MOVQ(tmp, Mem{Base: args, Disp: tsSumsAt})
	for _, n := range v.groups(max(rows, 4)) { // single rows are too rare for tiles of their own width
		tsGroup(tile{isa: v, rows: rows, panels: n})
	}
	DECQ(Mem{Base: args, Disp: tsBlocks})
	JEQ(LabelRef("last")) // a pointer after the last row would be one to whatever the collector has there
	ADDQ(U32(uint32(4*rows)), Mem{Base: args, Disp: tsA})
	ADDQ(U32(uint32(64*rows)), Mem{Base: args, Disp: tsW})
	MOVQ(Mem{Base: args, Disp: tsW}, cp)
	JMP(LabelRef("block"))
	Label("last")
	v.end()
}

// tsGroup writes the loop over groups of t.panels panels.
func tsGroup(t tile) {
	group, done, stepped := t.label("group"), t.label("groupdone"), t.label("stepped")
	plain, measured, proximal, pulled := t.label("plain"), t.label("measured"), t.label("proximal"), t.label("pulled")
	Label(group)
	SUBQ(U32(uint32(t.panels)), Mem{Base: args, Disp: tsLeft})
	JLT(LabelRef(done))
	fields(a0, tsA, gp, tsGAt)
	ADDQ(U32(uint32(64*t.panels)), Mem{Base: args, Disp: tsGAt})
	t.zero()
	if t.spreads() {
		t.fetchFrom()
	}
	MOVQ(Mem{Base: args, Disp: tsM}, kc)
	most, lines := 4, 1
	if t.pairs || t.split {
		most, lines = 2, 2
	}
	level.Loop(t.label, "m", kc, most, func(steps int) {
		if t.spreads() && steps == most {
			t.fetch("with", lines*steps)
		}
		t.tnSteps(steps)
	})
	if t.spreads() {
		again := t.label("again")
		Label(again)
		t.fetch("rest", 1)
		CMPQ(tmp, Mem{Base: args, Disp: tsEnd})
		JLT(LabelRef(again))
	}
	t.restore()
	CMPQ(Mem{Base: args, Disp: tsSums}, Imm(0))
	JNE(LabelRef(measured))
	CMPQ(Mem{Base: args, Disp: tsAnchor}, Imm(0))
	JNE(LabelRef(proximal))
	CMPQ(Mem{Base: args, Disp: tsV}, Imm(0))
	JEQ(LabelRef(plain))
	t.descend(true)
	JMP(LabelRef(stepped))
	Label(plain)
	t.descend(false)
	JMP(LabelRef(stepped))
	Label(proximal)
	CMPQ(Mem{Base: args, Disp: tsV}, Imm(0))
	JEQ(LabelRef(pulled))
	t.descendProximal(true)
	JMP(LabelRef(stepped))
	Label(pulled)
	t.descendProximal(false)
	JMP(LabelRef(stepped))
	Label(measured)
	t.measure()
	Label(stepped)
	t.flush()
	for range t.panels {
		ADDQ(Mem{Base: args, Disp: tsPanel}, cp)
	}
	JMP(LabelRef(group))
	Label(done)
	ADDQ(U32(uint32(t.panels)), Mem{Base: args, Disp: tsLeft})
}

// descend does the step on every sum: the same operations in the same order as the optimizer's kernels. It fetches the
// next rows of the
// weights and of the velocity; where there are none, what it fetches is at hand.
func (t tile) descend(momentum bool) {
	free := t.rows * t.vecs() // first register that holds no sum
	x, lr, decay, keep := t.reg(free), t.reg(free+1), t.reg(free+2), t.reg(free+3)
	VBROADCASTSS(Mem{Base: args, Disp: tsLR}, lr)
	VBROADCASTSS(Mem{Base: args, Disp: tsDecay}, decay)
	if momentum {
		VBROADCASTSS(Mem{Base: args, Disp: tsMomentum}, keep)
	}
	MOVQ(cp, tmp)
	for p := range t.panels {
		if p > 0 {
			ADDQ(Mem{Base: args, Disp: tsPanel}, tmp)
		}
		for i := range t.rows {
			PREFETCHT1(Mem{Base: tmp, Index: next, Scale: 1, Disp: 64 * i})
			if momentum {
				PREFETCHT1(Mem{Base: tmp, Index: nextV, Scale: 1, Disp: 64 * i})
			}
			for h := range t.perPa {
				d := t.acc(i, p*t.perPa+h)
				w := Mem{Base: tmp, Disp: 64*i + h*t.bytes()}
				VMOVUPS(w, x)
				VFMADD231PS(x, decay, d)
				if momentum {
					v := Mem{Base: tmp, Index: speed, Scale: 1, Disp: w.Disp}
					VFMADD231PS(v, keep, d)
					VMOVUPS(d, v)
				}
				VFNMADD231PS(d, lr, x)
				VMOVUPS(x, w)
			}
		}
	}
}

// descendProximal is descend with a proximal term. It fetches the next rows of the weights and of the anchor.
func (t tile) descendProximal(momentum bool) {
	free := t.rows * t.vecs() // first register that holds no sum
	x, away := t.reg(free), t.reg(free+1)
	add := func(constant int, y, d reg.Register) {
		if m := (Mem{Base: args, Disp: constant}); t.zmm {
			VFMADD231PS_BCST(m, y, d)
		} else {
			VBROADCASTSS(m, t.reg(free+2))
			VFMADD231PS(y, t.reg(free+2), d)
		}
	}
	MOVQ(Mem{Base: args, Disp: tsAnchor}, back)
	LEAQ(Mem{Base: back, Index: next, Scale: 1}, nextA)
	MOVQ(cp, tmp)
	for p := range t.panels {
		if p > 0 {
			ADDQ(Mem{Base: args, Disp: tsPanel}, tmp)
		}
		for i := range t.rows {
			PREFETCHT1(Mem{Base: tmp, Index: next, Scale: 1, Disp: 64 * i})
			PREFETCHT1(Mem{Base: tmp, Index: nextA, Scale: 1, Disp: 64 * i})
			for h := range t.perPa {
				d := t.acc(i, p*t.perPa+h)
				w := Mem{Base: tmp, Disp: 64*i + h*t.bytes()}
				VMOVUPS(w, x)
				add(tsDecay, x, d)
				VSUBPS(Mem{Base: tmp, Index: back, Scale: 1, Disp: w.Disp}, x, away)
				add(tsMu, away, d)
				if momentum {
					v := Mem{Base: tmp, Index: speed, Scale: 1, Disp: w.Disp}
					VMOVUPS(v, away)
					add(tsMomentum, away, d)
					VMOVUPS(d, v)
				}
				if lr := (Mem{Base: args, Disp: tsLR}); t.zmm {
					VFNMADD231PS_BCST(lr, d, x)
				} else {
					VBROADCASTSS(lr, away)
					VFNMADD231PS(d, away, x)
				}
				VMOVUPS(x, w)
			}
		}
	}
}

// spreads reports whether the tile spreads what it fetches for measure over its products. At the end of the tile, the
// lines that wait for
// the memory leave the first-level cache no way to fetch the weights at hand.
func (t tile) spreads() bool { return t.panels <= 2 && t.rows > 3 }

// fetchFrom prepares fetch: tmp is the first row to fetch, tsEnd where the rows end. A step without products fetches
// none.
func (t tile) fetchFrom() {
	LEAQ(Mem{Base: cp, Index: nextV, Scale: 1}, tmp)
	LEAQ(Mem{Base: tmp, Disp: 64 * t.rows}, kc)
	CMPQ(Mem{Base: args, Disp: tsSums}, Imm(0))
	CMOVQEQ(tmp, kc)
	MOVQ(kc, Mem{Base: args, Disp: tsEnd})
	if t.panels > 1 {
		MOVQ(Mem{Base: args, Disp: tsPanel}, apart)
	}
}

// fetch fetches the next rows, unless all are; name tells its calls apart.
func (t tile) fetch(name string, rows int) {
	fetched := t.label("fetched" + name)
	CMPQ(tmp, Mem{Base: args, Disp: tsEnd})
	JGE(LabelRef(fetched))
	for i := range rows {
		PREFETCHT1(Mem{Base: tmp, Disp: 64 * i})
		if t.panels > 1 {
			PREFETCHT1(Mem{Base: tmp, Index: apart, Scale: 1, Disp: 64 * i})
		}
	}
	ADDQ(U32(uint32(64*rows)), tmp)
	Label(fetched)
}

// measure does the step without momentum on every sum and adds the products of the gradient g and of the displacement
// d, from the weights
// after the step to where they come from, to those of the panel: g*g, g*d and d*d, lane by lane, down the rows. The
// first row's sum has
// served its turn when d*d needs a register.
func (t tile) measure() {
	free := t.rows * t.vecs()
	x, y, gg, gd := t.reg(free), t.reg(free+1), t.reg(free+2), t.reg(free+3)
	lr, decay := Mem{Base: args, Disp: tsLR}, Mem{Base: args, Disp: tsDecay}
	MOVQ(cp, tmp)
	MOVQ(Mem{Base: args, Disp: tsSumsAt}, sums)
	for p := range t.panels {
		if p > 0 {
			ADDQ(Mem{Base: args, Disp: tsPanel}, tmp)
		}
		for h := range t.perPa {
			dd := t.acc(0, p*t.perPa+h)
			sum := func(i int) Mem { return Mem{Base: sums, Disp: 64*(3*p+i) + h*t.bytes()} }
			VMOVUPS(sum(0), gg)
			VMOVUPS(sum(1), gd)
			for i := range t.rows {
				if h == 0 {
					PREFETCHT1(Mem{Base: tmp, Index: next, Scale: 1, Disp: 64 * i})
				}
				if h == 0 && !t.spreads() {
					PREFETCHT1(Mem{Base: tmp, Index: nextV, Scale: 1, Disp: 64 * i})
				}
				g := t.acc(i, p*t.perPa+h)
				w := Mem{Base: tmp, Disp: 64*i + h*t.bytes()}
				if t.zmm {
					VMOVUPS(w, x)
					VMOVAPS(g, y)
					VFMADD231PS_BCST(decay, x, y)
					VFNMADD231PS_BCST(lr, y, x)
				} else {
					VBROADCASTSS(decay, y)
					VFMADD132PS(w, g, y)
					VBROADCASTSS(lr, x)
					VFNMADD213PS(w, y, x)
				}
				VMOVUPS(x, w)
				VMOVUPS(Mem{Base: tmp, Index: speed, Scale: 1, Disp: w.Disp}, y)
				VSUBPS(x, y, y)
				VFMADD231PS(g, g, gg)
				VFMADD231PS(g, y, gd)
				if i == 0 {
					VMOVUPS(sum(2), dd)
				}
				VFMADD231PS(y, y, dd)
			}
			VMOVUPS(gg, sum(0))
			VMOVUPS(gd, sum(1))
			VMOVUPS(dd, sum(2))
		}
	}
	ADDQ(U32(uint32(3*64*t.panels)), Mem{Base: args, Disp: tsSumsAt})
}
