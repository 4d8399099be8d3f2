package main

import (
	"fmt"
	"math"

	. "github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/gotypes"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// isa is a level and the bytes of its vectors.
type isa struct {
	name  string
	bytes int
}

// parts returns the byte offsets of the registers that make up 16 floats.
func (v isa) parts() []int {
	if v.bytes == 64 {
		return []int{0}
	}
	return []int{0, 32}
}

// text starts the function name+level with the given parameters.
func (v isa) text(name, signature, doc string) {
	TEXT(name+v.name, NOSPLIT, "func"+signature)
	Doc(name + v.name + " " + doc)
	Pragma("noescape")
}

// end returns from the function.
func (v isa) end() {
	VZEROUPPER()
	RET()
}

// vec returns a fresh vector register, load one with a copy of memory, and zeros one of zeros.
func (v isa) vec() reg.VecVirtual {
	if v.bytes == 64 {
		return ZMM()
	}
	return YMM()
}

func (v isa) load(m Mem) reg.VecVirtual {
	x := v.vec()
	VMOVUPS(m, x)
	return x
}

func (v isa) zeros() reg.VecVirtual {
	x := v.vec()
	if v.bytes == 64 {
		VPXORD(x, x, x)
	} else {
		VXORPS(x, x, x)
	}
	return x
}

// product, sum and difference return a fresh register with x*y, x+y and x-y.
func (v isa) product(x reg.VecVirtual, y Op) reg.VecVirtual {
	z := v.vec()
	VMULPS(y, x, z)
	return z
}

func (v isa) sum(x reg.VecVirtual, y Op) reg.VecVirtual {
	z := v.vec()
	VADDPS(y, x, z)
	return z
}

func (v isa) difference(x reg.VecVirtual, y Op) reg.VecVirtual {
	z := v.vec()
	VSUBPS(y, x, z)
	return z
}

// constants maps the bits of a constant to its table of 16 copies.
var constants = map[uint32]Mem{}

// bits returns the address of 16 copies of b.
func bits(b uint32) Mem {
	m, ok := constants[b]
	if !ok {
		m = GLOBL(fmt.Sprintf("layers%08x", b), RODATA|NOPTR)
		for i := range 16 {
			DATA(4*i, U32(b))
		}
		constants[b] = m
	}
	return m
}

func float(f float32) Mem { return bits(math.Float32bits(f)) }

// double returns the address of a float64.
func double(f float64) Mem {
	m, ok := doubles[f]
	if !ok {
		m = GLOBL(fmt.Sprintf("layers%016x", math.Float64bits(f)), RODATA|NOPTR)
		DATA(0, U64(math.Float64bits(f)))
		doubles[f] = m
	}
	return m
}

var doubles = map[float64]Mem{}

// number returns f in all lanes.
func (v isa) number(f float32) reg.VecVirtual {
	x := v.vec()
	VBROADCASTSS(float(f), x)
	return x
}

// param returns a float32 parameter in all lanes.
func (v isa) param(name string) reg.VecVirtual {
	var c gotypes.Component = Param(name)
	addr, err := c.Resolve()
	if err != nil {
		panic(err)
	}
	x := v.vec()
	VBROADCASTSS(addr.Addr, x)
	return x
}

// Predicates of VCMPPS.
const (
	cmpAtLeast = 0x1d
	cmpGreater = 0x1e
)

// where returns x in the lanes where "a predicate b" holds, and 0 elsewhere.
func (v isa) where(predicate uint8, a, b, x reg.VecVirtual) reg.VecVirtual {
	y := v.vec()
	if v.bytes == 64 {
		k := K()
		VCMPPS(Imm(uint64(predicate)), b, a, k)
		VMOVUPS_Z(x, k, y)
	} else {
		VCMPPS(Imm(uint64(predicate)), b, a, y)
		VANDPS(x, y, y)
	}
	return y
}

// integer loads an integer or a pointer.
func integer(name string) reg.GPVirtual { return Load(Param(name), GP64()).(reg.GPVirtual) }

var labels int

// label returns a label that no other one equals.
func label(name string) string {
	labels++
	return fmt.Sprintf("%s%d", name, labels)
}

// each goes over n blocks of 16 floats, n > 0. at gives the place of the present register in what starts at p.
func (v isa) each(n reg.GPVirtual, body func(part int, at func(p reg.GPVirtual) Mem)) {
	end, i, loop := GP64(), GP64(), label("loop")
	MOVQ(n, end)
	SHLQ(Imm(6), end)
	XORQ(i, i)
	Label(loop)
	for k, offset := range v.parts() {
		body(k, func(p reg.GPVirtual) Mem { return Mem{Base: p, Index: i, Scale: 1, Disp: offset} })
	}
	ADDQ(Imm(64), i)
	CMPQ(i, end)
	JNE(LabelRef(loop))
}
