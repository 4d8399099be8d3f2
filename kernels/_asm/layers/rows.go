package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// lanes returns the registers of 16 sums that start at zero.
func (v isa) lanes() []reg.VecVirtual {
	var sums []reg.VecVirtual
	for range v.parts() {
		sums = append(sums, v.zeros())
	}
	return sums
}

// tree combines 16 lanes, each half of them with the other half, and returns the result, divided by size, in lane 0 as a float64.
func (v isa) tree(acc []reg.VecVirtual, size Mem) reg.VecVirtual {
	y := acc[0].AsY()
	if v.bytes == 64 {
		high := YMM()
		VEXTRACTF32X8(Imm(1), acc[0], high)
		VADDPS(high, y, y)
	} else {
		VADDPS(acc[1], y, y)
	}
	x, half := acc[0].AsX(), XMM()
	VEXTRACTF128(Imm(1), y, half)
	VADDPS(half, x, x)
	VPERMILPS(Imm(0b1110), x, half)
	VADDPS(half, x, x)
	VMOVSHDUP(x, half)
	VADDPS(half, x, x)
	mean := XMM()
	VCVTSS2SD(x, x, mean)
	VDIVSD(size, mean, mean)
	return mean
}

// spread returns the float64 in lane 0 of x, rounded, in all lanes, after it was stored.
func (v isa) spread(x reg.VecVirtual, to Mem) reg.VecVirtual {
	VCVTSD2SS(x, x, x)
	VMOVSS(x, to)
	return v.everywhere(x)
}

// everywhere returns lane 0 of x in all lanes.
func (v isa) everywhere(x reg.VecVirtual) reg.VecVirtual {
	y := v.vec()
	VBROADCASTSS(x, y)
	return y
}

// address returns where a parameter lies.
func address(name string) Mem {
	addr, err := Param(name).Resolve()
	if err != nil {
		panic(err)
	}
	return addr.Addr
}

// eachRow repeats body for every row, whose number it gets, and adds to pointers what the parameters behind them say.
func (v isa) eachRow(pointers []reg.GPVirtual, steps []string, body func(row reg.GPVirtual)) {
	row, loop := GP64(), label("row")
	XORQ(row, row)
	Label(loop)
	body(row)
	for i, p := range pointers {
		ADDQ(address(steps[i]), p)
	}
	INCQ(row)
	CMPQ(row, address("rows"))
	JNE(LabelRef(loop))
}

// normRows writes the normalisation of whole rows.
func (v isa) normRows() {
	v.text("normRows", "(y, x, weight, bias, means, scales *float32, n, rows, ldx, ldy int, size, epsilon float64, center int)",
		"normalises rows of n blocks; rowNormTable says how.")
	y, x, weight, bias := integer("y"), integer("x"), integer("weight"), integer("bias")
	means, scales, n := integer("means"), integer("scales"), integer("n")
	v.eachRow([]reg.GPVirtual{x, y}, []string{"ldx", "ldy"}, func(row reg.GPVirtual) {
		mean, origin := v.vec(), label("origin")
		VXORPS(mean.AsX(), mean.AsX(), mean.AsX())
		to := Mem{Base: means, Index: row, Scale: 4}
		CMPQ(address("center"), Imm(0))
		JEQ(LabelRef(origin))
		sums := v.lanes()
		v.each(n, func(k int, at func(p reg.GPVirtual) Mem) { VADDPS(at(x), sums[k], sums[k]) })
		m := v.tree(sums, address("size"))
		VCVTSD2SS(m, m, mean.AsX())
		Label(origin)
		VMOVSS(mean.AsX(), to)
		VBROADCASTSS(mean.AsX(), mean)
		sums = v.lanes()
		v.each(n, func(k int, at func(p reg.GPVirtual) Mem) {
			d := v.difference(v.load(at(x)), mean)
			VADDPS(v.product(d, d), sums[k], sums[k])
		})
		m = v.tree(sums, address("size"))
		VADDSD(address("epsilon"), m, m)
		VSQRTSD(m, m, m)
		one := XMM()
		VMOVSD(double(1), one)
		VDIVSD(m, one, one)
		scale := v.spread(one, Mem{Base: scales, Index: row, Scale: 4})
		v.each(n, func(_ int, at func(p reg.GPVirtual) Mem) {
			z := v.product(v.difference(v.load(at(x)), mean), scale)
			VMOVUPS(v.sum(v.product(z, at(weight)), at(bias)), at(y))
		})
	})
	v.end()
}

// gradientRows writes the backward pass of normRows.
func (v isa) gradientRows() {
	v.text("normGradient", "(dx, x, dy, weight, gw, gb, means, scales *float32, n, rows, ldx, lddy, lddx int, size float64, center int)",
		"is the backward pass of rows of n blocks; rowNormTable says how.")
	dx, x, dy := integer("dx"), integer("x"), integer("dy")
	v.eachRow([]reg.GPVirtual{x, dy, dx}, []string{"ldx", "lddy", "lddx"}, func(row reg.GPVirtual) {
		gw, gb, weight, n := integer("gw"), integer("gb"), integer("weight"), integer("n")
		mean, scale := v.vec(), v.vec()
		VBROADCASTSS(Mem{Base: integer("means"), Index: row, Scale: 4}, mean)
		VBROADCASTSS(Mem{Base: integer("scales"), Index: row, Scale: 4}, scale)
		sums, products, last := v.lanes(), v.lanes(), label("last")
		v.each(n, func(k int, at func(p reg.GPVirtual) Mem) {
			z, g := v.product(v.difference(v.load(at(x)), mean), scale), v.load(at(dy))
			VMOVUPS(v.sum(v.product(g, z), at(gw)), at(gw))
			VMOVUPS(v.sum(g, at(gb)), at(gb))
			u := v.product(g, at(weight))
			VADDPS(u, sums[k], sums[k])
			VADDPS(v.product(u, z), products[k], products[k])
		})
		TESTQ(dx, dx)
		JEQ(LabelRef(last))
		first, origin := v.zeros(), label("origin")
		CMPQ(address("center"), Imm(0))
		JEQ(LabelRef(origin))
		m := v.tree(sums, address("size"))
		VCVTSD2SS(m, m, m)
		VBROADCASTSS(m, first)
		Label(origin)
		m = v.tree(products, address("size"))
		VCVTSD2SS(m, m, m)
		second := v.everywhere(m)
		v.each(n, func(_ int, at func(p reg.GPVirtual) Mem) {
			z := v.product(v.difference(v.load(at(x)), mean), scale)
			u := v.difference(v.product(v.load(at(dy)), at(weight)), first)
			VMOVUPS(v.product(v.difference(u, v.product(z, second)), scale), at(dx))
		})
		Label(last)
	})
	v.end()
}

func rows(v isa) {
	v.normRows()
	v.gradientRows()

	v.text("softmaxGradient", "(dst, p *float32, mean float32, n int)", "stores p*(dst-mean) in dst.")
	dst, shares := integer("dst"), integer("p")
	mean := v.param("mean")
	v.each(integer("n"), func(_ int, at func(p reg.GPVirtual) Mem) {
		VMOVUPS(v.product(v.difference(v.load(at(dst)), mean), at(shares)), at(dst))
	})
	v.end()
}
