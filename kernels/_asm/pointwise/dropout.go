package main

import (
	. "github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/gotypes"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"

	. "github.com/fedfast/fedfast/kernels/_asm/level"
)

// The constants of philox.go.
const (
	philoxM0, philoxM1 = 0xD2511F53, 0xCD9E8D57
	philoxRounds       = 10
)

// cmpAboveOrEqual is a predicate of VPCMPUD.
const cmpAboveOrEqual = 5

func dropout(v isa) {
	v.Text("dropoutApply", "(dst, src []float32, d dropout)", "drops and scales elements.")
	dst, src := base("dst"), base("src")
	n := length("src")
	d := Param("d")
	scale := v.Param(d.Field("scale"))
	keys := address(d.Field("keys").Index(0))
	threshold, m0, m1, c2, c3, counter, step := v.Vec(), v.Vec(), v.Vec(), v.Vec(), v.Vec(), v.Vec(), v.Vec()
	VPBROADCASTD(address(d.Field("threshold")), threshold)
	VPBROADCASTQ(address(d.Field("stream")), c2)
	VPSRLQ(Imm(32), c2, c3)
	v.quads(philoxM0, m0)
	v.quads(philoxM1, m1)
	VPBROADCASTQ(address(d.Field("block")), counter)
	order := GLOBL("counters"+v.Name, RODATA|NOPTR) // such that unpacking leaves the words of successive counters in order
	counters := 4
	if v.Wide {
		counters = 8
	}
	for i := range counters {
		DATA(8*i, U64(uint64(i%2*counters/2+i/2)))
	}
	VPADDQ(order, counter, counter)
	v.quads(uint64(counters), step)

	loop, rest, done := NewLabel("loop"), NewLabel("rest"), NewLabel("done")
	i := GP64()
	XORQ(i, i)
	width := 4 * counters
	batch := func(masks []reg.Register) {
		for h, words := range v.philox(keys, counter, c2, c3, m0, m1) {
			s := span{isa: v, index: i, part: h * 2 * width, mask: masks[h]}
			x := s.get(src)
			VMULPS(scale, x, x)
			if v.Wide {
				keep := K()
				VPCMPUD(Imm(cmpAboveOrEqual), threshold, words, keep)
				VMOVAPS_Z(x, keep, x)
			} else {
				keep := YMM()
				VPMAXUD(threshold, words, keep)
				VPCMPEQD(words, keep, keep)
				VANDPS(keep, x, x)
			}
			s.put(x, dst)
		}
	}
	SUBQ(Imm(uint64(width)), n)
	JLT(LabelRef(rest))
	Label(loop)
	batch([]reg.Register{nil, nil})
	VPADDQ(step, counter, counter)
	ADDQ(Imm(uint64(width)), i)
	SUBQ(Imm(uint64(width)), n)
	JGE(LabelRef(loop))
	Label(rest)
	ADDQ(Imm(uint64(width)), n)
	JEQ(LabelRef(done))
	if v.Wide {
		all, low, high := GP32(), K(), K()
		MOVL(U32(1<<32-1), all)
		BZHIL(n.As32(), all, all)
		KMOVW(all, low)
		SHRL(Imm(16), all)
		KMOVW(all, high)
		batch([]reg.Register{low, high})
	} else {
		batch(v.lanes(n))
	}
	Label(done)
	v.End()
}

// address returns where a parameter lies, through a register: vet knows no instruction that broadcasts.
func address(p gotypes.Component) Mem {
	b, err := p.Resolve()
	if err != nil {
		panic(err)
	}
	r := GP64()
	LEAQ(b.Addr, r)
	return Mem{Base: r}
}

// quads sets every 64-bit lane of x to q.
func (v isa) quads(q uint64, x reg.VecVirtual) {
	r, lane := GP64(), XMM()
	MOVQ(U64(q), r)
	VMOVQ(r, lane)
	VPBROADCASTQ(lane, x)
}

// philox returns the words of 4 or 8 counters in two registers. Between rounds a word of the state stands in the low
// half of a 64-bit
// lane, and the high half holds anything.
func (v isa) philox(keys Mem, counter, c2, c3, m0, m1 reg.VecVirtual) [2]reg.VecVirtual {
	a, b, c, d := counter, v.Vec(), c2, c3
	VPSRLQ(Imm(32), counter, b)
	for r := range philoxRounds {
		low, high := v.Vec(), v.Vec()
		VPMULUDQ(m0, a, low)
		VPMULUDQ(m1, c, high)
		na, nc := v.Vec(), v.Vec()
		VPSRLQ(Imm(32), high, na)
		VPSRLQ(Imm(32), low, nc)
		v.xor3(na, b, keys.Offset(8*r))
		v.xor3(nc, d, keys.Offset(8*r+4))
		a, b, c, d = na, high, nc, low
	}
	v.join(a, b)
	v.join(c, d)
	first, second := v.Vec(), v.Vec()
	VPUNPCKLQDQ(c, a, first)
	VPUNPCKHQDQ(c, a, second)
	return [2]reg.VecVirtual{first, second}
}

// xor3 sets x to x ^ y ^ key.
func (v isa) xor3(x, y reg.VecVirtual, key Mem) {
	if v.Wide {
		VPTERNLOGD_BCST(Imm(0b10010110), key, y, x)
		return
	}
	k := v.Vec()
	VPBROADCASTD(key, k)
	VPXOR(y, x, x)
	VPXOR(k, x, x)
}

// join puts the low halves of y's lanes into the high halves of x's.
func (v isa) join(x, y reg.VecVirtual) {
	high := v.Vec()
	VPSLLQ(Imm(32), y, high)
	if v.Wide {
		odd, k := GP32(), K()
		MOVL(U32(0xaaaa), odd)
		KMOVW(odd, k)
		VMOVDQA32(high, k, x)
		return
	}
	VPBLENDD(Imm(0b10101010), high, x, x)
}
