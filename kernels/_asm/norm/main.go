// Command norm writes the amd64 assembly of the loops that normalise the channels of images, each for AVX2 and for
// AVX-512.
package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"

	"github.com/fedfast/fedfast/kernels/_asm/file"
	. "github.com/fedfast/fedfast/kernels/_asm/level"
)

func main() {
	for _, l := range Levels("norm") {
		v := isa{l}
		sums(v)
		moments(v)
		slopes(v, "ReLU", func() slope { return v.step })
		slopes(v, "Swish", v.swishSlope)
		forward(v)
		swish(v)
		backward(v, false)
		if v.Wide {
			factors(v)
			gradients(v)
			shareSums(v)
			backward(v, true)
			shareForward(v)
		}
	}
	file.Write("norm")
}

// isa is a level with the methods of this generator.
type isa struct{ Level }

// sums keeps the sums of 16 channels in registers while it goes over the pixels.
func sums(v isa) {
	v.Text("normSums", "(sum, inner *float64, a, b *float32, channels, rows, pixels, aNext, bNext int)", "is a loop of normTable.")
	v.sumsOf(Integer("a"), Integer("b"), "aNext", "bNext")
}

// moments sums 16 channels and their squares.
func moments(v isa) {
	v.Text("normMoments", "(sum, inner *float64, x *float32, channels, rows, pixels, next int)", "is a loop of normTable.")
	v.sumsOf(Integer("x"), nil, "next", "")
}

// sumsOf writes the loops over a and, unless it is nil, b: with many registers over 32 channels at a time, then over
// 16.
func (v isa) sumsOf(a, b reg.GPVirtual, aNext, bNext string) {
	sum, inner, channels := Integer("sum"), Integer("inner"), Integer("channels")
	pixel, count, rows := GP64(), GP64(), GP64()
	MOVQ(channels, pixel)
	SHLQ(Imm(6), pixel)
	one, doubles := v.ones(), v.doubles()
	images, next := []reg.GPVirtual{a}, []string{aNext}
	if bNext != "" {
		images, next = append(images, b), append(next, bNext)
	}
	blocks := []int{1}
	if v.Wide {
		blocks = []int{2, 1}
	}
	for _, groups := range blocks {
		block, row, each, done := NewLabel("block"), NewLabel("row"), NewLabel("pixel"), NewLabel("done")
		Label(block)
		CMPQ(channels, Imm(uint64(groups)))
		JLT(LabelRef(done))
		s := v.loadDoubles(sum, inner, doubles*groups)
		at := make([]reg.GPVirtual, len(images))
		for i, r := range images {
			at[i] = GP64()
			MOVQ(r, at[i])
		}
		Load(Param("rows"), rows)
		Label(row)
		Load(Param("pixels"), count)
		Label(each)
		for i := range doubles * groups {
			p := v.Vec()
			VCVTPS2PD(Mem{Base: at[0], Disp: v.Bytes() / 2 * i}, p)
			q := p
			if len(at) > 1 {
				q = v.Vec()
				VCVTPS2PD(Mem{Base: at[1], Disp: v.Bytes() / 2 * i}, q)
			}
			s.add(i, p, q, one, len(at) > 1 || i%2 == 0)
		}
		for _, r := range at {
			ADDQ(pixel, r)
		}
		DECQ(count)
		JNE(LabelRef(each))
		for i, r := range at {
			skip := Integer(next[i])
			ADDQ(skip, r)
		}
		DECQ(rows)
		JNE(LabelRef(row))
		v.store(s, sum, inner)
		for _, r := range images {
			ADDQ(U32(uint32(64*groups)), r)
		}
		SUBQ(Imm(uint64(groups)), channels)
		JMP(LabelRef(block))
		Label(done)
	}
	v.End()
}

// doubles returns the registers of float64 for 16 channels.
func (v isa) doubles() int { return 2 * len(v.Parts()) }

// doubleSums are two sums of channels in such registers.
type doubleSums struct{ first, other []reg.VecVirtual }

// ones returns a register of float64 of 1.
func (v isa) ones() reg.VecVirtual {
	bits, x, y := GP64(), XMM(), v.Vec()
	MOVQ(U64(0x3ff0000000000000), bits)
	VMOVQ(bits, x)
	VBROADCASTSD(x, y)
	return y
}

// loadDoubles loads n registers of each sum.
func (v isa) loadDoubles(sum, inner reg.Register, n int) (s doubleSums) {
	for i := range n {
		s.first = append(s.first, v.Load(Mem{Base: sum, Disp: v.Bytes() * i}))
		s.other = append(s.other, v.Load(Mem{Base: inner, Disp: v.Bytes() * i}))
	}
	return s
}

// add adds p to register i of the first sum and p*q to that of the other, whose products are exact. Where conversions
// keep the units that add
// busy, a multiplication by 1 adds the same.
func (s doubleSums) add(i int, p, q, one reg.VecVirtual, multiply bool) {
	if multiply {
		VFMADD231PD(one, p, s.first[i])
	} else {
		VADDPD(p, s.first[i], s.first[i])
	}
	VFMADD231PD(q, p, s.other[i])
}

// store writes the sums back and moves after them.
func (v isa) store(s doubleSums, sum, inner reg.Register) {
	for i := range s.first {
		VMOVUPS(s.first[i], Mem{Base: sum, Disp: v.Bytes() * i})
		VMOVUPS(s.other[i], Mem{Base: inner, Disp: v.Bytes() * i})
	}
	ADDQ(U32(uint32(v.Bytes()*len(s.first))), sum)
	ADDQ(U32(uint32(v.Bytes()*len(s.first))), inner)
}

// slope returns the gradient in front of an activation from g after it, where it was taken at x.
type slope func(x, g reg.VecVirtual) reg.VecVirtual

// slopes multiplies gradients by a slope at what the norm gave, or keeps them where slope says so.
func slopes(v isa, name string, prepare func() slope) {
	v.Text("norm"+name+"Slopes", "(dy, x, value, shift *float32, channels, pixels int)", "is a loop of normTable.")
	slope := prepare()
	v.each([]string{"dy", "x"}, []string{"value", "shift"}, func(images []Mem, factors []reg.VecVirtual) {
		at := v.Vec()
		VMULPS(images[1], factors[0], at)
		VADDPS(factors[1], at, at)
		VMOVUPS(slope(at, v.Load(images[0])), images[0])
	})
}

// step returns g where x is above 0, else 0.
func (v isa) step(x, g reg.VecVirtual) reg.VecVirtual { return v.Where(CmpGreater, x, v.Zeros(), g) }

const (
	sixth = 0x1.555556p-3
	third = 0x1.555556p-2
)

// swishSlope returns g times the slope of the hard swish at x, as curveTable has it; with many registers its constants
// stay there.
func (v isa) swishSlope() slope {
	if !v.Wide {
		return func(x, g reg.VecVirtual) reg.VecVirtual {
			middle, high := v.Vec(), v.Number(3)
			VMULPS(v.Float(third), x, middle)
			VADDPS(v.Float(0.5), middle, middle)
			at := v.Where(CmpGreater, x, v.Number(-3), v.Where(CmpGreater, high, x, middle))
			VADDPS(v.Where(CmpAtLeast, x, high, v.Number(1)), at, at)
			VMULPS(at, g, g)
			return g
		}
	}
	low, high, one, part, half := v.Number(-3), v.Number(3), v.Number(1), v.Number(third), v.Number(0.5)
	return func(x, g reg.VecVirtual) reg.VecVirtual {
		at, above, past := v.Vec(), K(), K()
		VCMPPS(Imm(CmpGreater), low, x, above)
		VCMPPS(Imm(CmpAtLeast), high, x, past)
		VMULPS(part, x, at)
		VADDPS_Z(half, at, above, at)
		VMOVAPS(one, past, at)
		VMULPS(at, g, g)
		return g
	}
}

// swish is forward with a hard swish after it, as curveTable has it.
func swish(v isa) {
	v.Text("normSwish", "(y, x, value, shift *float32, channels, pixels int)", "is a loop of normTable.")
	three, six, part, zero := v.Number(3), v.Number(6), v.Number(sixth), v.Zeros()
	v.each([]string{"y", "x"}, []string{"value", "shift"}, func(images []Mem, factors []reg.VecVirtual) {
		out, ramp := v.Vec(), v.Vec()
		VMULPS(images[1], factors[0], out)
		VADDPS(factors[1], out, out)
		VADDPS(three, out, ramp)
		VMAXPS(ramp, zero, ramp)
		VMINPS(ramp, six, ramp)
		VMULPS(ramp, out, out)
		VMULPS(part, out, out)
		VMOVUPS(out, images[0])
	})
}

// each goes over images, a few channels at a time: pixel after pixel, with the factors of these channels in registers.
func (v isa) each(images, factors []string, body func(images []Mem, factors []reg.VecVirtual)) {
	load := func(names []string) (all []reg.GPVirtual) {
		for _, name := range names {
			all = append(all, Integer(name))
		}
		return all
	}
	image, factor, left, size, pixels := load(images), load(factors), Integer("channels"), GP64(), GP64()
	MOVQ(left, size)
	SHLQ(Imm(6), size)
	blocks := []int{2, 1}
	if v.Wide {
		blocks = []int{8, 4, 1}
	}
	for _, groups := range blocks {
		block, pixel, done := NewLabel("block"), NewLabel("pixel"), NewLabel("done")
		registers := groups * len(v.Parts())
		Label(block)
		CMPQ(left, Imm(uint64(groups)))
		JLT(LabelRef(done))
		held := make([][]reg.VecVirtual, registers)
		for i := range held {
			for _, f := range factor {
				held[i] = append(held[i], v.Load(Mem{Base: f, Disp: i * v.Bytes()}))
			}
		}
		Load(Param("pixels"), pixels)
		at := make([]reg.GPVirtual, len(image))
		for i, r := range image {
			at[i] = GP64()
			MOVQ(r, at[i])
		}
		Label(pixel)
		for i := range held {
			var places []Mem
			for _, r := range at {
				places = append(places, Mem{Base: r, Disp: i * v.Bytes()})
			}
			body(places, held[i])
		}
		for _, r := range at {
			ADDQ(size, r)
		}
		DECQ(pixels)
		JNE(LabelRef(pixel))
		for _, r := range append(image, factor...) {
			ADDQ(U32(uint32(64*groups)), r)
		}
		SUBQ(Imm(uint64(groups)), left)
		JMP(LabelRef(block))
		Label(done)
	}
	v.End()
}

// lowest is minus infinity, below which nothing is cut off.
const lowest = 0xff800000

func forward(v isa) {
	v.Text("normForward", "(y, x, value, shift *float32, channels, pixels, relu int)", "is a loop of normTable.")
	floor, bits, low := v.Vec(), GP32(), XMM()
	relu := Integer("relu")
	MOVL(U32(lowest), bits)
	TESTQ(relu, relu)
	JEQ(LabelRef("plain"))
	XORL(bits, bits)
	Label("plain")
	VMOVD(bits, low)
	VBROADCASTSS(low, floor)
	v.each([]string{"y", "x"}, []string{"value", "shift"}, func(images []Mem, factors []reg.VecVirtual) {
		out := v.Vec()
		VMULPS(images[1], factors[0], out)
		VADDPS(factors[1], out, out)
		VMAXPS(out, floor, out) // keeps NaN and -0: the second source of two zeros, or where one is NaN
		VMOVUPS(out, images[0])
	})
}

// backward is a loop for the gradient dy, or for a share of it.
func backward(v isa, shared bool) {
	name, param := "normBackward", ""
	if shared {
		name, param = "normShareBackward", " share float32,"
	}
	v.Text(name, "(dx, dy, x, grad, value, shift *float32,"+param+" channels, pixels int)", "is a loop of normTable.")
	var share reg.VecVirtual
	if shared {
		share = v.Param(Param("share"))
	}
	v.each([]string{"dx", "dy", "x"}, []string{"grad", "value", "shift"}, func(images []Mem, factors []reg.VecVirtual) {
		g, out := v.Vec(), v.Vec()
		if shared {
			VMULPS(images[1], share, g)
			VMULPS(g, factors[0], g)
		} else {
			VMULPS(images[1], factors[0], g)
		}
		VMULPS(images[2], factors[1], out)
		VADDPS(factors[2], out, out)
		VADDPS(g, out, out)
		VMOVUPS(out, images[0])
	})
}

// shareSums sums the shares of gradients as sums does, and their products with what the norm gave, over 8 of 16
// channels or over all.
func shareSums(v isa) {
	v.Text("normShareSums", "(sum, inner *float64, dots, d, x, value, shift *float32, share float32, half, rows, pixels, dNext, xNext int)", "is a loop of normTable.")
	sum, inner, dots, d, x := Integer("sum"), Integer("inner"), Integer("dots"), Integer("d"), Integer("x")
	value, shift := Integer("value"), Integer("shift")
	half, rows, pixels, count := Integer("half"), Integer("rows"), Integer("pixels"), GP64()
	share, one, doubles := v.Param(Param("share")), v.ones(), v.doubles()
	whole, end := NewLabel("whole"), NewLabel("end")
	TESTQ(half, half)
	JEQ(LabelRef(whole))
	for _, n := range []int{doubles / 2, doubles} {
		if n == doubles {
			Label(whole)
		}
		sized := func(r reg.VecVirtual) reg.VecVirtual {
			if n == doubles {
				return r
			}
			return r.AsY().(reg.VecVirtual)
		}
		s, acc := v.loadDoubles(sum, inner, n), v.Vec()
		values, shifts := sized(v.Vec()), sized(v.Vec())
		VMOVUPS(Mem{Base: value}, values)
		VMOVUPS(Mem{Base: shift}, shifts)
		row, pixel := NewLabel("row"), NewLabel("pixel")
		Label(row)
		VXORPS(acc.AsY(), acc.AsY(), acc.AsY())
		MOVQ(pixels, count)
		Label(pixel)
		y := sized(v.Vec())
		VMULPS(Mem{Base: x}, values, y)
		VADDPS(shifts, y, y)
		VFMADD231PS(Mem{Base: d}, y, sized(acc))
		for i := range n {
			part, p, q := YMM(), v.Vec(), v.Vec()
			VMULPS(Mem{Base: d, Disp: 32 * i}, share.AsY(), part)
			VCVTPS2PD(part, p)
			VCVTPS2PD(Mem{Base: x, Disp: 32 * i}, q)
			s.add(i, p, q, one, true)
		}
		ADDQ(Imm(64), d)
		ADDQ(Imm(64), x)
		DECQ(count)
		JNE(LabelRef(pixel))
		VMOVSS(v.Tree([]reg.VecVirtual{acc}, Sum), Mem{Base: dots})
		ADDQ(Imm(4), dots)
		ADDQ(Integer("dNext"), d)
		ADDQ(Integer("xNext"), x)
		DECQ(rows)
		JNE(LabelRef(row))
		v.store(s, sum, inner)
		if n < doubles {
			JMP(LabelRef(end))
		}
	}
	Label(end)
	v.End()
}

// shareForward adds a share of what forward gives.
func shareForward(v isa) {
	v.Text("normShareForward", "(y, x, value, shift *float32, share float32, channels, pixels int)", "is a loop of normTable.")
	share := v.Param(Param("share"))
	v.each([]string{"y", "x"}, []string{"value", "shift"}, func(images []Mem, factors []reg.VecVirtual) {
		out, sum := v.Vec(), v.Load(images[0])
		VMULPS(images[1], factors[0], out)
		VADDPS(factors[1], out, out)
		VFMADD231PS(out, share, sum)
		VMOVUPS(sum, images[0])
	})
}

// Groups of 8 channels: each is a register of float64, and half of one of float32. Plain Go is as fast with half of
// the registers.

// factors does what NormFactors says.
func factors(v isa) {
	v.Text("normFactors", "(sum, inner, mean, scale *float64, weight, bias, value, shift *float32, groups int, count, epsilon float64)", "is a loop of groupTable.")
	sum, inner, mean, scale := Integer("sum"), Integer("inner"), Integer("mean"), Integer("scale")
	weight, bias, value, shift := Integer("weight"), Integer("bias"), Integer("value"), Integer("shift")
	groups, count, epsilon := Integer("groups"), Load(Param("count"), XMM()), Load(Param("epsilon"), XMM())
	one, zero, number := XMM(), XMM(), GP64()
	MOVQ(U32(1), number)
	VXORPS(zero, zero, zero)
	VCVTSI2SDQ(number, zero, one)
	Label("group")
	m, s, square := v.ordered(sum), v.ordered(inner), XMM()
	VDIVSD(count, m, m)
	VDIVSD(count, s, s)
	VMULSD(m, m, square)
	VSUBSD(square, s, s)
	VMAXSD(s, zero, s) // the second source where it is NaN
	VADDSD(epsilon, s, s)
	VSQRTSD(s, s, s)
	VDIVSD(s, one, s)
	VMOVSD(m, Mem{Base: mean})
	VMOVSD(s, Mem{Base: scale})
	means, scales := v.Vec(), v.Vec()
	VBROADCASTSD(m, means)
	VBROADCASTSD(s, scales)
	w, b := v.Vec(), v.Vec()
	VCVTPS2PD(Mem{Base: weight}, w)
	VMULPD(scales, w, w)
	VMOVUPS(narrow(w), Mem{Base: value})
	VMULPD(means, w, w)
	VCVTPS2PD(Mem{Base: bias}, b)
	VSUBPD(w, b, b)
	VMOVUPS(narrow(b), Mem{Base: shift})
	v.nextGroup(groups, []reg.GPVirtual{sum, inner}, []reg.GPVirtual{mean, scale}, []reg.GPVirtual{weight, bias, value, shift})
}

// gradients does what NormGradients says.
func gradients(v isa) {
	v.Text("normGradients", "(sum, inner, mean, scale *float64, weight, weightGrad, biasGrad, grad, value, shift *float32, groups int, count float64)", "is a loop of groupTable.")
	sum, inner, mean, scale := Integer("sum"), Integer("inner"), Integer("mean"), Integer("scale")
	weight, weightGrad, biasGrad := Integer("weight"), Integer("weightGrad"), Integer("biasGrad")
	grad, value, shift := Integer("grad"), Integer("value"), Integer("shift")
	groups, count := Integer("groups"), Load(Param("count"), XMM())
	Label("group")
	means, scales := v.Vec(), v.Vec()
	VBROADCASTSD(Mem{Base: mean}, means)
	VBROADCASTSD(Mem{Base: scale}, scales)
	s, dw, part := v.Load(Mem{Base: sum}), v.Load(Mem{Base: inner}), v.Vec()
	VMULPD(s, means, part)
	VSUBPD(part, dw, dw)
	VMULPD(scales, dw, dw)
	for k, d := range []reg.VecVirtual{s, dw} {
		to, x := Mem{Base: []reg.GPVirtual{biasGrad, weightGrad}[k]}, narrow(d)
		VADDPS(to, x, x)
		VMOVUPS(x, to)
	}
	w := v.Vec()
	VCVTPS2PD(Mem{Base: weight}, w)
	VMULPD(w, s, s)
	VMOVUPS(s, Mem{Base: sum})
	VMULPD(w, dw, dw)
	VMOVUPS(dw, Mem{Base: inner})
	VMULPD(scales, w, w)
	VMOVUPS(narrow(w), Mem{Base: grad})
	u, product, negative, each := v.ordered(sum), v.ordered(inner), XMM(), XMM()
	VXORPS(negative, negative, negative)
	VSUBSD(scales.AsX(), negative, negative)
	VMULSD(scales.AsX(), negative, each)
	VMULSD(product, each, each)
	VDIVSD(count, each, each)
	VMULSD(u, negative, negative)
	VDIVSD(count, negative, negative)
	VMULSD(means.AsX(), each, product)
	VSUBSD(product, negative, negative)
	v.spread(each, value)
	v.spread(negative, shift)
	v.nextGroup(groups, []reg.GPVirtual{sum, inner}, []reg.GPVirtual{mean, scale}, []reg.GPVirtual{weight, weightGrad, biasGrad, grad, value, shift})
}

// ordered returns the sum of 8 float64, one after the other.
func (v isa) ordered(p reg.GPVirtual) reg.VecVirtual {
	x := XMM()
	VXORPS(x, x, x)
	for c := range 8 {
		VADDSD(Mem{Base: p, Disp: 8 * c}, x, x)
	}
	return x
}

// narrow returns 8 float64 as float32.
func narrow(x reg.VecVirtual) reg.VecVirtual {
	y := YMM()
	VCVTPD2PS(x, y)
	return y
}

// spread stores a float64 as eight float32.
func (v isa) spread(x reg.VecVirtual, to reg.GPVirtual) {
	y := YMM()
	VCVTSD2SS(x, x, x)
	VBROADCASTSS(x, y)
	VMOVUPS(y, Mem{Base: to})
}

// nextGroup moves pointers of 8 float64, of one and of 8 float32 on, and ends the loop.
func (v isa) nextGroup(groups reg.GPVirtual, doubles, one, floats []reg.GPVirtual) {
	for size, pointers := range [][]reg.GPVirtual{one, floats, doubles} {
		for _, p := range pointers {
			ADDQ(Imm(uint64([]int{8, 32, 64}[size])), p)
		}
	}
	DECQ(groups)
	JNE(LabelRef("group"))
	v.End()
}
