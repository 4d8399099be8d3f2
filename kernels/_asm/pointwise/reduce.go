package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"

	. "github.com/fedfast/fedfast/kernels/_asm/level"
)

func reductions(v isa) {
	v.Text("dot", "(x, y []float32) float32", "returns the sum of x[i]*y[i] in 16 lanes.")
	x, y := base("x"), base("y")
	n, sums := length("x"), v.Accumulators()
	v.each(n, false, func(s span) { VFMADD231PS(s.get(y), s.get(x), sums[s.number]) })
	Store(v.Tree(sums, Sum), ReturnIndex(0))
	v.End()

	v.colSum()
	v.away()
	v.dots()
}

// dots writes four products with one vector, whose chains of additions run in parallel.
func (v isa) dots() {
	v.Text("dots", "(to *[4]float32, x []float32, ys *[4]*float32)", "stores the sums of x[i]*ys[k][i] in 16 lanes each.")
	x, n := base("x"), length("x")
	var y [4]reg.GPVirtual
	var sums [4][]reg.VecVirtual
	ys := Integer("ys")
	for k := range y {
		y[k], sums[k] = GP64(), v.Accumulators()
		MOVQ(Mem{Base: ys, Disp: 8 * k}, y[k])
	}
	v.each(n, false, func(s span) {
		d := s.get(x)
		for k := range y {
			VFMADD231PS(s.get(y[k]), d, sums[k][s.number])
		}
	})
	to := Integer("to")
	for k := range y {
		VMOVSS(v.Tree(sums[k], Sum), Mem{Base: to, Disp: 4 * k})
	}
	v.End()
}

// away writes three sums over one pass, whose chains of additions run in parallel.
func (v isa) away() {
	v.Text("away", "(w, g, anchor []float32) (gg, gd, dd float32)", "returns the sums of g*g, g*d and d*d in 16 lanes each, with d = anchor - w.")
	w, g, anchor := base("w"), base("g"), base("anchor")
	n := length("w")
	gg, gd, dd := v.Accumulators(), v.Accumulators(), v.Accumulators()
	v.each(n, false, func(s span) {
		d, x := s.get(anchor), s.get(g)
		VSUBPS(s.get(w), d, d)
		VFMADD231PS(x, x, gg[s.number])
		VFMADD231PS(x, d, gd[s.number])
		VFMADD231PS(d, d, dd[s.number])
	})
	for i, acc := range [][]reg.VecVirtual{gg, gd, dd} {
		Store(v.Tree(acc, Sum), ReturnIndex(i))
	}
	v.End()
}

func (v isa) colSum() {
	v.Text("colSum", "(dst, src []float32, m, ld int)", "adds m rows of src, ld floats apart, to dst.")
	dst, src := base("dst"), base("src")
	n := length("dst")
	m := Load(Param("m"), GP64())
	ld := Load(Param("ld"), GP64())
	SHLQ(Imm(2), ld)

	wide, narrow := NewLabel("wide"), NewLabel("narrow")
	Label(wide)
	CMPQ(n, Imm(64))
	JLT(LabelRef(narrow))
	var offsets []int
	for i := range 4 {
		for _, p := range v.Parts() {
			offsets = append(offsets, 64*i+p)
		}
	}
	var acc []reg.VecVirtual
	for _, o := range offsets {
		acc = append(acc, v.Load(Mem{Base: dst, Disp: o}))
	}
	rows(src, m, ld, func(row reg.Register) {
		for i, o := range offsets {
			VADDPS(Mem{Base: row, Disp: o}, acc[i], acc[i])
		}
	})
	for i, o := range offsets {
		VMOVUPS(acc[i], Mem{Base: dst, Disp: o})
	}
	ADDQ(U32(256), dst)
	ADDQ(U32(256), src)
	SUBQ(Imm(64), n)
	JMP(LabelRef(wide))

	Label(narrow)
	v.each(n, false, func(s span) {
		acc := s.get(dst)
		first := GP64()
		LEAQ(s.at(src), first)
		rows(first, m, ld, func(row reg.Register) {
			t := s
			t.index, t.part = nil, 0
			VADDPS(t.get(row), acc, acc)
		})
		s.put(acc, dst)
	})
	v.End()
}

// rows calls body for m > 0 rows, ld bytes apart.
func rows(first, m, ld reg.Register, body func(row reg.Register)) {
	row, count, loop := GP64(), GP64(), NewLabel("row")
	MOVQ(first, row)
	MOVQ(m, count)
	Label(loop)
	body(row)
	ADDQ(ld, row)
	DECQ(count)
	JNE(LabelRef(loop))
}
