// Command pointwise writes the amd64 assembly of the kernels that are not matrix products, each for AVX2 and for
// AVX-512.
package main

import (
	"github.com/fedfast/fedfast/kernels/_asm/file"
	"github.com/fedfast/fedfast/kernels/_asm/level"
)

func main() {
	for _, l := range level.Levels("all") {
		v := isa{l}
		activations(v)
		vectors(v)
		reductions(v)
		optimizers(v)
		softmax(v)
		lstm(v)
		pool(v)
		poolAny(v)
		poolThree(v)
		lrn(v)
		dropout(v)
		v.reluAdd()
	}
	file.Write("pointwise")
}

// isa is a level with the methods of this generator.
type isa struct{ level.Level }
