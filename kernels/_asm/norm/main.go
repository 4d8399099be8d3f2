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
		squares(v)
		forward(v)
		backward(v)
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

// squares keeps the sums and the means of 16 channels in registers while it goes over the pixels.
func squares(v isa) {
	v.Text("normSquares", "(inner, mean *float64, x *float32, channels, rows, pixels, next int)", "is a loop of normTable.")
	inner, mean, a, channels, next := Integer("inner"), Integer("mean"), Integer("x"), Integer("channels"), Integer("next")
	pixel := GP64()
	MOVQ(channels, pixel)
	SHLQ(Imm(6), pixel)
	parts := 128 / v.Bytes() // registers for 16 float64
	Label("channel")
	sums, means := make([]reg.VecVirtual, parts), make([]reg.VecVirtual, parts)
	for i := range parts {
		sums[i], means[i] = v.Load(Mem{Base: inner, Disp: i * v.Bytes()}), v.Load(Mem{Base: mean, Disp: i * v.Bytes()})
	}
	x, rows, count := GP64(), Integer("rows"), GP64()
	MOVQ(a, x)
	Label("row")
	Load(Param("pixels"), count)
	Label("pixel")
	for i := range parts {
		d := v.Vec()
		VCVTPS2PD(Mem{Base: x, Disp: i * v.Bytes() / 2}, d)
		VSUBPD(means[i], d, d)
		VMULPD(d, d, d)
		VADDPD(d, sums[i], sums[i])
	}
	ADDQ(pixel, x)
	DECQ(count)
	JNE(LabelRef("pixel"))
	ADDQ(next, x)
	DECQ(rows)
	JNE(LabelRef("row"))
	for i := range parts {
		VMOVUPS(sums[i], Mem{Base: inner, Disp: i * v.Bytes()})
	}
	ADDQ(Imm(128), inner)
	ADDQ(Imm(128), mean)
	ADDQ(Imm(64), a)
	DECQ(channels)
	JNE(LabelRef("channel"))
	v.End()
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
