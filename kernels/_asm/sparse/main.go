// Command sparse writes the amd64 assembly for gradients that are mostly zero, each function for AVX2 and for AVX-512.
package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"

	"github.com/fedfast/fedfast/kernels/_asm/file"
	"github.com/fedfast/fedfast/kernels/_asm/level"
)

func main() {
	for _, maxima := range []bool{true, false} {
		listsAVX2(maxima)
		listsAVX512(maxima)
	}
	appendByFilter()
	for _, v := range level.Levels("sparse") {
		for _, t := range []tile{{3, 3, 2, v}, {3, 3, 1, v}, {5, 5, 1, v}} {
			if !v.Wide {
				t.rows = 1
			}
			t.weights()
			t.input()
		}
	}
	file.Write("sparse")
}

// tile is the sums that a function keeps in registers: rows x cols pixels of the kernel and groups of 16 channels.
type tile struct {
	rows, cols, groups int
	level.Level
}

// vecs returns the registers of a pixel.
func (t tile) vecs() int { return t.groups * 64 / t.Bytes() }

// field returns a field of the arguments.
func field(args reg.GPVirtual, offset int) Mem { return Mem{Base: args, Disp: offset} }

// load returns a copy of a field of the arguments.
func load(args reg.GPVirtual, offset int) reg.GPVirtual {
	r := GP64()
	MOVQ(field(args, offset), r)
	return r
}

// Offsets in sparseWeightsArgs.
const (
	weightsX, weightsXRow, weightsPixel, weightsValue, weightsAt        = 0, 8, 16, 24, 32
	weightsTail, weightsFirst, weightsRoom, weightsFilters, weightsSums = 40, 48, 56, 64, 72
)

// weights writes the function that goes through the lists of filters with the sums of one filter in registers.
func (t tile) weights() {
	name := fmt.Sprintf("sparseWeights%dx%dx%d%s", t.rows, t.cols, t.groups, t.Name)
	TEXT(name, NOSPLIT, "func(args *sparseWeightsArgs)")
	Doc(fmt.Sprintf("%s adds to %d x %d pixels of kernels and %d channels; see sparseWeightsArgs.", name, t.rows, t.cols, 16*t.groups))
	Pragma("noescape")
	args := Load(Param("args"), GP64()).(reg.GPVirtual)
	x, value, at := load(args, weightsX), load(args, weightsValue), load(args, weightsAt)
	tail, first, filters, sums := load(args, weightsTail), load(args, weightsFirst), load(args, weightsFilters), load(args, weightsSums)
	pixel := load(args, weightsPixel)
	var pixel3, xRow reg.GPVirtual
	if t.cols > 3 {
		pixel3 = GP64()
		LEAQ(Mem{Base: pixel, Index: pixel, Scale: 2}, pixel3)
	}
	if t.rows > 1 {
		xRow = load(args, weightsXRow)
	}
	acc := make([]reg.VecVirtual, t.rows*t.cols*t.vecs())
	for i := range acc {
		acc[i] = t.Vec()
	}
	e, end, p := GP64(), GP64(), GP64()
	Label("filters")
	MOVQ(first, e)
	MOVLQSX(Mem{Base: tail}, end)
	CMPQ(e, end)
	JGE(LabelRef("next"))
	for i, a := range acc {
		VMOVUPS(Mem{Base: sums, Disp: i * t.Bytes()}, a)
	}
	level.Align()
	Label("entries")
	MOVL(Mem{Base: at, Index: e, Scale: 4}, p.As32())
	LEAQ(Mem{Base: x, Index: p, Scale: 4}, p)
	g := t.Vec()
	VBROADCASTSS(Mem{Base: value, Index: e, Scale: 4}, g)
	for ky := range t.rows {
		if ky > 0 {
			ADDQ(xRow, p)
		}
		for kx := range t.cols {
			m := column(p, pixel, pixel3, kx)
			for i := range t.vecs() {
				VFMADD231PS(m.Offset(i*t.Bytes()), g, acc[(ky*t.cols+kx)*t.vecs()+i])
			}
		}
	}
	INCQ(e)
	CMPQ(e, end)
	JLT(LabelRef("entries"))
	for i, a := range acc {
		VMOVUPS(a, Mem{Base: sums, Disp: i * t.Bytes()})
	}
	Label("next")
	ADDQ(U32(uint32(len(acc)*t.Bytes())), sums)
	ADDQ(field(args, weightsRoom), first)
	ADDQ(Imm(4), tail)
	DECQ(filters)
	JNE(LabelRef("filters"))
	VZEROUPPER()
	RET()
}

// Offsets in sparseInputArgs.
const (
	inputDX, inputPixel, inputW, inputValue          = 0, 8, 16, 24
	inputFilter, inputStart, inputPixels, inputFresh = 32, 40, 48, 56
)

// input writes the function that goes along a row of pixels with the sums of the pixels under the kernel in registers.
// Column kx of the
// pixel is in set (pixel + kx) % cols; so there are cols copies of the loop's body.
func (t tile) input() {
	name := fmt.Sprintf("sparseInput%dx%d%s", t.cols, t.groups, t.Name)
	TEXT(name, NOSPLIT, "func(args *sparseInputArgs)")
	Doc(fmt.Sprintf("%s adds rows of %d pixels of kernels to %d channels; see sparseInputArgs.", name, t.cols, 16*t.groups))
	Pragma("noescape")
	args := Load(Param("args"), GP64()).(reg.GPVirtual)
	dx, w, value, filter := load(args, inputDX), load(args, inputW), load(args, inputValue), load(args, inputFilter)
	start, pixels, pixel, isFresh := load(args, inputStart), load(args, inputPixels), load(args, inputPixel), load(args, inputFresh)
	var pixel3 reg.GPVirtual
	if t.cols > 3 {
		pixel3 = GP64()
		LEAQ(Mem{Base: pixel, Index: pixel, Scale: 2}, pixel3)
	}
	acc := make([][]reg.VecVirtual, t.cols)
	for kx := range acc {
		for range t.vecs() {
			acc[kx] = append(acc[kx], t.Vec())
		}
	}
	column := func(kx, i int) Mem { return column(dx, pixel, pixel3, kx).Offset(i * t.Bytes()) }
	begin := func(kx, set int) {
		for i, a := range acc[set] {
			VMOVUPS(column(kx, i), a)
		}
	}
	for _, set := range acc {
		for _, a := range set {
			t.Zero(a)
		}
	}
	TESTQ(isFresh, isFresh)
	JNE(LabelRef("begun"))
	for kx := range t.cols - 1 {
		begin(kx, kx)
	}
	Label("begun")
	e, end, p := GP64(), GP64(), GP64()
	MOVLQSX(Mem{Base: start}, e)
	Label("pixels")
	for phase := range t.cols {
		set := func(kx int) int { return (phase + kx) % t.cols }
		label := func(s string) string { return fmt.Sprintf("%s%d", s, phase) }
		for _, a := range acc[set(t.cols-1)] {
			t.Zero(a)
		}
		TESTQ(isFresh, isFresh)
		JNE(LabelRef(label("fresh")))
		begin(t.cols-1, set(t.cols-1))
		Label(label("fresh"))
		MOVLQSX(Mem{Base: start, Disp: 4}, end)
		CMPQ(e, end)
		JGE(LabelRef(label("done")))
		level.Align()
		Label(label("entries"))
		IMUL3Q(U32(uint32(64*t.groups*t.cols)), filterAt(filter, e, p), p)
		g := t.Vec()
		VBROADCASTSS(Mem{Base: value, Index: e, Scale: 4}, g)
		for kx := range t.cols {
			for i, a := range acc[set(kx)] {
				VFMADD231PS(Mem{Base: w, Index: p, Scale: 1, Disp: 64*t.groups*kx + i*t.Bytes()}, g, a)
			}
		}
		INCQ(e)
		CMPQ(e, end)
		JLT(LabelRef(label("entries")))
		Label(label("done"))
		for i, a := range acc[set(0)] {
			VMOVUPS(a, Mem{Base: dx, Disp: i * t.Bytes()})
		}
		ADDQ(pixel, dx)
		ADDQ(Imm(4), start)
		DECQ(pixels)
		JEQ(LabelRef(label("end")))
	}
	JMP(LabelRef("pixels"))
	for phase := range t.cols {
		Label(fmt.Sprintf("end%d", phase))
		for kx := range t.cols - 1 {
			for i, a := range acc[(phase+1+kx)%t.cols] {
				VMOVUPS(a, column(kx, i))
			}
		}
		JMP(LabelRef("return"))
	}
	Label("return")
	VZEROUPPER()
	RET()
}

// filterAt loads the filter of entry e into p.
func filterAt(filter, e, p reg.GPVirtual) Op {
	MOVL(Mem{Base: filter, Index: e, Scale: 4}, p.As32())
	return p
}

// column returns the address of pixel kx after p.
func column(p, pixel, pixel3 reg.GPVirtual, kx int) Mem {
	m := Mem{Base: p}
	switch kx {
	case 1, 2, 4:
		m.Index, m.Scale = pixel, uint8(kx)
	case 3:
		m.Index, m.Scale = pixel3, 1
	}
	return m
}
