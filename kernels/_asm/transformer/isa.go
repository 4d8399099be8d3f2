package main

import (
	"fmt"
	"math"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// isa is a level's way to hold 16 floats: one register of AVX-512 (wide) or two of AVX2.
type isa struct {
	name string
	wide bool
}

// parts returns the byte offsets of the registers that make up 16 floats.
func (v isa) parts() []int {
	if v.wide {
		return []int{0}
	}
	return []int{0, 32}
}

// vec returns a fresh vector register.
func (v isa) vec() reg.VecVirtual {
	if v.wide {
		return ZMM()
	}
	return YMM()
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

// zeros returns a register of zeros.
func (v isa) zeros() reg.VecVirtual {
	x := v.vec()
	if v.wide {
		VPXORD(x, x, x)
	} else {
		VXORPS(x, x, x)
	}
	return x
}

// load returns a copy of memory.
func (v isa) load(m Mem) reg.VecVirtual {
	x := v.vec()
	VMOVUPS(m, x)
	return x
}

// number returns f in all lanes.
func (v isa) number(f float32) reg.VecVirtual {
	x := v.vec()
	VBROADCASTSS(float(f), x)
	return x
}

// pointer returns a copy of p, some bytes on.
func (v isa) pointer(p reg.GPVirtual, bytes int) reg.GPVirtual {
	q := GP64()
	LEAQ(Mem{Base: p, Disp: bytes}, q)
	return q
}

// Predicates of VCMPPS.
const (
	cmpNotEqual = 0x04
	cmpNotLess  = 0x15
	cmpAtLeast  = 0x1d
)

// where returns x in the lanes where "a predicate b" holds, and 0 elsewhere.
func (v isa) where(predicate uint8, a, b reg.VecVirtual, x Op) reg.VecVirtual {
	y := v.vec()
	if v.wide {
		k := K()
		VCMPPS(Imm(uint64(predicate)), b, a, k)
		VMOVUPS_Z(x, k, y)
	} else {
		VCMPPS(Imm(uint64(predicate)), b, a, y)
		VANDPS(x, y, y)
	}
	return y
}

// constants maps the bits of a constant to its table of 16 copies.
var constants = map[uint32]Mem{}

// bits returns the address of 16 copies of b.
func bits(b uint32) Mem {
	m, ok := constants[b]
	if !ok {
		m = GLOBL(fmt.Sprintf("transformer%08x", b), RODATA|NOPTR)
		for i := range 16 {
			DATA(4*i, U32(b))
		}
		constants[b] = m
	}
	return m
}

// float returns the address of 16 copies of f.
func float(f float32) Mem { return bits(math.Float32bits(f)) }

var triangleTable *Mem

// triangle returns the address of 16 times -Inf, followed by 16 zeros.
func triangle() Mem {
	if triangleTable == nil {
		m := GLOBL("columnTriangle", RODATA|NOPTR)
		for i := range 16 {
			DATA(4*i, U32(math.Float32bits(float32(math.Inf(-1)))))
		}
		for i := range 16 {
			DATA(64+4*i, U32(0))
		}
		triangleTable = &m
	}
	return *triangleTable
}

var labels int

// label returns a label that no other one equals.
func label(name string) string {
	labels++
	return fmt.Sprintf("%s%d", name, labels)
}

// integer loads an integer or a pointer.
func integer(name string) reg.GPVirtual { return Load(Param(name), GP64()).(reg.GPVirtual) }
