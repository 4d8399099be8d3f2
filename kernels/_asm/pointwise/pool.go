package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"

	. "github.com/fedfast/fedfast/kernels/_asm/level"
)

const poolSignature = "(dst []float32, idx []uint8, top, bottom []float32, c int)"

func pool(v isa) {
	v.Text("pool2x2", poolSignature, "computes a row of maxima over windows of 2 x 2.")
	position := v.positions()
	v.windows(func(dst, idx Mem, window [4]Mem) {
		var halves []reg.VecVirtual
		for _, p := range v.Parts() {
			best, at := v.Load(window[0].Offset(p)), v.Zeros()
			for k := 1; k < 4; k++ {
				v.take(v.Load(window[k].Offset(p)), position[k], best, at)
			}
			VMOVUPS(best, dst.Offset(p))
			halves = append(halves, at)
		}
		v.storeBytes(halves, idx)
	})
	v.End()

	v.Text("pool2x2Backward", poolSignature, "adds a row of gradients to the pixels that had the maxima.")
	position = v.positions()
	v.windows(func(dst, idx Mem, window [4]Mem) {
		for i, p := range v.Parts() {
			at, d := v.Vec(), v.Load(dst.Offset(p))
			VPMOVZXBD(idx.Offset(8*i), at)
			for k, m := range window {
				v.give(d, position[k], at, m.Offset(p))
			}
		}
	})
	v.End()
}

// positions returns registers that hold the numbers of the pixels in a window.
func (v isa) positions() (p [4]reg.VecVirtual) {
	for k := range p {
		p[k] = v.Vec()
		VPBROADCASTD(v.Bits(uint32(k)), p[k])
	}
	return p
}

// windows goes through the outputs of one row, 16 channels at a time.
func (v isa) windows(body func(dst, idx Mem, window [4]Mem)) {
	dst, idx, top, bottom := base("dst"), base("idx"), base("top"), base("bottom")
	n := length("dst")
	c := Load(Param("c"), GP64())
	channel := GP64()
	pixels, channels := NewLabel("pixels"), NewLabel("channels")
	SHLQ(Imm(2), c)
	Label(pixels)
	MOVQ(c, channel)
	Label(channels)
	body(Mem{Base: dst}, Mem{Base: idx}, [4]Mem{
		{Base: top},
		{Base: top, Index: c, Scale: 1},
		{Base: bottom},
		{Base: bottom, Index: c, Scale: 1},
	})
	ADDQ(Imm(64), dst)
	ADDQ(Imm(16), idx)
	ADDQ(Imm(64), top)
	ADDQ(Imm(64), bottom)
	SUBQ(Imm(16), n)
	SUBQ(Imm(64), channel)
	JNE(LabelRef(channels))
	ADDQ(c, top) // past the right half of the window
	ADDQ(c, bottom)
	TESTQ(n, n)
	JNE(LabelRef(pixels))
}
