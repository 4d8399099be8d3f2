package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"

	. "github.com/fedfast/fedfast/kernels/_asm/level"
)

// Offsets in poolArgs.
const (
	poolDst, poolIdx, poolSrc, poolWindows, poolGroups = 0, 8, 16, 24, 32
	poolKH, poolKW, poolRow, poolPixel, poolStep       = 40, 48, 56, 64, 72
)

// window is 16 channels of one window of a max-pool of any size, inside the loops that windowsOfAnySize makes.
type window struct {
	isa
	at       reg.GPVirtual // address of a pixel
	position []reg.VecVirtual
	kx, ky   reg.GPVirtual
	from     reg.GPVirtual // of the row
	args     reg.GPVirtual
}

// pixels goes through the pixels of the window; body finds their address in at and their number in the lanes of position.
func (w window) pixels(body func()) {
	rows, cols := NewLabel("rows"), NewLabel("cols")
	for _, p := range w.position {
		if w.Wide {
			VPXORD(p, p, p)
		} else {
			VPXOR(p, p, p)
		}
	}
	MOVQ(Mem{Base: w.args, Disp: poolKH}, w.ky)
	Label(rows)
	MOVQ(w.from, w.at)
	MOVQ(Mem{Base: w.args, Disp: poolKW}, w.kx)
	Label(cols)
	body()
	for _, p := range w.position {
		w.With(VPADDD, VPADDD_BCST, w.Bits(1), p, p)
	}
	ADDQ(Mem{Base: w.args, Disp: poolPixel}, w.at)
	DECQ(w.kx)
	JNE(LabelRef(cols))
	ADDQ(Mem{Base: w.args, Disp: poolRow}, w.from)
	DECQ(w.ky)
	JNE(LabelRef(rows))
}

// windowsOfAnySize goes through windows and groups of 16 channels.
func (v isa) windowsOfAnySize(name, doc string, body func(w window, dst, idx reg.GPVirtual)) {
	v.Text(name, "(args *poolArgs)", doc)
	w := window{isa: v, at: GP64(), kx: GP64(), ky: GP64(), from: GP64()}
	for range v.Parts() {
		w.position = append(w.position, v.Vec())
	}
	w.args = Load(Param("args"), GP64()).(reg.GPVirtual)
	load := func(offset int) reg.GPVirtual {
		r := GP64()
		MOVQ(Mem{Base: w.args, Disp: offset}, r)
		return r
	}
	dst, idx, src, windows := load(poolDst), load(poolIdx), load(poolSrc), load(poolWindows)
	channels, groups := GP64(), GP64()
	each, inside := NewLabel("windows"), NewLabel("groups")
	Label(each)
	MOVQ(src, channels)
	MOVQ(Mem{Base: w.args, Disp: poolGroups}, groups)
	Label(inside)
	MOVQ(channels, w.from)
	body(w, dst, idx)
	ADDQ(Imm(64), dst)
	ADDQ(Imm(16), idx)
	ADDQ(Imm(64), channels)
	DECQ(groups)
	JNE(LabelRef(inside))
	ADDQ(Mem{Base: w.args, Disp: poolStep}, src)
	DECQ(windows)
	JNE(LabelRef(each))
	v.End()
}

// poolAny writes the max-pool over windows of any size, and its backward pass.
func poolAny(v isa) {
	v.windowsOfAnySize("poolAny", "computes maxima over windows of any size; see poolArgs.", func(w window, dst, idx reg.GPVirtual) {
		var best, at []reg.VecVirtual
		for _, p := range v.Parts() {
			best, at = append(best, v.Load(Mem{Base: w.from, Disp: p})), append(at, v.Zeros())
		}
		w.pixels(func() {
			for i, p := range v.Parts() {
				v.take(v.Load(Mem{Base: w.at, Disp: p}), w.position[i], best[i], at[i])
			}
		})
		for i, p := range v.Parts() {
			VMOVUPS(best[i], Mem{Base: dst, Disp: p})
		}
		v.storeBytes(at, Mem{Base: idx})
	})
	v.windowsOfAnySize("poolAnyBackward", "adds gradients to the pixels of windows of any size that had the maxima; see poolArgs.", func(w window, dst, idx reg.GPVirtual) {
		var d, at []reg.VecVirtual
		for i, p := range v.Parts() {
			at = append(at, v.Vec())
			d = append(d, v.Load(Mem{Base: dst, Disp: p}))
			VPMOVZXBD(Mem{Base: idx, Disp: 8 * i}, at[i])
		}
		w.pixels(func() {
			for i, p := range v.Parts() {
				v.give(d[i], w.position[i], at[i], Mem{Base: w.at, Disp: p})
			}
		})
	})
}

// take replaces the best values so far, and their positions, by those of x that are greater or NaN.
func (v isa) take(x, position, best, at reg.VecVirtual) {
	if v.Wide {
		stays := K()
		VCMPPS(Imm(CmpOrdered), x, x, stays)
		VCMPPS(Imm(CmpNotGreater), best, x, stays, stays)
		VBLENDMPS(best, x, stays, best)
		VPBLENDMD(at, position, stays, at)
		return
	}
	greater, nan := YMM(), YMM()
	VCMPPS(Imm(CmpGreater), best, x, greater)
	VCMPPS(Imm(CmpUnordered), x, x, nan)
	VORPS(nan, greater, greater)
	VBLENDVPS(greater, x, best, best)
	VBLENDVPS(greater, position, at, at)
}

// give adds the gradients d to m where the positions at are position.
func (v isa) give(d, position, at reg.VecVirtual, m Mem) {
	x := v.Vec()
	if v.Wide {
		here := K()
		VPCMPEQD(position, at, here)
		VMOVAPS_Z(d, here, x)
	} else {
		VPCMPEQD(position, at, x)
		VANDPS(d, x, x)
	}
	VADDPS(m, x, x)
	VMOVUPS(x, m)
}

// storeBytes stores the low bytes of 16 lanes.
func (v isa) storeBytes(lanes []reg.VecVirtual, m Mem) {
	if v.Wide {
		VPMOVDB(lanes[0], m)
		return
	}
	words, high := lanes[0], XMM()
	VPACKSSDW(lanes[1], words, words) // words 0-3, 8-11 | 4-7, 12-15
	VPERMQ(Imm(0b11_01_10_00), words, words)
	VEXTRACTI128(Imm(1), words, high)
	VPACKUSWB(high, words.AsX(), high)
	VMOVDQU(high, m)
}
