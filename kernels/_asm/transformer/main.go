// Command transformer writes the amd64 assembly of what transformers need besides products, for AVX2 and for AVX-512:
// softmaxes over the columns
// of a matrix, and GELU in one pass.
package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"

	"github.com/fedfast/fedfast/kernels/_asm/file"
	"github.com/fedfast/fedfast/kernels/_asm/level"
	. "github.com/fedfast/fedfast/kernels/_asm/level"
)

func main() {
	for _, l := range level.Levels("transformer") {
		v := isa{l}
		columns(v)
		gelu(v)
	}
	file.Write("transformer")
}

// isa is a level with the methods of this generator.
type isa struct{ level.Level }

// reduce returns the integer n nearest to x*log2e, as a float, and e^r - 1 for r = x - n ln2. It uses x up.
func (v isa) reduce(x reg.VecVirtual) (n, q reg.VecVirtual) {
	n, q = v.Nearest(x), v.Vec()
	VMOVAPS(v.Constant(Exp6), q)
	v.Series(x, q)
	return n, q
}

// term returns e^x for x <= 0, and 0 below SoftmaxLow. It uses x up.
func (v isa) term(x reg.VecVirtual) reg.VecVirtual {
	low, r := v.Vec(), v.Vec()
	VMOVAPS(v.Constant(SoftmaxLow), low)
	VMAXPS(x, low, r) // NaN stays NaN because x is the second source
	n, p := v.reduce(r)
	if v.Wide {
		VADDPS(v.Constant(1), p, p)
		VSCALEFPS(n, p, p) // exact: p is normal, and stays so
	} else {
		s := v.Vec()
		VCVTPS2DQ(n, s)
		VPADDD(v.Bits(127), s, s)
		VPSLLD(Imm(23), s, s)
		VFMADD213PS(s, s, p) // p = p*s + s
	}
	return v.Where(CmpNotLess, x, low, p)
}
