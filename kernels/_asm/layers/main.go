// Command layers writes the amd64 assembly of activations with their slopes, of normalisations of rows and of
// convolutions by channel, each for AVX2 and for AVX-512. Nothing in them is fused, so that plain Go gives the same
// bits.
package main

import (
	"github.com/fedfast/fedfast/kernels/_asm/file"
	"github.com/fedfast/fedfast/kernels/_asm/level"
)

func main() {
	for _, l := range level.Levels("layers") {
		v := isa{Level: l}
		curves(v)
		rows(v)
		depthwise(v)
		if l.Wide {
			l.Wide = false
			depthwise(isa{l, true})
		}
	}
	file.Write("layers")
}
