// Command pointwise writes the amd64 assembly of the kernels that are not matrix products, each for AVX2 and for AVX-512.
package main

import (
	. "github.com/mmcloughlin/avo/build"

	"github.com/fedfast/fedfast/kernels/_asm/file"
)

func main() {
	Package("github.com/fedfast/fedfast/kernels/_asm/kernels")
	ConstraintExpr("!purego")
	for _, v := range []isa{{"AVX2", false}, {"AVX512", true}} {
		activations(v)
		vectors(v)
		reductions(v)
		optimizers(v)
		softmax(v)
		lstm(v)
		pool(v)
		poolAny(v)
		lrn(v)
		dropout(v)
	}
	file.Write("pointwise")
}
