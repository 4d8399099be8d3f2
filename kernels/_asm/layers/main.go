// Command layers writes the amd64 assembly of activations with their slopes, of normalisations of rows, of the softmax's gradient and of
// convolutions by channel, each for AVX2 and for AVX-512. Nothing in them is fused, so that plain Go gives the same bits.
package main

import (
	. "github.com/mmcloughlin/avo/build"

	"github.com/fedfast/fedfast/kernels/_asm/file"
)

func main() {
	Package("github.com/fedfast/fedfast/kernels/_asm/kernels")
	ConstraintExpr("!purego")
	for _, v := range []isa{{"AVX2", 32}, {"AVX512", 64}} {
		curves(v)
		rows(v)
		depthwise(v)
	}
	file.Write("layers")
}
