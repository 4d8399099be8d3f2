// Command norm writes the amd64 assembly of the loops that normalise the channels of images, each for AVX2 and for AVX-512.
package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"

	"github.com/fedfast/fedfast/kernels/_asm/file"
	. "github.com/fedfast/fedfast/kernels/_asm/level"
)

func main() {
	Package("github.com/fedfast/fedfast/kernels/_asm/kernels")
	ConstraintExpr("!purego")
	for _, l := range Levels("norm") {
		v := isa{l}
		sums(v)
		moments(v)
		slopeSums(v, "ReLU", func() slope { return v.step })
		slopeSums(v, "Swish", v.swishSlope)
		forward(v)
		swish(v)
		backward(v)
		if v.Wide {
			factors(v)
			gradients(v)
		}
	}
	file.Write("norm")
}

// isa is a level with the methods of this generator.
type isa struct{ Level }

// sums keeps the sums of 16 channels in registers while it goes over the pixels.
func sums(v isa) {
	v.Text("normSums", "(sum, inner *float64, a, b *float32, channels, rows, pixels, aNext, bNext int)", "is a loop of normTable.")
	sum, inner, a, b := Integer("sum"), Integer("inner"), Integer("a"), Integer("b")
	channels := Integer("channels")
	aNext, bNext := Integer("aNext"), Integer("bNext")
	pixel := GP64()
	MOVQ(channels, pixel)
	SHLQ(Imm(6), pixel)
	parts := 128 / v.Bytes() // registers for 16 float64
	Label("channel")
	first, other := make([]reg.VecVirtual, parts), make([]reg.VecVirtual, parts)
	for i := range parts {
		first[i], other[i] = v.Load(Mem{Base: sum, Disp: i * v.Bytes()}), v.Load(Mem{Base: inner, Disp: i * v.Bytes()})
	}
	x, y, rows, count := GP64(), GP64(), Integer("rows"), GP64()
	MOVQ(a, x)
	MOVQ(b, y)
	Label("row")
	Load(Param("pixels"), count)
	Label("pixel")
	for i := range parts {
		p, q := v.Vec(), v.Vec()
		VCVTPS2PD(Mem{Base: x, Disp: i * v.Bytes() / 2}, p)
		VCVTPS2PD(Mem{Base: y, Disp: i * v.Bytes() / 2}, q)
		VADDPD(p, first[i], first[i])
		VFMADD231PD(q, p, other[i]) // the product is exact, so fusing changes nothing
	}
	ADDQ(pixel, x)
	ADDQ(pixel, y)
	DECQ(count)
	JNE(LabelRef("pixel"))
	ADDQ(aNext, x)
	ADDQ(bNext, y)
	DECQ(rows)
	JNE(LabelRef("row"))
	for i := range parts {
		VMOVUPS(first[i], Mem{Base: sum, Disp: i * v.Bytes()})
		VMOVUPS(other[i], Mem{Base: inner, Disp: i * v.Bytes()})
	}
	ADDQ(Imm(128), sum)
	ADDQ(Imm(128), inner)
	ADDQ(Imm(64), a)
	ADDQ(Imm(64), b)
	DECQ(channels)
	JNE(LabelRef("channel"))
	v.End()
}

// moments sums 16 channels and their squares.
func moments(v isa) {
	v.Text("normMoments", "(sum, inner *float64, x *float32, channels, rows, pixels, next int)", "is a loop of normTable.")
	sum, inner, a := Integer("sum"), Integer("inner"), Integer("x")
	channels, next := Integer("channels"), Integer("next")
	pixel := GP64()
	MOVQ(channels, pixel)
	SHLQ(Imm(6), pixel)
	parts := 128 / v.Bytes() // registers for 16 float64
	Label("channel")
	first, other := make([]reg.VecVirtual, parts), make([]reg.VecVirtual, parts)
	for i := range parts {
		first[i], other[i] = v.Load(Mem{Base: sum, Disp: i * v.Bytes()}), v.Load(Mem{Base: inner, Disp: i * v.Bytes()})
	}
	x, rows, count := GP64(), Integer("rows"), GP64()
	MOVQ(a, x)
	Label("row")
	Load(Param("pixels"), count)
	Label("pixel")
	for i := range parts {
		p := v.Vec()
		VCVTPS2PD(Mem{Base: x, Disp: i * v.Bytes() / 2}, p)
		VADDPD(p, first[i], first[i])
		VFMADD231PD(p, p, other[i])
	}
	ADDQ(pixel, x)
	DECQ(count)
	JNE(LabelRef("pixel"))
	ADDQ(next, x)
	DECQ(rows)
	JNE(LabelRef("row"))
	for i := range parts {
		VMOVUPS(first[i], Mem{Base: sum, Disp: i * v.Bytes()})
		VMOVUPS(other[i], Mem{Base: inner, Disp: i * v.Bytes()})
	}
	ADDQ(Imm(128), sum)
	ADDQ(Imm(128), inner)
	ADDQ(Imm(64), a)
	DECQ(channels)
	JNE(LabelRef("channel"))
	v.End()
}

// slope returns the gradient in front of an activation from g behind it, where it was taken at x.
type slope func(x, g reg.VecVirtual) reg.VecVirtual

// slopeSums writes sums of gradients that are first multiplied by a slope at what the norm gave, or kept where slope says so.
func slopeSums(v isa, name string, prepare func() slope) {
	v.Text("norm"+name+"Sums", "(sum, inner *float64, dy, x, value, shift *float32, channels, rows, pixels, dyNext, xNext int)", "is a loop of normTable.")
	sum, inner, dy, x, value, shift := Integer("sum"), Integer("inner"), Integer("dy"), Integer("x"), Integer("value"), Integer("shift")
	channels, pixel := Integer("channels"), GP64()
	MOVQ(channels, pixel)
	SHLQ(Imm(6), pixel)
	if !v.Wide { // blocks of one register
		SHLQ(Imm(1), channels)
	}
	const halves = 2 // registers of float64 for one of float32
	slope := prepare()
	Label("channel")
	first, other := make([]reg.VecVirtual, halves), make([]reg.VecVirtual, halves)
	for i := range halves {
		first[i], other[i] = v.Load(Mem{Base: sum, Disp: i * v.Bytes()}), v.Load(Mem{Base: inner, Disp: i * v.Bytes()})
	}
	scale, offset := v.Load(Mem{Base: value}), v.Load(Mem{Base: shift})
	from, g, rows := GP64(), GP64(), Integer("rows")
	MOVQ(x, from)
	MOVQ(dy, g)
	Label("row")
	count := Integer("pixels")
	Label("pixel")
	at := v.Load(Mem{Base: from})
	VMULPS(scale, at, at)
	VADDPS(offset, at, at)
	d := slope(at, v.Load(Mem{Base: g}))
	VMOVUPS(d, Mem{Base: g})
	for i := range halves {
		p, q := v.Vec(), v.Vec()
		VCVTPS2PD(Mem{Base: from, Disp: i * v.Bytes() / 2}, q)
		switch {
		case v.Wide && i == 0:
			VCVTPS2PD(d.AsY(), p)
		case v.Wide:
			VEXTRACTF32X8(Imm(1), d, p.AsY())
			VCVTPS2PD(p.AsY(), p)
		case i == 0:
			VCVTPS2PD(d.AsX(), p)
		default:
			VEXTRACTF128(Imm(1), d, p.AsX())
			VCVTPS2PD(p.AsX(), p)
		}
		VADDPD(p, first[i], first[i])
		VFMADD231PD(q, p, other[i])
	}
	ADDQ(pixel, from)
	ADDQ(pixel, g)
	DECQ(count)
	JNE(LabelRef("pixel"))
	skip := Integer("xNext")
	ADDQ(skip, from)
	skip = Integer("dyNext")
	ADDQ(skip, g)
	DECQ(rows)
	JNE(LabelRef("row"))
	for i := range halves {
		VMOVUPS(first[i], Mem{Base: sum, Disp: i * v.Bytes()})
		VMOVUPS(other[i], Mem{Base: inner, Disp: i * v.Bytes()})
	}
	for _, p := range []reg.GPVirtual{dy, x, value, shift} {
		ADDQ(Imm(uint64(v.Bytes())), p)
	}
	for _, p := range []reg.GPVirtual{sum, inner} {
		ADDQ(Imm(uint64(2*v.Bytes())), p)
	}
	DECQ(channels)
	JNE(LabelRef("channel"))
	v.End()
}

// step returns g where x is above 0, else 0.
func (v isa) step(x, g reg.VecVirtual) reg.VecVirtual { return v.Where(CmpGreater, x, v.Zeros(), g) }

const (
	sixth = 0x1.555556p-3
	third = 0x1.555556p-2
)

// swishSlope returns g times the slope of the hard swish at x, as curveTable has it; with many registers its constants stay there.
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
		at, above, between := v.Vec(), K(), K()
		VCMPPS(Imm(CmpGreater), low, x, above)
		VCMPPS(Imm(CmpGreater), x, high, above, between)
		VCMPPS(Imm(CmpAtLeast), high, x, above)
		VMULPS(part, x, at)
		VADDPS_Z(half, at, between, at)
		VMOVAPS(one, above, at)
		VMULPS(at, g, g)
		return g
	}
}

// swish is forward with a hard swish behind it, as curveTable has it.
func swish(v isa) {
	v.Text("normSwish", "(y, x, value, shift *float32, channels, pixels int)", "is a loop of normTable.")
	y, x, value, shift := Integer("y"), Integer("x"), Integer("value"), Integer("shift")
	three, six, part, zero := v.Number(3), v.Number(6), v.Number(sixth), v.Zeros()
	v.each([]reg.GPVirtual{y, x}, func(at func(r reg.GPVirtual) Mem) {
		out, ramp := v.Load(at(x)), v.Vec()
		VMULPS(at(value), out, out)
		VADDPS(at(shift), out, out)
		VADDPS(three, out, ramp)
		VMAXPS(ramp, zero, ramp)
		VMINPS(ramp, six, ramp)
		VMULPS(ramp, out, out)
		VMULPS(part, out, out)
		VMOVUPS(out, at(y))
	})
}

// each goes over the pixels of images and their channels. at gives the channel's place in a pixel, or in a row of all channels.
func (v isa) each(images []reg.GPVirtual, body func(at func(r reg.GPVirtual) Mem)) {
	size, offset, pixels := GP64(), GP64(), Integer("pixels")
	Load(Param("channels"), size)
	SHLQ(Imm(6), size)
	Label("pixel")
	XORQ(offset, offset)
	Label("channel")
	body(func(r reg.GPVirtual) Mem { return Mem{Base: r, Index: offset, Scale: 1} })
	ADDQ(Imm(uint64(v.Bytes())), offset)
	CMPQ(offset, size)
	JNE(LabelRef("channel"))
	for _, r := range images {
		ADDQ(size, r)
	}
	DECQ(pixels)
	JNE(LabelRef("pixel"))
	v.End()
}

// lowest is minus infinity, below which nothing is cut off.
const lowest = 0xff800000

func forward(v isa) {
	v.Text("normForward", "(y, x, value, shift *float32, channels, pixels, relu int)", "is a loop of normTable.")
	y, x, value, shift := Integer("y"), Integer("x"), Integer("value"), Integer("shift")
	floor, bits, low := v.Vec(), GP32(), XMM()
	relu := Integer("relu")
	MOVL(U32(lowest), bits)
	TESTQ(relu, relu)
	JEQ(LabelRef("plain"))
	XORL(bits, bits)
	Label("plain")
	VMOVD(bits, low)
	VBROADCASTSS(low, floor)
	v.each([]reg.GPVirtual{y, x}, func(at func(r reg.GPVirtual) Mem) {
		out := v.Load(at(x))
		VMULPS(at(value), out, out)
		VADDPS(at(shift), out, out)
		VMAXPS(out, floor, out) // keeps NaN and -0: the second source of two zeros, or where one is NaN
		VMOVUPS(out, at(y))
	})
}

func backward(v isa) {
	v.Text("normBackward", "(dx, dy, x, grad, value, shift *float32, channels, pixels int)", "is a loop of normTable.")
	dx, dy, x := Integer("dx"), Integer("dy"), Integer("x")
	grad, value, shift := Integer("grad"), Integer("value"), Integer("shift")
	v.each([]reg.GPVirtual{dx, dy, x}, func(at func(r reg.GPVirtual) Mem) {
		g, out := v.Load(at(dy)), v.Load(at(x))
		VMULPS(at(grad), g, g)
		VMULPS(at(value), out, out)
		VADDPS(at(shift), out, out)
		VADDPS(g, out, out)
		VMOVUPS(out, at(dx))
	})
}

// Groups of 8 channels: each is a register of float64, and half of one of float32. Plain Go is as fast with half of the registers.

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
