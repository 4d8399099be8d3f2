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
	poolPart, poolRows                                 = 80, 88
	poolNextDst, poolNextIdx, poolNextSrc              = 96, 104, 112
)

// rowsOfWindows repeats what is between start and the call of again, from the pointers of poolArgs on, for each row of
// windows.
func rowsOfWindows(args reg.GPVirtual) (again func()) {
	start, end, next := NewLabel("next"), NewLabel("last"), GP64()
	Label(start)
	return func() {
		DECQ(Mem{Base: args, Disp: poolRows})
		JE(LabelRef(end)) // the pointers stay within what they point to
		for _, p := range [][2]int{{poolDst, poolNextDst}, {poolIdx, poolNextIdx}, {poolSrc, poolNextSrc}} {
			MOVQ(Mem{Base: args, Disp: p[1]}, next)
			ADDQ(next, Mem{Base: args, Disp: p[0]})
		}
		JMP(LabelRef(start))
		Label(end)
	}
}

// window is 16 channels of a few windows that follow one another, inside the loops that windowsOfAnySize makes.
type window struct {
	isa
	n        int            // windows
	at, next reg.GPVirtual  // addresses of a pixel of the first window and of the third
	step     reg.GPVirtual  // bytes from a window to the next
	position reg.VecVirtual // number of the pixel in all lanes
	kx, ky   reg.GPVirtual
	from     reg.GPVirtual // of the row
	args     reg.GPVirtual
}

// third moves next to the third window, if there is one.
func (w window) third() {
	if w.n > 2 {
		LEAQ(Mem{Base: w.at, Index: w.step, Scale: 2}, w.next)
	}
}

// each calls f with the addresses of the pixel in every window, one for each register that holds a part of it.
func (w window) each(f func(number int, m Mem)) {
	for i := range w.n {
		m := Mem{Base: []reg.GPVirtual{w.at, w.next}[i/2]}
		if i%2 == 1 {
			m.Index, m.Scale = w.step, 1
		}
		for k, p := range w.Parts() {
			f(i*len(w.Parts())+k, m.Offset(p))
		}
	}
}

// own calls f with the addresses of what every window has in dst or idx, of which a register holds size bytes, and
// moves first after it.
func (w window) own(first reg.GPVirtual, size int, f func(number int, m Mem)) {
	apart := GP64()
	IMUL3Q(Imm(uint64(size*len(w.Parts()))), Mem{Base: w.args, Disp: poolGroups}, apart)
	for i := range w.n {
		for k := range w.Parts() {
			f(i*len(w.Parts())+k, Mem{Base: first, Disp: k * size})
		}
		ADDQ(apart, first)
	}
}

// registers returns one for each part of the windows.
func (w window) registers() (all []reg.VecVirtual) {
	for range w.n * len(w.Parts()) {
		all = append(all, w.Vec())
	}
	return all
}

// pixels goes through the pixels of the windows, whose rows it takes from their ends if back, so that a pixel meets
// its windows in their
// order; body finds their addresses by each.
func (w window) pixels(back bool, body func()) {
	rows, cols := NewLabel("rows"), NewLabel("cols")
	move, turn := w.Bits(1), w.Zeros()
	VMOVUPS(turn, w.position)
	if back {
		move = w.Bits(1<<32 - 1)
		VPBROADCASTD(Mem{Base: w.args, Disp: poolKW}, turn)
		w.With(VPADDD, VPADDD_BCST, move, turn, w.position)
		VPADDD(turn, turn, turn)
	}
	MOVQ(Mem{Base: w.args, Disp: poolKH}, w.ky)
	Label(rows)
	MOVQ(w.from, w.at)
	MOVQ(Mem{Base: w.args, Disp: poolKW}, w.kx)
	if back {
		last := GP64()
		MOVQ(w.kx, last)
		DECQ(last)
		IMULQ(Mem{Base: w.args, Disp: poolPixel}, last)
		ADDQ(last, w.at)
	}
	Label(cols)
	w.third()
	body()
	w.With(VPADDD, VPADDD_BCST, move, w.position, w.position)
	if back {
		SUBQ(Mem{Base: w.args, Disp: poolPixel}, w.at)
	} else {
		ADDQ(Mem{Base: w.args, Disp: poolPixel}, w.at)
	}
	DECQ(w.kx)
	JNE(LabelRef(cols))
	if back {
		VPADDD(turn, w.position, w.position)
	}
	ADDQ(Mem{Base: w.args, Disp: poolRow}, w.from)
	DECQ(w.ky)
	JNE(LabelRef(rows))
}

// windowsOfAnySize goes through groups of 16 channels, and the windows of each: several at a time, then what is left.
func (v isa) windowsOfAnySize(name, doc string, body func(w window, dst, idx reg.GPVirtual)) {
	v.Text(name, "(args *poolArgs)", doc)
	w := window{isa: v, at: GP64(), next: GP64(), step: GP64(), kx: GP64(), ky: GP64(), from: GP64(), position: v.Vec()}
	w.args = Load(Param("args"), GP64()).(reg.GPVirtual)
	offset, dst, idx, src, windows := GP64(), GP64(), GP64(), GP64(), GP64()
	MOVQ(Mem{Base: w.args, Disp: poolStep}, w.step)
	again := rowsOfWindows(w.args)
	XORQ(offset, offset)
	group := NewLabel("group")
	Label(group)
	MOVQ(offset, idx)
	SHRQ(Imm(2), idx)
	ADDQ(Mem{Base: w.args, Disp: poolIdx}, idx)
	MOVQ(Mem{Base: w.args, Disp: poolDst}, dst)
	ADDQ(offset, dst)
	MOVQ(Mem{Base: w.args, Disp: poolSrc}, src)
	ADDQ(offset, src)
	MOVQ(Mem{Base: w.args, Disp: poolWindows}, windows)
	for _, w.n = range []int{4 / len(v.Parts()), 1} {
		loop, end := NewLabel("windows"), NewLabel("end")
		Label(loop)
		CMPQ(windows, Imm(uint64(w.n)))
		JLT(LabelRef(end))
		MOVQ(src, w.from)
		body(w, dst, idx)
		for range w.n {
			ADDQ(w.step, src)
		}
		SUBQ(Imm(uint64(w.n)), windows)
		JMP(LabelRef(loop))
		Label(end)
	}
	ADDQ(Imm(64), offset)
	size := GP64()
	MOVQ(Mem{Base: w.args, Disp: poolGroups}, size)
	SHLQ(Imm(6), size)
	CMPQ(offset, size)
	JLT(LabelRef(group))
	again()
	v.End()
}

// poolAny writes the pools over windows of any size, and their backward passes.
func poolAny(v isa) {
	v.windowsOfAnySize("poolAny", "computes maxima over windows of any size; see poolArgs.", func(w window, dst, idx reg.GPVirtual) {
		best, at := w.registers(), w.registers()
		MOVQ(w.from, w.at)
		w.third()
		w.each(func(i int, m Mem) {
			VMOVUPS(m, best[i])
			at[i] = v.Zeros()
		})
		w.pixels(false, func() { w.each(func(i int, m Mem) { v.take(v.Load(m), w.position, best[i], at[i]) }) })
		w.own(dst, v.Bytes(), func(i int, m Mem) { VMOVUPS(best[i], m) })
		per := len(v.Parts())
		w.own(idx, v.Bytes()/4, func(i int, m Mem) {
			if i%per == 0 {
				v.storeBytes(at[i:][:per], m)
			}
		})
	})
	v.windowsOfAnySize("poolAnyBackward", "adds gradients to the pixels of windows of any size that had the maxima; see poolArgs.", func(w window, dst, idx reg.GPVirtual) {
		d, at := w.registers(), w.registers()
		w.own(dst, v.Bytes(), func(i int, m Mem) { VMOVUPS(m, d[i]) })
		w.own(idx, v.Bytes()/4, func(i int, m Mem) { VPMOVZXBD(m, at[i]) })
		w.pixels(true, func() { w.each(func(i int, m Mem) { v.give(d[i], w.position, at[i], m) }) })
	})
	v.windowsOfAnySize("poolMean", "computes sums over windows of any size, each times part; see poolArgs.", func(w window, dst, _ reg.GPVirtual) {
		sums, part := w.registers(), v.Vec()
		for i := range sums {
			sums[i] = v.Zeros()
		}
		w.pixels(false, func() { w.each(func(i int, m Mem) { VADDPS(m, sums[i], sums[i]) }) })
		VBROADCASTSS(Mem{Base: w.args, Disp: poolPart}, part)
		w.own(dst, v.Bytes(), func(i int, m Mem) {
			VMULPS(part, sums[i], sums[i])
			VMOVUPS(sums[i], m)
		})
	})
	v.windowsOfAnySize("poolMeanBackward", "adds gradients, times part, to all pixels of windows of any size; see poolArgs.", func(w window, dst, _ reg.GPVirtual) {
		d, part := w.registers(), v.Vec()
		VBROADCASTSS(Mem{Base: w.args, Disp: poolPart}, part)
		w.own(dst, v.Bytes(), func(i int, m Mem) { VMOVUPS(m, d[i]) })
		w.pixels(true, func() {
			w.each(func(i int, m Mem) {
				x := v.Load(m)
				VFMADD231PS(part, d[i], x)
				VMOVUPS(x, m)
			})
		})
	})
}

// threes writes the backward passes over windows of three columns that are a pixel apart. A row of the windows at a
// time, three pixels are in
// registers, and each is read and written once. give adds what the window in front has for the pixels that it covers,
// from left to right.
func (v isa) threes(name, doc string, prepare func(args reg.GPVirtual) (give func(dst, idx Mem, pixels [3][]reg.VecVirtual, ky reg.GPVirtual))) {
	v.Text(name, "(args *poolArgs)", doc)
	args := Load(Param("args"), GP64()).(reg.GPVirtual)
	load := func(at int, to reg.GPVirtual) { MOVQ(Mem{Base: args, Disp: at}, to) }
	offset, from, at, dst, idx, windows, ky, size, pixel := GP64(), GP64(), GP64(), GP64(), GP64(), GP64(), GP64(), GP64(), GP64()
	give := prepare(args)
	load(poolPixel, pixel)
	again := rowsOfWindows(args)
	XORQ(offset, offset)
	group, row, window := NewLabel("group"), NewLabel("row"), NewLabel("window")
	Label(group)
	load(poolSrc, from)
	ADDQ(offset, from)
	XORQ(ky, ky)
	Label(row)
	load(poolDst, dst)
	ADDQ(offset, dst)
	MOVQ(offset, idx)
	SHRQ(Imm(2), idx)
	ADDQ(Mem{Base: args, Disp: poolIdx}, idx)
	load(poolGroups, size)
	SHLQ(Imm(4), size)
	load(poolWindows, windows)
	MOVQ(from, at)
	var pixels [3][]reg.VecVirtual
	for k := range pixels {
		for range v.Parts() {
			pixels[k] = append(pixels[k], v.Vec())
		}
	}
	place := func(k int) Mem {
		if k == 0 {
			return Mem{Base: at}
		}
		return Mem{Base: at, Index: pixel, Scale: uint8(k)}
	}
	move := func(k int, f func(m Mem, x reg.VecVirtual)) {
		for i, p := range v.Parts() {
			f(place(k).Offset(p), pixels[k][i])
		}
	}
	get := func(m Mem, x reg.VecVirtual) { VMOVUPS(m, x) }
	put := func(m Mem, x reg.VecVirtual) { VMOVUPS(x, m) }
	move(0, get)
	move(1, get)
	Label(window)
	move(2, get)
	give(Mem{Base: dst}, Mem{Base: idx}, pixels, ky)
	move(0, put)
	for k := range 2 {
		for i := range v.Parts() {
			VMOVAPS(pixels[k+1][i], pixels[k][i])
		}
	}
	ADDQ(pixel, at)
	ADDQ(size, idx)
	LEAQ(Mem{Base: dst, Index: size, Scale: 4}, dst)
	DECQ(windows)
	JNE(LabelRef(window))
	move(0, put)
	move(1, put)
	ADDQ(Mem{Base: args, Disp: poolRow}, from)
	INCQ(ky)
	CMPQ(ky, Mem{Base: args, Disp: poolKH})
	JNE(LabelRef(row))
	ADDQ(Imm(64), offset)
	SHLQ(Imm(2), size)
	CMPQ(offset, size)
	JLT(LabelRef(group))
	again()
	v.End()
}

// poolThree writes both backward passes over windows of three columns.
func poolThree(v isa) {
	v.threes("poolThreeBackward", "does what poolAnyBackward does, for windows of three columns that are a pixel apart.", func(reg.GPVirtual) func(dst, idx Mem, pixels [3][]reg.VecVirtual, ky reg.GPVirtual) {
		position := v.positions()
		return func(dst, idx Mem, pixels [3][]reg.VecVirtual, ky reg.GPVirtual) {
			number, low, first := GP64(), XMM(), v.Vec()
			LEAQ(Mem{Base: ky, Index: ky, Scale: 2}, number)
			VMOVD(number.As32(), low)
			VPBROADCASTD(low, first)
			for i, p := range v.Parts() {
				d, at := v.Load(dst.Offset(p)), v.Vec()
				VPMOVZXBD(idx.Offset(8*i), at)
				VPSUBD(first, at, at)
				for k := range pixels {
					x := pixels[k][i]
					if v.Wide {
						here := K()
						VPCMPEQD(position[k], at, here)
						VADDPS(d, x, here, x)
						continue
					}
					part := v.Vec()
					VPCMPEQD(position[k], at, part)
					VANDPS(d, part, part)
					VADDPS(part, x, x)
				}
			}
		}
	})
	v.threes("poolMeanThreeBackward", "does what poolMeanBackward does, for windows of three columns that are a pixel apart.", func(args reg.GPVirtual) func(dst, idx Mem, pixels [3][]reg.VecVirtual, ky reg.GPVirtual) {
		part := v.Vec()
		VBROADCASTSS(Mem{Base: args, Disp: poolPart}, part)
		return func(dst, _ Mem, pixels [3][]reg.VecVirtual, _ reg.GPVirtual) {
			for i, p := range v.Parts() {
				d := v.Load(dst.Offset(p))
				for k := range pixels {
					VFMADD231PS(part, d, pixels[k][i])
				}
			}
		}
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
