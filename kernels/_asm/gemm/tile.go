package main

import (
	"fmt"
	"math"
	"slices"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"

	"github.com/fedfast/fedfast/kernels/_asm/dot"
	"github.com/fedfast/fedfast/kernels/_asm/level"
)

// isa describes the tiles of one level.
type isa struct {
	name           string
	zmm            bool
	nn, tn, nt, ts []int // rows of the tiles
	perPa          int   // vectors in a panel of 16 columns
	low            int   // rows of the highest tile of the widest groups
	pairs          bool  // factors are pairs of bf16
	split          bool  // of A, the two planes of split pairs; of B, pairs
	panel3         reg.GPPhysical
	plain          bool // labels do not name the first vector
}

var (
	avx512 = isa{
		name: "AVX512", zmm: true, nn: level.NNHeights, tn: level.TNHeights, nt: level.NTHeights, ts: level.StepHeights,
		perPa: 1, low: 3, panel3: lda3,
	}
	avx2 = isa{
		name: "AVX2", nn: []int{1, 2, 3, 4, 5, 6}, tn: []int{1, 2, 3, 4, 5, 6}, nt: []int{1, 2, 3}, ts: []int{1, 4, 6},
		perPa: 2, low: 1, panel3: lda3,
	}
	// 32 rows of nt round B three times, not four.
	bf16 = isa{
		name: "BF16", zmm: true, nn: level.NNHeights, tn: level.TNHeights, nt: append(level.NTHeights, 12),
		perPa: 1, low: 6, panel3: to, pairs: true, plain: true,
	}
	split = []isa{
		{
			name: "SplitAVX512", zmm: true, nn: level.NNHeights, tn: level.TNHeights, nt: append(level.NTHeights, 12),
			ts: level.StepHeights, perPa: 1, low: 3, panel3: lda3, split: true,
		},
		{name: "SplitAVX2", nn: avx2.nn, tn: avx2.tn, nt: avx2.nt, ts: avx2.ts, perPa: 2, low: 1, panel3: lda3, split: true},
	}
	bf16Steps = isa{name: "BF16", zmm: true, ts: level.StepHeights, perPa: 1, low: 3, pairs: true}
)

// groups returns how many panels a tile of the given height takes at once, widest first. Low tiles are wider, so that
// they too have
// the eight or more independent sums that hide the latency of a fused multiply-add.
func (v isa) groups(rows int) []int {
	switch {
	case rows <= v.low:
		return []int{4, 2, 1}
	case v.zmm, rows <= 3:
		return []int{2, 1}
	}
	return []int{1}
}

// bytes returns the size of a vector.
func (v isa) bytes() int { return 64 / v.perPa }

// tile is the accumulators of rows x panels panels, and how to feed them.
type tile struct {
	isa
	rows, panels int
	first, some  int  // the tile has some vectors of the panels only, from vector first on; some = 0 means all
	halved       bool // of the last panel, one vector, the first half counts; the other is zero
	part         part // of pairs that are split
}

// part is what a step takes of pairs: all, or one of the halves, as floats.
type part int

const (
	whole part = iota
	high
	low
)

// parts returns what a step multiplies, one after the other.
func (v isa) parts() []part {
	if v.split {
		return []part{high, low}
	}
	return []part{whole}
}

// of returns where the part of a number of A lies.
func (p part) of(m Mem) Mem {
	if p == low {
		return m.Offset(splitDistance)
	}
	return m
}

// load loads the part of numbers of B.
func (p part) load(m Mem, to reg.Register) {
	VMOVUPS(m, to)
	p.take(to, to)
}

// take leaves the part of pairs in floats.
func (p part) take(from, to reg.Register) {
	switch {
	case p == low:
		VPSLLD(Imm(16), from, to)
	case p == high && slices.Contains(ymm, from):
		VPAND(splitBits(highHalves), from, to)
	case p == high:
		VPANDD(splitBits(highHalves), from, to)
	}
}

// of returns what of register r belongs to vector j of a row.
func (t tile) of(j int, r reg.Register) reg.Register {
	if t.halved && j == t.vecs()-1 {
		return r.(reg.VecPhysical).AsY()
	}
	return r
}

// half returns one half of the tile's vectors.
func (t tile) half(i int) tile {
	t.some = t.vecs() / 2
	t.first = i * t.some
	return t
}

func (t tile) vecs() int {
	if t.some > 0 {
		return t.some
	}
	return t.panels * t.perPa
}

// acc returns the accumulator of row i and vector j.
func (t tile) acc(i, j int) reg.Register { return t.reg(i*t.vecs() + j) }

// reg returns vector register i.
func (v isa) reg(i int) reg.Register {
	if v.zmm {
		return zmm[i]
	}
	return ymm[i]
}

var zmm = dot.ByNumber

var ymm = []reg.Register{
	reg.Y0, reg.Y1, reg.Y2, reg.Y3, reg.Y4, reg.Y5, reg.Y6, reg.Y7, reg.Y8, reg.Y9, reg.Y10, reg.Y11, reg.Y12, reg.Y13, reg.Y14, reg.Y15,
}

// step multiplies a column of the tile's rows by one row of B: acc[i][j] += a(i) * b(j), where a and b give addresses.
func (t tile) step(a, b func(i int) Mem) { t.stepOf(0, t.rows, a, b) }

// stepOf is step for the rows [from, to), which are all of a tile of up to three.
func (t tile) stepOf(from, to int, a, b func(i int) Mem) {
	for _, t.part = range t.parts() {
		t.stepPart(from, to, func(i int) Mem { return t.part.of(a(i)) }, b)
	}
}

// stepPart is stepOf for a part of the numbers.
func (t tile) stepPart(from, to int, a, b func(i int) Mem) {
	n := t.vecs()
	free := t.rows * n // first register that holds no sum
	add := func(b Op, x reg.Register, i, j int) {
		switch {
		case !t.pairs:
			VFMADD231PS(b, t.of(j, x), t.of(j, t.acc(i, j)))
		case t.halved && j == n-1:
			dot.AddHalf(t.reg(free+j), x, t.acc(i, j))
		default:
			dot.Add(t.reg(free+j), x, t.acc(i, j))
		}
	}
	switch {
	case t.zmm && !t.pairs && n == 1 && t.rows > 3: // no broadcast serves two multiply-adds, and without one they are fewer instructions
		b0 := t.of(0, t.reg(free))
		t.part.load(b(0), b0)
		for i := from; i < to; i++ {
			VFMADD231PS_BCST(a(i), b0, t.of(0, t.acc(i, 0)))
		}
	case t.rows > 3 || t.pairs:
		for j := range n {
			t.part.load(b(j), t.of(j, t.reg(free+j)))
		}
		last := 15 // the last two registers take turns, where they are free
		if t.zmm {
			last = 31
		}
		for i := from; i < to; i++ {
			x := t.reg(max(free+n, last-1+i%2))
			VBROADCASTSS(a(i), x)
			for j := range n {
				add(t.of(j, t.reg(free+j)), x, i, j)
			}
		}
	case t.rows == 1:
		VBROADCASTSS(a(0), t.reg(free))
		for j := range n {
			if y := t.of(j, t.reg(free+1)); t.split {
				t.part.load(b(j), y)
				add(y, t.reg(free), 0, j)
				continue
			}
			add(b(j), t.reg(free), 0, j)
		}
	default:
		for i := range t.rows {
			VBROADCASTSS(a(i), t.reg(free+i))
		}
		for j := range n {
			x := t.of(j, t.reg(free+t.rows))
			t.part.load(b(j), x)
			for i := range t.rows {
				add(x, t.reg(free+i), i, j)
			}
		}
	}
}

// each calls f for every accumulator.
func (t tile) each(f func(i, j int)) {
	for i := range t.rows {
		for j := range t.vecs() {
			f(i, j)
		}
	}
}

// zero sets the sums to zero.
func (t tile) zero() {
	t.each(func(i, j int) { t.clear(t.acc(i, j)) })
}

// begin starts a function and loads its parameters into registers: names and registers take turns.
func begin(name, signature, doc string, params ...any) {
	TEXT(name, NOSPLIT, "func"+signature)
	if doc != "" {
		Doc(name + " " + doc)
	}
	Pragma("noescape")
	for i := 0; i < len(params); i += 2 {
		Load(Param(params[i].(string)), params[i+1].(reg.Register))
	}
}

// fields loads fields of the arguments: registers and offsets take turns.
func fields(pairs ...any) {
	for i := 0; i < len(pairs); i += 2 {
		MOVQ(Mem{Base: args, Disp: pairs[i+1].(int)}, pairs[i].(reg.Register))
	}
}

// modes is where a function on split pairs keeps the modes of the processor.
var modes Mem

// flush has numbers below the normal ones count as zeros, as [kernels.Dot2] says, up to restore.
func (v isa) flush() {
	if v.split {
		LDMXCSR(splitBits(flushed))
	}
}

// start begins a function of some rows on arguments of a type.
func (v isa) start(name, of string, rows int) {
	begin(fmt.Sprintf("%sx%d", name, rows), "(args *"+of+")", "", "args", args)
	v.keepModes()
}

// keepModes is flush at the start of a function.
func (v isa) keepModes() {
	if v.split {
		modes = AllocLocal(8)
		STMXCSR(modes)
		v.flush()
	}
}

// restore sets the modes that were before.
func (v isa) restore() {
	if v.split {
		LDMXCSR(modes)
	}
}

// end returns from the function.
func (v isa) end() {
	v.restore()
	end()
}

// end returns from a function.
func end() {
	VZEROUPPER()
	RET()
}

// clear sets a register to zero.
func (v isa) clear(x reg.Register) { level.Level{Wide: v.zmm}.Zero(x) }

// label returns a label that is unique in the function.
func (t tile) label(name string) string {
	if t.halved {
		name += "half"
	}
	if t.plain {
		return fmt.Sprintf("%s%d", name, t.panels)
	}
	return fmt.Sprintf("%s%dx%d", name, t.panels, t.first)
}

// steps returns the name of a loop over steps.
func (v isa) steps(name string) string {
	if v.plain {
		return "steps"
	}
	return name
}

// unroll returns how many steps of a loop are written out.
func (t tile) unroll() int {
	n := len(t.parts())
	if !t.zmm {
		return 4 / n
	}
	return level.Unroll(t.rows * t.vecs() * n)
}

// edge writes the tile function of one height for pairs of panels in which products with zeros are left out; see
// nnArgs.taps.
func edge(v isa, rows int) {
	v.start("nnEdge"+v.name, "nnArgs", rows)
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
	v.end()
}

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

// peak writes a loop of fused multiply-adds that touches no memory: 12 independent sums, two rounds an iteration.
func peak(v isa) {
	TEXT("peak"+v.name, NOSPLIT, "func(n int)")
	Doc("peak" + v.name + " runs n times 24 independent fused multiply-adds on registers.")
	Load(Param("n"), kc)
	t := tile{isa: v, rows: 6, panels: 2 / v.perPa}
	if v.zmm {
		t.panels = 2
	}
	t.zero()
	x, y := t.reg(12), t.reg(13)
	MOVL(U32(math.Float32bits(1.0/1024)), reg.EAX)
	VMOVD(reg.EAX, reg.X12)
	VBROADCASTSS(reg.X12, x)
	VMOVAPS(x, y)
	level.Align()
	Label("loop")
	for range 2 {
		t.each(func(i, j int) { VFMADD231PS(x, y, t.acc(i, j)) })
	}
	DECQ(kc)
	JNE(LabelRef("loop"))
	end()
}
