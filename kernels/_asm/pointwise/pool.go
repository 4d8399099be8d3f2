package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

const poolSignature = "(dst []float32, idx []uint8, top, bottom []float32, c int)"

func pool(v isa) {
	v.text("pool2x2", poolSignature, "computes a row of maxima over windows of 2 x 2.")
	position := v.positions()
	v.windows(func(dst, idx Mem, window [4]Mem) {
		var halves []reg.VecVirtual
		for _, p := range v.parts() {
			best, at := v.load(window[0].Offset(p)), v.zeros()
			for k := 1; k < 4; k++ {
				x := v.load(window[k].Offset(p))
				if v.wide {
					greater, nan := K(), K()
					VCMPPS(Imm(cmpGreater), best, x, greater)
					VCMPPS(Imm(cmpUnordered), x, x, nan)
					KORW(greater, nan, greater)
					VMOVAPS(x, greater, best)
					VMOVDQA32(position[k], greater, at)
				} else {
					greater, nan := YMM(), YMM()
					VCMPPS(Imm(cmpGreater), best, x, greater)
					VCMPPS(Imm(cmpUnordered), x, x, nan)
					VORPS(nan, greater, greater)
					VBLENDVPS(greater, x, best, best)
					VBLENDVPS(greater, position[k], at, at)
				}
			}
			VMOVUPS(best, dst.Offset(p))
			halves = append(halves, at)
		}
		if v.wide {
			VPMOVDB(halves[0], idx)
			return
		}
		words, high := halves[0], XMM()
		VPACKSSDW(halves[1], words, words) // words 0-3, 8-11 | 4-7, 12-15
		VPERMQ(Imm(0b11_01_10_00), words, words)
		VEXTRACTI128(Imm(1), words, high)
		VPACKUSWB(high, words.AsX(), high)
		VMOVDQU(high, idx)
	})
	v.end()

	v.text("pool2x2Backward", poolSignature, "adds a row of gradients to the pixels that had the maxima.")
	position = v.positions()
	v.windows(func(dst, idx Mem, window [4]Mem) {
		for i, p := range v.parts() {
			at, d := v.vec(), v.load(dst.Offset(p))
			VPMOVZXBD(idx.Offset(8*i), at)
			for k, m := range window {
				x := v.vec()
				if v.wide {
					here := K()
					VPCMPEQD(position[k], at, here)
					VMOVAPS_Z(d, here, x)
				} else {
					VPCMPEQD(position[k], at, x)
					VANDPS(d, x, x)
				}
				VADDPS(m.Offset(p), x, x)
				VMOVUPS(x, m.Offset(p))
			}
		}
	})
	v.end()
}

// positions returns registers that hold the numbers of the pixels in a window.
func (v isa) positions() (p [4]reg.VecVirtual) {
	for k := range p {
		p[k] = v.vec()
		VPBROADCASTD(bits(uint32(k)), p[k])
	}
	return p
}

// windows goes through the outputs of one row, 16 channels at a time.
func (v isa) windows(body func(dst, idx Mem, window [4]Mem)) {
	dst, idx, top, bottom := base("dst"), base("idx"), base("top"), base("bottom")
	n := length("dst")
	c := Load(Param("c"), GP64())
	channel := GP64()
	pixels, channels := label("pixels"), label("channels")
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
