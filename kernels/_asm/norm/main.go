// Command norm writes the amd64 assembly of the loops that normalise the channels of images, each for AVX2 and for AVX-512.
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
		sums(v)
		forward(v)
		backward(v)
	}
	file.Write("norm")
}

// isa is a level and the bytes of its vectors.
type isa struct {
	name  string
	bytes int
}

// text starts the function norm+name+level with the given parameters.
func (v isa) text(name, signature string) {
	TEXT("norm"+name+v.name, NOSPLIT, "func"+signature)
	Doc("norm" + name + v.name + " is a loop of normTable.")
	Pragma("noescape")
}

// end returns from the function.
func (v isa) end() {
	VZEROUPPER()
	RET()
}

// vec returns a fresh vector register, and load one with a copy of memory.
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

// parameter loads an integer or a pointer.
func parameter(name string) reg.GPVirtual { return Load(Param(name), GP64()).(reg.GPVirtual) }

// sums keeps the sums of 16 channels in registers while it goes over the pixels.
func sums(v isa) {
	v.text("Sums", "(sum, inner *float64, a, b *float32, channels, rows, pixels, aNext, bNext int)")
	sum, inner, a, b := parameter("sum"), parameter("inner"), parameter("a"), parameter("b")
	channels := parameter("channels")
	aNext, bNext := parameter("aNext"), parameter("bNext")
	pixel := GP64()
	MOVQ(channels, pixel)
	SHLQ(Imm(6), pixel)
	parts := 128 / v.bytes // registers for 16 float64
	Label("channel")
	first, other := make([]reg.VecVirtual, parts), make([]reg.VecVirtual, parts)
	for i := range parts {
		first[i], other[i] = v.load(Mem{Base: sum, Disp: i * v.bytes}), v.load(Mem{Base: inner, Disp: i * v.bytes})
	}
	x, y, rows, count := GP64(), GP64(), parameter("rows"), GP64()
	MOVQ(a, x)
	MOVQ(b, y)
	Label("row")
	Load(Param("pixels"), count)
	Label("pixel")
	for i := range parts {
		p, q := v.vec(), v.vec()
		VCVTPS2PD(Mem{Base: x, Disp: i * v.bytes / 2}, p)
		VCVTPS2PD(Mem{Base: y, Disp: i * v.bytes / 2}, q)
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
		VMOVUPS(first[i], Mem{Base: sum, Disp: i * v.bytes})
		VMOVUPS(other[i], Mem{Base: inner, Disp: i * v.bytes})
	}
	ADDQ(Imm(128), sum)
	ADDQ(Imm(128), inner)
	ADDQ(Imm(64), a)
	ADDQ(Imm(64), b)
	DECQ(channels)
	JNE(LabelRef("channel"))
	v.end()
}

// each goes over the pixels of images and their channels. at gives the channel's place in a pixel, or in a row of all channels.
func (v isa) each(images []reg.GPVirtual, body func(at func(r reg.GPVirtual) Mem)) {
	size, offset, pixels := GP64(), GP64(), parameter("pixels")
	Load(Param("channels"), size)
	SHLQ(Imm(6), size)
	Label("pixel")
	XORQ(offset, offset)
	Label("channel")
	body(func(r reg.GPVirtual) Mem { return Mem{Base: r, Index: offset, Scale: 1} })
	ADDQ(Imm(uint64(v.bytes)), offset)
	CMPQ(offset, size)
	JNE(LabelRef("channel"))
	for _, r := range images {
		ADDQ(size, r)
	}
	DECQ(pixels)
	JNE(LabelRef("pixel"))
	v.end()
}

// lowest is minus infinity, below which nothing is cut off.
const lowest = 0xff800000

func forward(v isa) {
	v.text("Forward", "(y, x, value, shift *float32, channels, pixels, relu int)")
	y, x, value, shift := parameter("y"), parameter("x"), parameter("value"), parameter("shift")
	floor, bits, low := v.vec(), GP32(), XMM()
	relu := parameter("relu")
	MOVL(U32(lowest), bits)
	TESTQ(relu, relu)
	JEQ(LabelRef("plain"))
	XORL(bits, bits)
	Label("plain")
	VMOVD(bits, low)
	VBROADCASTSS(low, floor)
	v.each([]reg.GPVirtual{y, x}, func(at func(r reg.GPVirtual) Mem) {
		out := v.load(at(x))
		VMULPS(at(value), out, out)
		VADDPS(at(shift), out, out)
		VMAXPS(out, floor, out) // keeps NaN and -0: the second source of two zeros, or where one is NaN
		VMOVUPS(out, at(y))
	})
}

func backward(v isa) {
	v.text("Backward", "(dx, dy, x, grad, value, shift *float32, channels, pixels int)")
	dx, dy, x := parameter("dx"), parameter("dy"), parameter("x")
	grad, value, shift := parameter("grad"), parameter("value"), parameter("shift")
	v.each([]reg.GPVirtual{dx, dy, x}, func(at func(r reg.GPVirtual) Mem) {
		g, out := v.load(at(dy)), v.load(at(x))
		VMULPS(at(grad), g, g)
		VMULPS(at(value), out, out)
		VADDPS(at(shift), out, out)
		VADDPS(g, out, out)
		VMOVUPS(out, at(dx))
	})
}
