// Command pointwise writes the amd64 assembly of the kernels that are not matrix products, each for AVX2 and for
// AVX-512.
package main

import (
	"math"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"

	"github.com/fedfast/fedfast/kernels/_asm/file"
	"github.com/fedfast/fedfast/kernels/_asm/level"
	. "github.com/fedfast/fedfast/kernels/_asm/level"
)

func main() {
	for _, l := range level.Levels("all") {
		v := isa{l}
		activations(v)
		vectors(v)
		reductions(v)
		optimizers(v)
		softmax(v)
		lstm(v)
		pool(v)
		poolAny(v)
		poolThree(v)
		lrn(v)
		dropout(v)
		v.reluAdd()
	}
	file.Write("pointwise")
}

// isa is a level with the methods of this generator.
type isa struct{ level.Level }

// span is a register's worth of slices that are gone through together, inside a loop made by each.
type span struct {
	isa
	index  reg.GPVirtual // in floats
	part   int           // byte offset of this register within 16 floats
	number int           // of this register within 16 floats
	mask   reg.Register  // lanes that exist; nil means all
}

// at returns the address of the span in the slice at base.
func (s span) at(base reg.Register) Mem {
	return Mem{Base: base, Index: s.index, Scale: 4, Disp: s.part}
}

// get returns the span of the slice at base, with zeros in lanes that do not exist.
func (s span) get(base reg.Register) reg.VecVirtual {
	x := s.Vec()
	switch {
	case s.mask == nil:
		VMOVUPS(s.at(base), x)
	case s.Wide:
		VMOVUPS_Z(s.at(base), s.mask, x)
	default:
		VMASKMOVPS(s.at(base), s.mask, x)
	}
	return x
}

// put stores x in the span of the slice at base.
func (s span) put(x, base reg.Register) {
	switch {
	case s.mask == nil:
		VMOVUPS(x, s.at(base))
	case s.Wide:
		VMOVUPS(x, s.mask, s.at(base))
	default:
		VMASKMOVPS(x, s.mask, s.at(base))
	}
}

// each goes through n floats, 16 at a time and then the rest, which exists unless whole. It uses n up.
func (v isa) each(n reg.GPVirtual, whole bool, body func(s span)) {
	i := GP64()
	XORQ(i, i)
	rest, loop, done := NewLabel("rest"), NewLabel("loop"), NewLabel("done")
	SUBQ(Imm(16), n)
	JLT(LabelRef(rest))
	Label(loop)
	for k, p := range v.Parts() {
		body(span{isa: v, index: i, part: p, number: k})
	}
	ADDQ(Imm(16), i)
	SUBQ(Imm(16), n)
	JGE(LabelRef(loop))
	Label(rest)
	if whole {
		return
	}
	ADDQ(Imm(16), n)
	JEQ(LabelRef(done))
	lanes := v.lanes(n)
	for k, p := range v.Parts() {
		body(span{isa: v, index: i, part: p, number: k, mask: lanes[k]})
	}
	Label(done)
}

// lanes returns masks of the first n of 16 lanes, 0 < n < 16.
func (v isa) lanes(n reg.GPVirtual) []reg.Register {
	if v.Wide {
		m, k := GP32(), K()
		MOVL(U32(1<<16-1), m)
		BZHIL(n.As32(), m, m)
		KMOVW(m, k)
		return []reg.Register{k}
	}
	table := GP64()
	LEAQ(Window("masks", math.MaxUint32).Offset(64), table)
	SHLQ(Imm(2), n)
	SUBQ(n, table)
	lo, hi := YMM(), YMM()
	VMOVUPS(Mem{Base: table}, lo)
	VMOVUPS(Mem{Base: table, Disp: 32}, hi)
	return []reg.Register{lo, hi}
}

// base and length load the parts of a slice parameter.
func base(name string) reg.GPVirtual {
	return Load(Param(name).Base(), GP64()).(reg.GPVirtual)
}

func length(name string) reg.GPVirtual {
	return Load(Param(name).Len(), GP64()).(reg.GPVirtual)
}
