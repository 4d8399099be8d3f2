package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"

	. "github.com/fedfast/fedfast/kernels/_asm/level"
)

// mean returns the sum of 16 lanes, divided by size, in lane 0 as a float64.
func (v isa) mean(acc []reg.VecVirtual, size Mem) reg.VecVirtual {
	x, mean := v.Tree(acc, Sum), XMM()
	VCVTSS2SD(x, x, mean)
	VDIVSD(size, mean, mean)
	return mean
}

// eachRow repeats body for every row, whose number it gets, and adds to pointers what the parameters after them say.
func (v isa) eachRow(pointers []reg.GPVirtual, steps []string, body func(row reg.GPVirtual)) {
	row, loop := GP64(), NewLabel("row")
	XORQ(row, row)
	Label(loop)
	body(row)
	for i, p := range pointers {
		ADDQ(Address(steps[i]), p)
	}
	INCQ(row)
	CMPQ(row, Address("rows"))
	JNE(LabelRef(loop))
}

// normRows writes the normalisation of whole rows.
func (v isa) normRows() {
	v.Text("normRows", "(y, x, weight, bias, means, scales *float32, n, rows, ldx, ldy int, size, epsilon float64, center int)",
		"normalises rows of n blocks; rowNormTable says how.")
	y, x, weight, bias := Integer("y"), Integer("x"), Integer("weight"), Integer("bias")
	means, scales, n := Integer("means"), Integer("scales"), Integer("n")
	v.eachRow([]reg.GPVirtual{x, y}, []string{"ldx", "ldy"}, func(row reg.GPVirtual) {
		mean, origin := v.Vec(), NewLabel("origin")
		VXORPS(mean.AsX(), mean.AsX(), mean.AsX())
		to := Mem{Base: means, Index: row, Scale: 4}
		CMPQ(Address("center"), Imm(0))
		JEQ(LabelRef(origin))
		sums := v.Accumulators()
		v.each(n, func(k int, at func(p reg.GPVirtual) Mem) { VADDPS(at(x), sums[k], sums[k]) })
		m := v.mean(sums, Address("size"))
		VCVTSD2SS(m, m, mean.AsX())
		Label(origin)
		VMOVSS(mean.AsX(), to)
		VBROADCASTSS(mean.AsX(), mean)
		sums = v.Accumulators()
		v.each(n, func(k int, at func(p reg.GPVirtual) Mem) {
			d := v.Difference(v.Load(at(x)), mean)
			VADDPS(v.Product(d, d), sums[k], sums[k])
		})
		m = v.mean(sums, Address("size"))
		VADDSD(Address("epsilon"), m, m)
		VSQRTSD(m, m, m)
		one := XMM()
		VMOVSD(double(1), one)
		VDIVSD(m, one, one)
		VCVTSD2SS(one, one, one)
		VMOVSS(one, Mem{Base: scales, Index: row, Scale: 4})
		scale := v.Spread(one)
		v.registers(n, func(at func(p reg.GPVirtual) Mem) {
			z := v.Product(v.Difference(v.Load(at(x)), mean), scale)
			VMOVUPS(v.Sum(v.Product(z, at(weight)), at(bias)), at(y))
		})
	})
	v.End()
}

// gradientRows writes the backward pass of normRows.
func (v isa) gradientRows() {
	v.Text("normGradient", "(dx, x, dy, weight, gw, gb, means, scales *float32, n, rows, ldx, lddy, lddx int, size float64, center int)",
		"is the backward pass of rows of n blocks; rowNormTable says how.")
	dx, x, dy := Integer("dx"), Integer("x"), Integer("dy")
	v.eachRow([]reg.GPVirtual{x, dy, dx}, []string{"ldx", "lddy", "lddx"}, func(row reg.GPVirtual) {
		gw, gb, weight, n := Integer("gw"), Integer("gb"), Integer("weight"), Integer("n")
		mean, scale := v.Vec(), v.Vec()
		VBROADCASTSS(Mem{Base: Integer("means"), Index: row, Scale: 4}, mean)
		VBROADCASTSS(Mem{Base: Integer("scales"), Index: row, Scale: 4}, scale)
		sums, products, last := v.Accumulators(), v.Accumulators(), NewLabel("last")
		v.each(n, func(k int, at func(p reg.GPVirtual) Mem) {
			z, g := v.Product(v.Difference(v.Load(at(x)), mean), scale), v.Load(at(dy))
			VMOVUPS(v.Sum(v.Product(g, z), at(gw)), at(gw))
			VMOVUPS(v.Sum(g, at(gb)), at(gb))
			u := v.Product(g, at(weight))
			VADDPS(u, sums[k], sums[k])
			VADDPS(v.Product(u, z), products[k], products[k])
		})
		TESTQ(dx, dx)
		JEQ(LabelRef(last))
		first, origin := v.Zeros(), NewLabel("origin")
		CMPQ(Address("center"), Imm(0))
		JEQ(LabelRef(origin))
		m := v.mean(sums, Address("size"))
		VCVTSD2SS(m, m, m)
		VBROADCASTSS(m, first)
		Label(origin)
		m = v.mean(products, Address("size"))
		VCVTSD2SS(m, m, m)
		second := v.Spread(m)
		v.registers(n, func(at func(p reg.GPVirtual) Mem) {
			z := v.Product(v.Difference(v.Load(at(x)), mean), scale)
			u := v.Difference(v.Product(v.Load(at(dy)), at(weight)), first)
			VMOVUPS(v.Product(v.Difference(u, v.Product(z, second)), scale), at(dx))
		})
		Label(last)
	})
	v.End()
}

func rows(v isa) {
	v.normRows()
	v.gradientRows()
}
