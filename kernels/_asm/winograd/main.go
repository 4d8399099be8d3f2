// Command winograd writes the amd64 assembly of the transforms of Winograd's F(2x2, 3x3), each for AVX2 and for
// AVX-512.
package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"

	"github.com/fedfast/fedfast/kernels/_asm/file"
	"github.com/fedfast/fedfast/kernels/_asm/level"
)

func main() {
	for _, l := range level.Levels("winograd") {
		v := isa{l}
		input(v)
		spread(v)
		output(v)
		weights(v)
		gradient(v)
	}
	file.Write("winograd")
}

// isa is a level with the methods of this generator.
type isa struct{ level.Level }

// number returns a constant in all lanes.
func (v isa) number(bits uint32) reg.VecVirtual {
	x, g, low := v.Vec(), GP32(), XMM()
	MOVL(U32(bits), g)
	VMOVD(g, low)
	VBROADCASTSS(low, x)
	return x
}

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

// each repeats body for every vector of 16 floats in count, which it uses up: twice where a vector register holds
// eight.
func (v isa) each(label string, count reg.GPVirtual, body func()) {
	if !v.Wide {
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
		ADDQ(Imm(uint64(v.Bytes())), p)
	}
}
