package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"

	"github.com/fedfast/fedfast/kernels/_asm/dot"
	"github.com/fedfast/fedfast/kernels/_asm/level"
)

// tall are the tiles of nn that keep pairs: wider tiles are for lower ones.
var tall = level.NNHeights[7:]

// tile is the accumulators of some rows by some panels of 16 columns.
type tile struct {
	rows, panels int
	halved       bool // of the last panel the first half counts; the other is zero
}

// half reports whether the first half of panel p counts.
func (t tile) half(p int) bool { return t.halved && p == t.panels-1 }

// load loads 16 floats of panel p.
func (t tile) load(m Mem, p int, r reg.Register) {
	if t.half(p) {
		r = r.(reg.VecPhysical).AsY()
	}
	VMOVUPS(m, r)
}

// groups returns how many panels a tile of the given height takes at once, widest first: more for low ones, whose sums are too few to
// hide the latency of an instruction.
func groups(rows int) []int {
	if rows <= 6 {
		return []int{4, 2, 1}
	}
	return []int{2, 1}
}

func (t tile) acc(i, p int) reg.Register { return zmm[i*t.panels+p] }

// fetched is how far ahead rows of floats are fetched: the processor stops at the end of a page, and waits at the start of the next one for
// as long as it takes to use half a page.
const fetched = 4 << 10

// roundStep is step on two rows of floats of B, which it rounds to pairs: b gives the address of the first, the second is next to it. Only
// the first is there if single. The pairs are stored where to says, unless that is nil.
func (t tile) roundStep(a, b, to func(i int) Mem, single bool) {
	free := t.rows * t.panels
	for p := range t.panels {
		y, z := zmm[free+p], zmm[31]
		VMOVUPS(b(p), y)
		if single {
			VPXORD(z, z, z)
		} else {
			VMOVUPS(b(p).Offset(64), z)
			PREFETCHT1(b(p).Offset(fetched))
			PREFETCHT1(b(p).Offset(fetched + 64))
		}
		dot.Convert(y, z, y)
		VPERMW(y, zmm[30], y)
		if to != nil {
			VMOVUPS(y, to(p))
		}
	}
	for i := range t.rows {
		VBROADCASTSS(a(i), zmm[31])
		for p := range t.panels {
			dot.Add(zmm[free+p], zmm[31], t.acc(i, p))
		}
	}
}

// step multiplies a column of pairs of the tile's rows by a row of pairs of B: acc[i][p] += a(i) . b(p), where a and b give addresses. One
// broadcast serves all panels: two loads a cycle are all that there are.
func (t tile) step(a, b func(i int) Mem) { t.stepOf(0, t.rows, a, b) }

// stepOf is step for the rows [from, to).
func (t tile) stepOf(from, to int, a, b func(i int) Mem) {
	free := t.rows * t.panels
	for p := range t.panels {
		t.load(b(p), p, zmm[free+p])
	}
	for i := from; i < to; i++ {
		x := zmm[max(free+t.panels, 30)+i%2]
		if free+t.panels > 30 {
			x = zmm[31]
		}
		VBROADCASTSS(a(i), x)
		for p := range t.panels {
			if t.half(p) {
				dot.AddHalf(zmm[free+p], x, t.acc(i, p))
			} else {
				dot.Add(zmm[free+p], x, t.acc(i, p))
			}
		}
	}
}

// each calls f for every accumulator.
func (t tile) each(f func(i, p int)) {
	for i := range t.rows {
		for p := range t.panels {
			f(i, p)
		}
	}
}

func (t tile) zero() {
	t.each(func(i, p int) { VPXORD(t.acc(i, p), t.acc(i, p), t.acc(i, p)) })
}

// label returns a label that is unique in the function.
func (t tile) label(name string) string {
	if t.halved {
		name += "half"
	}
	return fmt.Sprintf("%s%d", name, t.panels)
}

// unroll returns how many steps of a loop are written out.
func (t tile) unroll() int { return level.Unroll(t.rows * t.panels) }

// times adds n times a distance to a pointer.
func times(n int, distance Op, pointer reg.GPPhysical) {
	for range n {
		ADDQ(distance, pointer)
	}
}

var zmm = []reg.Register{
	reg.Z0, reg.Z1, reg.Z2, reg.Z3, reg.Z4, reg.Z5, reg.Z6, reg.Z7, reg.Z8, reg.Z9, reg.Z10, reg.Z11, reg.Z12, reg.Z13, reg.Z14, reg.Z15,
	reg.Z16, reg.Z17, reg.Z18, reg.Z19, reg.Z20, reg.Z21, reg.Z22, reg.Z23, reg.Z24, reg.Z25, reg.Z26, reg.Z27, reg.Z28, reg.Z29, reg.Z30, reg.Z31,
}
