package main

import (
	"fmt"
	"math"

	. "github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/gotypes"
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

// load returns a copy of memory, and copied one of a register.
func (v isa) load(m Mem) reg.VecVirtual {
	x := v.vec()
	VMOVUPS(m, x)
	return x
}

func (v isa) copied(y reg.VecVirtual) reg.VecVirtual {
	x := v.vec()
	VMOVAPS(y, x)
	return x
}

// spread returns lane 0 of x in all lanes.
func (v isa) spread(x reg.VecVirtual) reg.VecVirtual {
	y := v.vec()
	VBROADCASTSS(x.AsX(), y)
	return y
}

// param returns a float32 parameter in all lanes.
func (v isa) param(p gotypes.Component) reg.VecVirtual {
	addr, err := p.Resolve()
	if err != nil {
		panic(err)
	}
	x := v.vec()
	VBROADCASTSS(addr.Addr, x)
	return x
}

// Predicates of VCMPPS and VPCMPUD.
const (
	cmpUnordered    = 0x03
	cmpNotLess      = 0x15
	cmpGreater      = 0x1e
	cmpAboveOrEqual = 5
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
		m = GLOBL(fmt.Sprintf("all%08x", b), RODATA|NOPTR)
		for i := range 16 {
			DATA(4*i, U32(b))
		}
		constants[b] = m
	}
	return m
}

// float returns the address of 16 copies of f.
func float(f float32) Mem { return bits(math.Float32bits(f)) }

// with emits an instruction whose first operand is a constant: plain reads 16 copies, and the form for AVX-512 reads one, which cannot
// lie across two cache lines (the linker aligns to 32 bytes only).
func (v isa) with(plain, broadcast func(ops ...Op), constant Mem, ops ...Op) {
	if v.wide {
		plain = broadcast
	}
	plain(append([]Op{constant}, ops...)...)
}

// constant returns f in all lanes.
func (v isa) constant(f float32) reg.VecVirtual {
	x := v.vec()
	VBROADCASTSS(float(f), x)
	return x
}

var maskTable *Mem

// masks returns the address of 16 words of all ones, followed by 16 zeros.
func masks() Mem {
	if maskTable == nil {
		m := GLOBL("masks", RODATA|NOPTR)
		for i := range 16 {
			DATA(4*i, U32(math.MaxUint32))
		}
		for i := range 16 {
			DATA(64+4*i, U32(0))
		}
		maskTable = &m
	}
	return *maskTable
}

var labels int

// label returns a label that no other one equals.
func label(name string) string {
	labels++
	return fmt.Sprintf("%s%d", name, labels)
}
