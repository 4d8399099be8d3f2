// Package level holds what the generators share, those above all that write each function for AVX2 and for AVX-512.
package level

import (
	"fmt"
	"math"

	. "github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/gotypes"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// The rows that the tiles of AVX-512 have: kernels puts other numbers of rows together of them. EdgeHeights are the
// heights of the tiles of NN that
// leave out products with the zeros beside an image, StepHeights those of the tiles with an optimizer's step.
var (
	NNHeights   = []int{1, 2, 3, 4, 5, 6, 7, 8, 10, 14}
	EdgeHeights = []int{4, 8, 10, 14}
	TNHeights   = []int{1, 3, 4, 5, 6, 8, 10, 14}
	NTHeights   = []int{1, 2, 3, 4, 5, 6, 8, 10}
	StepHeights = []int{1, 6, 8, 14}
)

// Halved reports whether the tiles of NN and TN with some rows know panels of which half counts.
func Halved(rows int) bool { return rows >= 4 && rows%2 == 0 }

// Level is a way to hold 16 floats: one register of AVX-512 (Wide) or two of AVX2.
type Level struct {
	Name   string
	Wide   bool
	prefix string
}

// Levels returns both levels. The names of their tables of constants start with prefix.
func Levels(prefix string) []Level {
	return []Level{{"AVX2", false, prefix}, {"AVX512", true, prefix}}
}

// Bytes returns the size of a register.
func (v Level) Bytes() int {
	if v.Wide {
		return 64
	}
	return 32
}

// Parts returns the byte offsets of the registers that make up 16 floats.
func (v Level) Parts() []int {
	if v.Wide {
		return []int{0}
	}
	return []int{0, 32}
}

// Text starts the function name+level with the given parameters.
func (v Level) Text(name, signature, doc string) {
	TEXT(name+v.Name, NOSPLIT, "func"+signature)
	Doc(name + v.Name + " " + doc)
	Pragma("noescape")
}

// End returns from the function.
func (v Level) End() {
	VZEROUPPER()
	RET()
}

// Vec returns a fresh vector register.
func (v Level) Vec() reg.VecVirtual {
	if v.Wide {
		return ZMM()
	}
	return YMM()
}

// Zeros returns a register of zeros.
func (v Level) Zeros() reg.VecVirtual {
	x := v.Vec()
	v.Zero(x)
	return x
}

// Zero sets x to zero.
func (v Level) Zero(x reg.Register) {
	if v.Wide {
		VPXORD(x, x, x)
	} else {
		VXORPS(x, x, x)
	}
}

// Load returns a copy of memory.
func (v Level) Load(m Mem) reg.VecVirtual {
	x := v.Vec()
	VMOVUPS(m, x)
	return x
}

// Spread returns lane 0 of x in all lanes.
func (v Level) Spread(x reg.VecVirtual) reg.VecVirtual {
	y := v.Vec()
	VBROADCASTSS(x.AsX(), y)
	return y
}

// Number returns f in all lanes.
func (v Level) Number(f float32) reg.VecVirtual {
	x := v.Vec()
	VBROADCASTSS(v.Float(f), x)
	return x
}

// Param returns a float32 parameter in all lanes.
func (v Level) Param(p gotypes.Component) reg.VecVirtual {
	addr, err := p.Resolve()
	if err != nil {
		panic(err)
	}
	x := v.Vec()
	VBROADCASTSS(addr.Addr, x)
	return x
}

// Predicates of VCMPPS.
const (
	CmpUnordered  = 0x03
	CmpNotEqual   = 0x04
	CmpOrdered    = 0x07
	CmpNotLess    = 0x15
	CmpNotGreater = 0x1a
	CmpAtLeast    = 0x1d
	CmpGreater    = 0x1e
)

// Where returns x in the lanes where "a predicate b" holds, and 0 elsewhere.
func (v Level) Where(predicate uint8, a, b reg.VecVirtual, x Op) reg.VecVirtual {
	y := v.Vec()
	if v.Wide {
		k := K()
		VCMPPS(Imm(uint64(predicate)), b, a, k)
		VMOVUPS_Z(x, k, y)
	} else {
		VCMPPS(Imm(uint64(predicate)), b, a, y)
		VANDPS(x, y, y)
	}
	return y
}

// Accumulators returns 16 zero lanes.
func (v Level) Accumulators() []reg.VecVirtual {
	var acc []reg.VecVirtual
	for range v.Parts() {
		acc = append(acc, v.Zeros())
	}
	return acc
}

// Sum and Largest are what Tree combines lanes by.
func Sum(x, y Op)     { VADDPS(x, y, y) }
func Largest(x, y Op) { VMAXPS(x, y, y) }

// Tree combines 16 lanes, each half of them with the other half, and returns the result in lane 0.
func (v Level) Tree(acc []reg.VecVirtual, combine func(x, y Op)) reg.VecVirtual {
	y := acc[0].AsY()
	if v.Wide {
		high := YMM()
		VEXTRACTF32X8(Imm(1), acc[0], high)
		combine(high, y)
	} else {
		combine(acc[1], y)
	}
	x, half := acc[0].AsX(), XMM()
	VEXTRACTF128(Imm(1), y, half)
	combine(half, x)
	VPERMILPS(Imm(0b1110), x, half)
	combine(half, x)
	VMOVSHDUP(x, half)
	combine(half, x)
	return x.(reg.VecVirtual)
}

// tables maps names to the tables of constants.
var tables = map[string]Mem{}

// table returns the address of words.
func table(name string, words ...uint32) Mem {
	m, ok := tables[name]
	if !ok {
		m = GLOBL(name, RODATA|NOPTR)
		for i, w := range words {
			DATA(4*i, U32(w))
		}
		tables[name] = m
	}
	return m
}

// copies returns 16 copies of b.
func copies(b uint32) []uint32 {
	words := make([]uint32, 16)
	for i := range words {
		words[i] = b
	}
	return words
}

// SignBit is the bit of a float32 that holds its sign.
const SignBit = 1 << 31

// Bits returns the address of 16 copies of b.
func (v Level) Bits(b uint32) Mem { return table(fmt.Sprintf("%s%08x", v.prefix, b), copies(b)...) }

// Float returns the address of 16 copies of f.
func (v Level) Float(f float32) Mem { return v.Bits(math.Float32bits(f)) }

// Window returns the address of a table of 16 copies of b, followed by 16 zeros.
func Window(name string, b uint32) Mem {
	return table(name, append(copies(b), make([]uint32, 16)...)...)
}

var labels int

// NewLabel returns a label that no other one equals.
func NewLabel(name string) string {
	labels++
	return fmt.Sprintf("%s%d", name, labels)
}

// Product, Sum and Difference return a fresh register with x*y, x+y and x-y.
func (v Level) Product(x reg.VecVirtual, y Op) reg.VecVirtual { return v.fresh(VMULPS, x, y) }

func (v Level) Sum(x reg.VecVirtual, y Op) reg.VecVirtual { return v.fresh(VADDPS, x, y) }

func (v Level) Difference(x reg.VecVirtual, y Op) reg.VecVirtual { return v.fresh(VSUBPS, x, y) }

func (v Level) fresh(instruction func(ops ...Op), x reg.VecVirtual, y Op) reg.VecVirtual {
	z := v.Vec()
	instruction(y, x, z)
	return z
}

// Address returns where a parameter lies.
func Address(name string) Mem {
	c, err := Param(name).Resolve()
	if err != nil {
		panic(err)
	}
	return c.Addr
}

// Integer loads an integer or a pointer.
func Integer(name string) reg.GPVirtual { return Load(Param(name), GP64()).(reg.GPVirtual) }
