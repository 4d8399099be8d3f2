package level

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// The constants of act_generic.go.
const (
	log2e = 0x1.715476p+0
	ln2Hi = 0x1.62e4p-1
	ln2Lo = 0x1.7f7d1cp-20
	exp2  = 0x1.fffffep-2
	exp3  = 0x1.5554aap-3
	exp4  = 0x1.55579ep-5
	exp5  = 0x1.122c86p-7
	Exp6  = 0x1.6ab168p-10

	SoftmaxLow = -60
)

// held maps a constant to a register that holds it.
var held map[float32]reg.VecVirtual

// HoldExp loads the constants of e^x and others, with AVX-512, whose registers suffice.
func (v Level) HoldExp(others ...float32) {
	held = map[float32]reg.VecVirtual{}
	if !v.Wide {
		return
	}
	for _, c := range append([]float32{log2e, ln2Hi, ln2Lo, exp2, exp3, exp4, exp5, Exp6}, others...) {
		held[c] = v.Number(c)
	}
}

// Constant returns an operand of f in all lanes.
func (v Level) Constant(f float32) Op {
	if x, ok := held[f]; ok {
		return x
	}
	return v.Float(f)
}

// Held returns a register that holds f in all lanes and is not to be changed.
func (v Level) Held(f float32) reg.VecVirtual {
	if x, ok := held[f]; ok {
		return x
	}
	return v.Number(f)
}

// Copy returns a register with f in all lanes.
func (v Level) Copy(f float32) reg.VecVirtual {
	x, ok := held[f]
	if !ok {
		return v.Number(f)
	}
	y := v.Vec()
	VMOVAPS(x, y)
	return y
}

// With emits an instruction whose first operand is a constant: plain reads a register or 16 copies, and the form for
// AVX-512 reads one,
// which cannot lie across two cache lines (the linker aligns to 32 bytes only).
func (v Level) With(plain, broadcast func(ops ...Op), constant Op, ops ...Op) {
	if _, ok := constant.(Mem); ok && v.Wide {
		plain = broadcast
	}
	plain(append([]Op{constant}, ops...)...)
}

// Nearest returns the integer n nearest to x*log2e, as a float, and turns x into x - n ln2.
func (v Level) Nearest(x reg.VecVirtual) (n reg.VecVirtual) {
	n = v.Vec()
	v.With(VMULPS, VMULPS_BCST, v.Constant(log2e), x, n)
	if v.Wide {
		VRNDSCALEPS(Imm(8), n, n)
	} else {
		VROUNDPS(Imm(8), n, n)
	}
	v.With(VFNMADD231PS, VFNMADD231PS_BCST, v.Constant(ln2Hi), n, x)
	v.With(VFNMADD231PS, VFNMADD231PS_BCST, v.Constant(ln2Lo), n, x)
	return n
}

// Series turns p, which holds Exp6, into e^r - 1 for the r that Nearest leaves.
func (v Level) Series(r, p reg.VecVirtual) {
	for _, c := range []float32{exp5, exp4, exp3, exp2} {
		v.With(VFMADD213PS, VFMADD213PS_BCST, v.Constant(c), r, p) // p = p*r + c
	}
	square := v.Vec()
	VMULPS(r, r, square)
	VFMADD213PS(r, square, p) // p = p*r² + r
}
