package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"

	. "github.com/fedfast/fedfast/kernels/_asm/level"
)

// gate returns the address of a span's gates; a gate's 16 floats stand together, and those of 16 units take 64 floats.
func (s span) gate(base reg.Register, gate int) Mem {
	return Mem{Base: base, Index: s.index, Scale: 4, Disp: 64*gate + s.part}
}

func lstm(v isa) {
	v.Text("lstmForward", "(gates, cPrev, c, tanhC, h []float32)", "computes a row of LSTM cells.")
	gates, cPrev, c, tanhC, h := base("gates"), base("cPrev"), base("c"), base("tanhC"), base("h")
	n, prev := length("c"), length("cPrev")
	v.HoldExp(sigmoidLow, sigmoidHigh, tanhHigh, 1, 2)
	cells := func(first bool) {
		v.each(n, true, func(s span) {
			in := v.sigmoid(v.Load(s.gate(gates, 0)))
			VMOVUPS(in, s.gate(gates, 0))
			candidate := v.tanh(v.Load(s.gate(gates, 2)))
			VMOVUPS(candidate, s.gate(gates, 2))
			cell := in
			VMULPS(candidate, in, cell)
			forget := v.sigmoid(v.Load(s.gate(gates, 1)))
			VMOVUPS(forget, s.gate(gates, 1))
			if !first {
				VFMADD231PS(s.at(cPrev), forget, cell)
			}
			s.put(cell, c)
			out := v.sigmoid(v.Load(s.gate(gates, 3)))
			VMOVUPS(out, s.gate(gates, 3))
			if s.number == len(v.Parts())-1 { // the index moves on by 16, gates by 64
				ADDQ(U32(3*64), gates)
			}
		})
	}
	start, outputs := NewLabel("start"), NewLabel("outputs")
	TESTQ(prev, prev)
	JEQ(LabelRef(start))
	cells(false)
	JMP(LabelRef(outputs))
	Label(start)
	cells(true)
	// In a loop of its own, tanh(c) does not hold up the gates of the next units.
	Label(outputs)
	Load(Param("gates").Base(), gates)
	Load(Param("c").Len(), n)
	v.each(n, true, func(s span) {
		t := v.tanh(s.get(c))
		s.put(t, tanhC)
		VMULPS(s.gate(gates, 3), t, t)
		s.put(t, h)
		if s.number == len(v.Parts())-1 {
			ADDQ(U32(3*64), gates)
		}
	})
	v.End()

	v.Text("lstmBackward", "(dGates, gates, cPrev, tanhC, dh, dc []float32)", "computes the gradients of a row of LSTM cells.")
	dGates, gates, cPrev, tanhC, dh, dc := base("dGates"), base("gates"), base("cPrev"), base("tanhC"), base("dh"), base("dc")
	n, prev = length("dc"), length("cPrev")
	back := func(first bool) {
		v.each(n, true, func(s span) {
			one := v.Number(1)
			i, f := v.Load(s.gate(gates, 0)), v.Load(s.gate(gates, 1))
			g, o := v.Load(s.gate(gates, 2)), v.Load(s.gate(gates, 3))
			t, d := s.get(tanhC), s.get(dh)

			out := v.copied(o)
			VFNMADD231PS(o, o, out) // o - o²
			slope := v.Vec()
			VMULPS(t, d, slope)
			VMULPS(out, slope, out)
			VMOVUPS(out, s.gate(dGates, 3))

			VMULPS(o, d, d)
			slope = v.copied(one)
			VFNMADD231PS(t, t, slope) // 1 - t²
			VFMADD213PS(s.at(dc), slope, d)

			in := v.copied(i)
			VFNMADD231PS(i, i, in)
			VMULPS(g, d, t)
			VMULPS(in, t, t)
			VMOVUPS(t, s.gate(dGates, 0))

			VFNMADD231PS(g, g, one)
			VMULPS(i, d, t)
			VMULPS(one, t, t)
			VMOVUPS(t, s.gate(dGates, 2))

			if first {
				t = v.Zeros()
			} else {
				VMULPS(s.at(cPrev), d, t)
				keep := v.copied(f)
				VFNMADD231PS(f, f, keep)
				VMULPS(keep, t, t)
			}
			VMOVUPS(t, s.gate(dGates, 1))
			VMULPS(f, d, d)
			s.put(d, dc)
			if s.number == len(v.Parts())-1 {
				ADDQ(U32(3*64), gates)
				ADDQ(U32(3*64), dGates)
			}
		})
		v.End()
	}
	start = NewLabel("start")
	TESTQ(prev, prev)
	JEQ(LabelRef(start))
	back(false)
	Label(start)
	back(true)
}

// copied returns a copy of x.
func (v isa) copied(x reg.VecVirtual) reg.VecVirtual {
	y := v.Vec()
	VMOVAPS(x, y)
	return y
}
