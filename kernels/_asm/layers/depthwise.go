package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"

	. "github.com/fedfast/fedfast/kernels/_asm/level"
)

// tile is how many neighbouring pixels share the weights in registers.
const tile = 4

func depthwise(v isa) {
	v.Text("channelRow", "(y, x, w, bias *float32, taps *channelTap, count, pixels, channels, yStep, xStep int)",
		"computes a row of pixels of a convolution by channel.")
	y, x, w, bias := Integer("y"), Integer("x"), Integer("w"), Integer("bias")
	xStep, channels := Integer("xStep"), Integer("channels")
	wide := GP64() // three steps of x
	LEAQ(Mem{Base: xStep, Index: xStep, Scale: 2}, wide)
	Label("channel")
	to, from, pixels := GP64(), GP64(), Integer("pixels")
	MOVQ(y, to)
	MOVQ(x, from)
	SUBQ(Imm(tile), pixels)
	JLT(LabelRef("rest"))
	Label("tile")
	v.pixels(tile, to, from, w, bias, xStep, wide)
	LEAQ(Mem{Base: from, Index: xStep, Scale: 4}, from)
	SUBQ(Imm(tile), pixels)
	JGE(LabelRef("tile"))
	Label("rest")
	ADDQ(Imm(tile), pixels)
	JEQ(LabelRef("next"))
	Label("pixel")
	v.pixels(1, to, from, w, bias, xStep, wide)
	ADDQ(xStep, from)
	DECQ(pixels)
	JNE(LabelRef("pixel"))
	Label("next")
	for _, p := range []reg.GPVirtual{y, x, w, bias} {
		ADDQ(Imm(64), p)
	}
	DECQ(channels)
	JNE(LabelRef("channel"))
	v.End()

	for _, n := range []int{1, 3, 5} {
		v.channelWeights(n)
	}
}

// pixels computes n neighbouring pixels of 16 channels and moves to on.
func (v isa) pixels(n int, to, from, w, bias, xStep, wide reg.GPVirtual) {
	sums := make([][]reg.VecVirtual, n)
	for i := range sums {
		for _, part := range v.Parts() {
			sums[i] = append(sums[i], v.Load(Mem{Base: bias, Disp: part}))
		}
	}
	taps, count, at, weights := Integer("taps"), Integer("count"), GP64(), GP64()
	loop := NewLabel("tap")
	Label(loop)
	MOVQ(Mem{Base: taps}, at)
	ADDQ(from, at)
	MOVQ(Mem{Base: taps, Disp: 8}, weights)
	ADDQ(w, weights)
	ADDQ(Imm(16), taps)
	for k, part := range v.Parts() {
		weight := v.Load(Mem{Base: weights, Disp: part})
		for i := range sums {
			source := Mem{Base: at, Disp: part}
			switch i {
			case 1, 2:
				source.Index, source.Scale = xStep, uint8(i)
			case 3:
				source.Index, source.Scale = wide, 1
			}
			VADDPS(v.product(weight, source), sums[i][k], sums[i][k])
		}
	}
	DECQ(count)
	JNE(LabelRef(loop))
	yStep := Integer("yStep")
	for i := range sums {
		for k, part := range v.Parts() {
			VMOVUPS(sums[i][k], Mem{Base: to, Disp: part})
		}
		ADDQ(yStep, to)
	}
}

// channelWeights writes the function that adds to the gradient of n weights of each channel.
func (v isa) channelWeights(n int) {
	name := map[int]string{1: "One", 3: "Three", 5: "Five"}[n]
	v.Text("channelWeights"+name, "(gw, x, dy *float32, xTap, wTap, rows, pixels, channels, xStep, yStep, xNext, yNext, images, xImage, yImage int)",
		"adds to the gradients of neighbouring weights of a convolution by channel.")
	gw, x, dy := Integer("gw"), Integer("x"), Integer("dy")
	xTap, xStep, yStep := Integer("xTap"), Integer("xStep"), Integer("yStep")
	channels, wide := Integer("channels"), GP64()
	LEAQ(Mem{Base: xTap, Index: xTap, Scale: 2}, wide)
	Label("channel")
	for _, part := range v.Parts() {
		at, wTap := GP64(), Integer("wTap")
		MOVQ(gw, at)
		sums := make([]reg.VecVirtual, n)
		for i := range sums {
			sums[i] = v.Load(Mem{Base: at, Disp: part})
			ADDQ(wTap, at)
		}
		from, g, images, rows := GP64(), GP64(), Integer("images"), GP64()
		MOVQ(x, from)
		MOVQ(dy, g)
		image, row, pixel := NewLabel("image"), NewLabel("row"), NewLabel("pixel")
		Label(image)
		Load(Param("rows"), rows)
		Label(row)
		pixels := Integer("pixels")
		Label(pixel)
		d := v.Load(Mem{Base: g, Disp: part})
		for i := range sums {
			source := Mem{Base: from, Disp: part}
			switch i {
			case 1, 2, 4:
				source.Index, source.Scale = xTap, uint8(i)
			case 3:
				source.Index, source.Scale = wide, 1
			}
			VADDPS(v.product(d, source), sums[i], sums[i])
		}
		ADDQ(xStep, from)
		ADDQ(yStep, g)
		DECQ(pixels)
		JNE(LabelRef(pixel))
		skip := Integer("xNext")
		ADDQ(skip, from)
		skip = Integer("yNext")
		ADDQ(skip, g)
		DECQ(rows)
		JNE(LabelRef(row))
		skip = Integer("xImage")
		ADDQ(skip, from)
		skip = Integer("yImage")
		ADDQ(skip, g)
		DECQ(images)
		JNE(LabelRef(image))
		MOVQ(gw, at)
		wTap = Integer("wTap")
		for i := range sums {
			VMOVUPS(sums[i], Mem{Base: at, Disp: part})
			ADDQ(wTap, at)
		}
	}
	for _, p := range []reg.GPVirtual{gw, x, dy} {
		ADDQ(Imm(64), p)
	}
	DECQ(channels)
	JNE(LabelRef("channel"))
	v.End()
}
