// Command transformer writes the amd64 assembly of what transformers need besides products, for AVX2 and for AVX-512:
// softmaxes over the columns
// of a matrix, and GELU in one pass.
package main

import (
	"github.com/fedfast/fedfast/kernels/_asm/file"
	"github.com/fedfast/fedfast/kernels/_asm/level"
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
