package main

import (
	"fmt"

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
		VMOVUPS(b(0), b0)
		for i := from; i < to; i++ {
			VFMADD231PS_BCST(a(i), b0, t.of(0, t.acc(i, 0)))
		}
	case t.rows > 3 || t.pairs:
		for j := range n {
			VMOVUPS(b(j), t.of(j, t.reg(free+j)))
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
			add(b(j), t.reg(free), 0, j)
		}
	default:
		for i := range t.rows {
			VBROADCASTSS(a(i), t.reg(free+i))
		}
		for j := range n {
			x := t.of(j, t.reg(free+t.rows))
			VMOVUPS(b(j), x)
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

// end returns from the function.
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
	if !t.zmm {
		return 4
	}
	return level.Unroll(t.rows * t.vecs())
}
