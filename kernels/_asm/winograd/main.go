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

const half = 0x3f000000

const planesSignature = "(dst, src *float32, vectors, dstPlane, srcPlane int)"

func weights(v isa) {
	v.Text("winogradWeights", planesSignature, "transforms nine planes of weights; see winogradTable.")
	dst, src, count := level.Integer("dst"), level.Integer("src"), level.Integer("vectors")
	from, to := newSteps("srcPlane"), newSteps("dstPlane")
	h := v.number(half)
	v.each("vector", count, func() {
		middle, last, at := GP64(), GP64(), GP64()
		LEAQ(from.at(src, 3), middle)
		LEAQ(from.at(middle, 3), last)
		var g [3][4]reg.VecVirtual
		for x := range g {
			g[x] = v.weightColumn(h, v.Load(from.at(src, x)), v.Load(from.at(middle, x)), v.Load(from.at(last, x)))
		}
		MOVQ(dst, at)
		for y := range 4 {
			if y > 0 {
				LEAQ(Mem{Base: at, Index: to.step, Scale: 4}, at)
			}
			for x, out := range v.weightColumn(h, g[0][y], g[1][y], g[2][y]) {
				VMOVUPS(out, to.at(at, x))
			}
		}
		v.forward(src, dst)
	})
	v.End()
}

// weightColumn multiplies a column by G.
func (v isa) weightColumn(h, a, b, c reg.VecVirtual) [4]reg.VecVirtual {
	ends := v.Sum(a, c)
	plus, minus := v.Sum(ends, b), v.Difference(ends, b)
	VMULPS(h, plus, plus)
	VMULPS(h, minus, minus)
	return [4]reg.VecVirtual{a, plus, minus, c}
}

func gradient(v isa) {
	v.Text("winogradGradient", planesSignature, "transforms 16 planes of gradients; see winogradTable.")
	dst, src, count := level.Integer("dst"), level.Integer("src"), level.Integer("vectors")
	from, to := newSteps("srcPlane"), newSteps("dstPlane")
	h := v.number(half)
	v.each("vector", count, func() {
		var rows [4]reg.GPVirtual
		rows[0] = src
		for y := 1; y < 4; y++ {
			rows[y] = GP64()
			LEAQ(Mem{Base: rows[y-1], Index: from.step, Scale: 4}, rows[y])
		}
		var u [4][3]reg.VecVirtual
		for x := range u {
			u[x] = v.gradientColumn(h, v.Load(from.at(rows[0], x)), v.Load(from.at(rows[1], x)), from.at(rows[2], x), from.at(rows[3], x))
		}
		at := GP64()
		MOVQ(dst, at)
		for y := range 3 {
			if y > 0 {
				ADDQ(to.step3, at)
			}
			for x, out := range v.gradientColumn(h, u[0][y], u[1][y], u[2][y], u[3][y]) {
				VMOVUPS(out, to.at(at, x))
			}
		}
		v.forward(src, dst)
	})
	v.End()
}

// gradientColumn multiplies a column whose last row has its sign turned by G'. It uses a and b up.
func (v isa) gradientColumn(h, a, b reg.VecVirtual, c, d Op) [3]reg.VecVirtual {
	mean := v.Sum(b, c)
	VMULPS(h, mean, mean)
	VSUBPS(c, b, b)
	VMULPS(h, b, b)
	VADDPS(mean, a, a)
	VSUBPS(d, mean, mean)
	return [3]reg.VecVirtual{a, b, mean}
}

// newSteps returns the steps of a parameter's size.
func newSteps(name string) steps {
	s := level.Integer(name)
	return steps{s, times3(s)}
}
