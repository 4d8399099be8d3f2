package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// The constants of act_generic.go.
const (
	log2e = 0x1.715476p+0
	ln2Hi = 0x1.62e4p-1
	ln2Lo = 0x1.7f7d1cp-20
	exp2  = 0x1.fffffep-2
	exp3  = 0x1.5554aap-3
	exp4  = 0x1.55579ep-5
	exp5  = 0x1.122c86p-7
	exp6  = 0x1.6ab168p-10

	softmaxLow = -60
)

// held maps a constant to a register that holds it, with AVX-512, whose registers suffice.
var held map[float32]reg.VecVirtual

// hold loads constants.
func (v isa) hold(numbers ...float32) {
	held = map[float32]reg.VecVirtual{}
	if !v.wide {
		return
	}
	for _, c := range numbers {
		held[c] = v.number(c)
	}
}

// constant returns an operand of f in all lanes.
func (v isa) constant(f float32) Op {
	if x, ok := held[f]; ok {
		return x
	}
	return float(f)
}

// reduce returns the integer n nearest to x*log2e, as a float, and e^r - 1 for r = x - n ln2. It uses x up.
func (v isa) reduce(r reg.VecVirtual) (n, q reg.VecVirtual) {
	n, p, square := v.vec(), v.vec(), v.vec()
	VMULPS(v.constant(log2e), r, n)
	if v.wide {
		VRNDSCALEPS(Imm(8), n, n)
	} else {
		VROUNDPS(Imm(8), n, n)
	}
	VFNMADD231PS(v.constant(ln2Hi), n, r)
	VFNMADD231PS(v.constant(ln2Lo), n, r)
	VMOVAPS(v.constant(exp6), p)
	for _, c := range []float32{exp5, exp4, exp3, exp2} {
		VFMADD213PS(v.constant(c), r, p) // p = p*r + c
	}
	VMULPS(r, r, square)
	VFMADD213PS(r, square, p) // p = p*r² + r
	return n, p
}

// term returns e^x for x <= 0, and 0 below softmaxLow. It uses x up.
func (v isa) term(x reg.VecVirtual) reg.VecVirtual {
	low, r := v.vec(), v.vec()
	VMOVAPS(v.constant(softmaxLow), low)
	VMAXPS(x, low, r) // NaN stays NaN because x is the second source
	n, p := v.reduce(r)
	if v.wide {
		VADDPS(v.constant(1), p, p)
		VSCALEFPS(n, p, p) // exact: p is normal, and stays so
	} else {
		s := v.vec()
		VCVTPS2DQ(n, s)
		VPADDD(bits(127), s, s)
		VPSLLD(Imm(23), s, s)
		VFMADD213PS(s, s, p) // p = p*s + s
	}
	return v.where(cmpNotLess, x, low, p)
}
