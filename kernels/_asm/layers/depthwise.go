package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"

	. "github.com/fedfast/fedfast/kernels/_asm/level"
)

// tile is how many neighbouring pixels share the weights of runs of taps, if run is above 0, in registers: as many as
// hide the latency of sums.
func (v isa) tile(run int) int {
	if v.half && run > 0 {
		return 8
	}
	return 4
}

func depthwise(v isa) {
	v.channelRow("", 0)
	for _, run := range []int{3, 5} {
		v.channelRow(numbers[run], run)
	}
	for _, n := range []int{1, 3, 5} {
		v.channelWeights(n)
	}
}

var numbers = map[int]string{1: "One", 3: "Three", 5: "Five"}

// channelRow goes through rows, and in each through tiles of pixels and then pixel by pixel; with runs of taps, if run
// is above 0, through whole tiles only. A
// block of channels is one register.
func (v isa) channelRow(name string, run int) {
	v.Text("channelRow"+name+v.blockName(), "(y, x, w, bias *float32, taps *channelTap, count, pixels, channels, yStep, xStep, rows, yNext, xNext int)",
		"computes rows of pixels of a convolution by channel.")
	y, x, xStep := Integer("y"), Integer("x"), Integer("xStep")
	wide := GP64() // three steps of x
	if run == 0 {
		LEAQ(Mem{Base: xStep, Index: xStep, Scale: 2}, wide)
	}
	Label("row")
	w, bias, channels := Integer("w"), Integer("bias"), v.blocks()
	Label("channel")
	to, from, pixels := GP64(), GP64(), Integer("pixels")
	MOVQ(y, to)
	MOVQ(x, from)
	tile := v.tile(run)
	SUBQ(Imm(uint64(tile)), pixels)
	if run == 0 {
		JLT(LabelRef("rest"))
	}
	Label("tile")
	if run > 0 {
		v.runs(run, to, from, w, bias, xStep)
	} else {
		v.pixels(tile, to, from, w, bias, xStep, wide)
	}
	LEAQ(Mem{Base: from, Index: xStep, Scale: uint8(tile)}, from)
	SUBQ(Imm(uint64(tile)), pixels)
	JGE(LabelRef("tile"))
	if run == 0 {
		Label("rest")
		ADDQ(Imm(uint64(tile)), pixels)
		JEQ(LabelRef("next"))
		Label("pixel")
		v.pixels(1, to, from, w, bias, xStep, wide)
		ADDQ(xStep, from)
		DECQ(pixels)
		JNE(LabelRef("pixel"))
		Label("next")
	}
	for _, p := range []reg.GPVirtual{y, x, w, bias} {
		ADDQ(Imm(uint64(v.block())), p)
	}
	DECQ(channels)
	JNE(LabelRef("channel"))
	ADDQ(Address("yNext"), y)
	ADDQ(Address("xNext"), x)
	DECQ(Address("rows")) // where it is: registers are short
	JNE(LabelRef("row"))
	v.End()
}

// blockName is what a function's name says of its blocks.
func (v isa) blockName() string {
	if v.half {
		return "Half"
	}
	return ""
}

// block returns the bytes of a block.
func (v isa) block() int {
	if v.half {
		return 64
	}
	return v.Bytes()
}

// blocks returns the number of registers that the channels fill.
func (v isa) blocks() reg.GPVirtual {
	n := Integer("channels")
	if !v.Wide && !v.half {
		SHLQ(Imm(1), n)
	}
	return n
}

// runs computes a tile of neighbouring pixels of a block of channels, and moves to on. A run of taps reads neighbours,
// each of them
// once for all pixels of the tile.
func (v isa) runs(run int, to, from, w, bias, xStep reg.GPVirtual) {
	tile := v.tile(run)
	sums := make([]reg.VecVirtual, tile)
	for i := range sums {
		sums[i] = v.Load(Mem{Base: bias})
	}
	taps, count, at, place := Integer("taps"), Integer("count"), GP64(), GP64()
	loop := NewLabel("tap")
	Label(loop)
	MOVQ(Mem{Base: taps}, at)
	ADDQ(from, at)
	weights := make([]reg.VecVirtual, run)
	for t := range weights {
		MOVQ(Mem{Base: taps, Disp: 16*t + 8}, place)
		weights[t] = v.Load(Mem{Base: w, Index: place, Scale: 1})
	}
	for j := range tile + run - 1 {
		value := v.Load(Mem{Base: at})
		for t, weight := range weights {
			if i := j - t; i >= 0 && i < tile {
				VADDPS(v.Product(weight, value), sums[i], sums[i])
			}
		}
		ADDQ(xStep, at)
	}
	ADDQ(U8(16*run), taps)
	SUBQ(Imm(uint64(run)), count)
	JNE(LabelRef(loop))
	v.store(sums, to)
}

// store writes pixels and moves to on.
func (v isa) store(sums []reg.VecVirtual, to reg.GPVirtual) {
	yStep := Integer("yStep")
	for _, s := range sums {
		v.save(s, Mem{Base: to})
		ADDQ(yStep, to)
	}
}

// pixels computes n neighbouring pixels of a block of channels and moves to on.
func (v isa) pixels(n int, to, from, w, bias, xStep, wide reg.GPVirtual) {
	sums := make([]reg.VecVirtual, n)
	for i := range sums {
		sums[i] = v.Load(Mem{Base: bias})
	}
	taps, count, at, weights := Integer("taps"), Integer("count"), GP64(), GP64()
	loop := NewLabel("tap")
	Label(loop)
	MOVQ(Mem{Base: taps}, at)
	ADDQ(from, at)
	MOVQ(Mem{Base: taps, Disp: 8}, weights)
	ADDQ(Imm(16), taps)
	weight := v.Load(Mem{Base: w, Index: weights, Scale: 1})
	for i := range sums {
		VADDPS(v.Product(weight, steps(at, xStep, wide, i)), sums[i], sums[i])
	}
	DECQ(count)
	JNE(LabelRef(loop))
	v.store(sums, to)
}

// steps returns the place i steps after p, i at most 4; three is three of them.
func steps(p, step, three reg.GPVirtual, i int) Mem {
	m := Mem{Base: p}
	switch i {
	case 1, 2, 4:
		m.Index, m.Scale = step, uint8(i)
	case 3:
		m.Index, m.Scale = three, 1
	}
	return m
}

// channelWeights writes the function that adds to the gradient of n weights of each channel.
func (v isa) channelWeights(n int) {
	v.Text("channelWeights"+numbers[n]+v.blockName(), "(gw, x, dy *float32, xTap, wTap, rows, pixels, channels, xStep, yStep, xNext, yNext, images, xImage, yImage int)",
		"adds to the gradients of neighbouring weights of a convolution by channel.")
	gw, x, dy := Integer("gw"), Integer("x"), Integer("dy")
	xTap, xStep, yStep := Integer("xTap"), Integer("xStep"), Integer("yStep")
	channels, wide := v.blocks(), GP64()
	LEAQ(Mem{Base: xTap, Index: xTap, Scale: 2}, wide)
	Label("channel")
	at, wTap := GP64(), Integer("wTap")
	MOVQ(gw, at)
	sums := make([]reg.VecVirtual, n)
	for i := range sums {
		sums[i] = v.Load(Mem{Base: at})
		ADDQ(wTap, at)
	}
	from, g, images, rows := GP64(), GP64(), Integer("images"), GP64()
	MOVQ(x, from)
	MOVQ(dy, g)
	Label("image")
	Load(Param("rows"), rows)
	Label("row")
	pixels := Integer("pixels")
	Label("pixel")
	d := v.Load(Mem{Base: g})
	for i := range sums {
		VADDPS(v.Product(d, steps(from, xTap, wide, i)), sums[i], sums[i])
	}
	ADDQ(xStep, from)
	ADDQ(yStep, g)
	DECQ(pixels)
	JNE(LabelRef("pixel"))
	v.skip(from, g, "Next")
	DECQ(rows)
	JNE(LabelRef("row"))
	v.skip(from, g, "Image")
	DECQ(images)
	JNE(LabelRef("image"))
	MOVQ(gw, at)
	wTap = Integer("wTap")
	for i := range sums {
		v.save(sums[i], Mem{Base: at})
		ADDQ(wTap, at)
	}
	for _, p := range []reg.GPVirtual{gw, x, dy} {
		ADDQ(Imm(uint64(v.Bytes())), p)
	}
	DECQ(channels)
	JNE(LabelRef("channel"))
	v.End()
}

// skip moves to the next row or image.
func (v isa) skip(x, y reg.GPVirtual, name string) {
	ADDQ(Integer("x"+name), x)
	ADDQ(Integer("y"+name), y)
}
