// Command bf16 writes the amd64 assembly of the matrix products of bf16, one function per height of tiles, and of the packing that rounds to
// bf16.
package main

import (
	. "github.com/mmcloughlin/avo/build"

	"github.com/fedfast/fedfast/kernels/_asm/file"
	"github.com/fedfast/fedfast/kernels/_asm/level"
)

func main() {
	Package("github.com/fedfast/fedfast/kernels/_asm/kernels")
	ConstraintExpr("!purego")
	alternate() // before the first function
	for _, of := range []factor{pairs, floats} {
		for _, rows := range level.NNHeights {
			nn(rows, of)
		}
	}
	for _, rows := range tall {
		nn(rows, kept)
	}
	for _, rows := range level.EdgeHeights {
		edge(rows)
	}
	for _, rows := range level.TNHeights {
		tn(rows)
	}
	for _, rows := range append(level.NTHeights, 12) { // 32 rows round B three times, not four
		nt(rows)
	}
	pair("pairBF16", "rounds rows of two sources to pairs of a float of each.", true)
	pair("joinBF16", "rounds rows of two sources, 16 floats of one and 16 of the other.", false)
	round()
	peak()
	file.Write("bf16")
}
