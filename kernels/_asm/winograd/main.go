// Command winograd writes the amd64 assembly of the transforms of Winograd's F(2x2, 3x3), each for AVX2 and for AVX-512.
package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"

	"github.com/fedfast/fedfast/kernels/_asm/file"
)

func main() {
	Package("github.com/fedfast/fedfast/kernels/_asm/kernels")
	ConstraintExpr("!purego")
	for _, v := range []isa{{"AVX2", 32}, {"AVX512", 64}} {
		input(v)
		spread(v)
		output(v)
		weights(v)
		gradient(v)
	}
	file.Write("winograd")
}

// isa is a level and the bytes of its vectors.
type isa struct {
	name  string
	bytes int
}

// text starts the function winograd+name+level with the given parameters.
func (v isa) text(name, signature, doc string) {
	TEXT("winograd"+name+v.name, NOSPLIT, "func"+signature)
	Doc("winograd" + name + v.name + " " + doc)
	Pragma("noescape")
}

// end returns from the function.
func (v isa) end() {
	VZEROUPPER()
	RET()
}

// vec returns a fresh vector register.
func (v isa) vec() reg.VecVirtual {
	if v.bytes == 64 {
		return ZMM()
	}
	return YMM()
}

// load returns a copy of memory.
func (v isa) load(m Mem) reg.VecVirtual {
	x := v.vec()
	VMOVUPS(m, x)
	return x
}

// sum and difference return a+b and a-b. b may be memory.
func (v isa) sum(a reg.VecVirtual, b Op) reg.VecVirtual {
	x := v.vec()
	VADDPS(b, a, x)
	return x
}

func (v isa) difference(a reg.VecVirtual, b Op) reg.VecVirtual {
	x := v.vec()
	VSUBPS(b, a, x)
	return x
}

// number returns a constant in all lanes.
func (v isa) number(bits uint32) reg.VecVirtual {
	x, g, low := v.vec(), GP32(), XMM()
	MOVL(U32(bits), g)
	VMOVD(g, low)
	VBROADCASTSS(low, x)
	return x
}

// parameter loads an integer or a pointer.
func parameter(name string) reg.GPVirtual { return Load(Param(name), GP64()).(reg.GPVirtual) }

// times3 returns three times x.
func times3(x reg.GPVirtual) reg.GPVirtual {
	y := GP64()
	LEAQ(Mem{Base: x, Index: x, Scale: 2}, y)
	return y
}

// steps are the addresses base, base+step, base+2*step and base+3*step.
type steps struct{ step, step3 reg.GPVirtual }

func (s steps) at(base reg.Register, i int) Mem {
	m := Mem{Base: base}
	switch i {
	case 1, 2:
		m.Index, m.Scale = s.step, uint8(i)
	case 3:
		m.Index, m.Scale = s.step3, 1
	}
	return m
}

// each repeats body for every vector of 16 floats in count, which it uses up: twice where a vector register holds eight.
func (v isa) each(label string, count reg.GPVirtual, body func()) {
	if v.bytes == 32 {
		ADDQ(count, count)
	}
	Label(label)
	body()
	DECQ(count)
	JNE(LabelRef(label))
}

// forward advances the pointers by a vector.
func (v isa) forward(pointers ...reg.GPVirtual) {
	for _, p := range pointers {
		ADDQ(Imm(uint64(v.bytes)), p)
	}
}
