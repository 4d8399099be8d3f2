// Command transformer writes the amd64 assembly of what transformers need besides products, for AVX2 and for AVX-512: softmaxes over the columns
// of a matrix, and GELU in one pass.
package main

import (
	. "github.com/mmcloughlin/avo/build"

	"github.com/fedfast/fedfast/kernels/_asm/file"
)

func main() {
	Package("github.com/fedfast/fedfast/kernels/_asm/kernels")
	ConstraintExpr("!purego")
	for _, v := range []isa{{"AVX2", false}, {"AVX512", true}} {
		columns(v)
		gelu(v)
	}
	file.Write("transformer")
}
