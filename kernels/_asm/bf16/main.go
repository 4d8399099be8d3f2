// Command bf16 writes the amd64 assembly of the matrix products of bf16, one function per tile height, and of the packing that rounds to
// bf16.
package main

import (
	. "github.com/mmcloughlin/avo/build"

	"github.com/fedfast/fedfast/kernels/_asm/file"
)

func main() {
	Package("github.com/fedfast/fedfast/kernels/_asm/kernels")
	ConstraintExpr("!purego")
	alternate() // before the first function
	for _, of := range []factor{pairs, floats} {
		for rows := 1; rows <= maxRows; rows++ {
			nn(rows, of)
		}
	}
	for rows := keptRows; rows <= maxRows; rows++ {
		nn(rows, kept)
	}
	for rows := edgeRows; rows <= maxRows; rows++ {
		edge(rows)
	}
	for rows := 1; rows <= maxRows; rows++ {
		tn(rows)
	}
	for rows := 1; rows <= maxRows; rows++ {
		nt(rows)
	}
	pair("pairBF16", "rounds rows of two sources to pairs of a float of each.", true)
	pair("joinBF16", "rounds rows of two sources, 16 floats of one and 16 of the other.", false)
	round()
	peak()
	file.Write("bf16")
}
