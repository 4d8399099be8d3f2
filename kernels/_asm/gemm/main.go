// Command gemm writes the amd64 assembly of the matrix products, one function per height of tiles and level, and of
// their layouts; with the argument bf16 that of the products of bf16, and of the packing that rounds to bf16, with
// split the same for processors without its instructions, and with blocks that of products on the tiles of AMX.
package main

import (
	"os"

	. "github.com/mmcloughlin/avo/build"

	"github.com/fedfast/fedfast/kernels/_asm/file"
	"github.com/fedfast/fedfast/kernels/_asm/level"
)

func main() {
	if len(os.Args) > 1 {
		map[string]func(){"bf16": writeBF16, "blocks": amx, "split": writeSplit}[os.Args[1]]()
		file.Write(os.Args[1])
		return
	}
	for _, isa := range []isa{avx512, avx2} {
		isa.write()
		peak(isa)
	}
	for _, rows := range level.EdgeHeights {
		edge(avx512, rows)
	}
	for _, rows := range bf16Steps.ts {
		ts(bf16Steps, rows)
	}
	transpose()
	fold()
	read()
	copyRows()
	gather(1, PREFETCHT0)
	gather(2, PREFETCHT0)
	gather(8, PREFETCHT1)
	file.Write("gemm")
}

// write writes the tile functions of all products.
func (v isa) write() {
	for _, rows := range v.nn {
		nn(v, rows, factor{})
	}
	for _, rows := range v.tn {
		tn(v, rows)
	}
	for _, rows := range v.ts {
		ts(v, rows)
	}
	for _, rows := range v.nt {
		nt(v, rows)
	}
}

// writeBF16 writes the functions of bf16 but those with an optimizer's step.
func writeBF16() {
	alternate() // before the first function
	for _, of := range []factor{pairs, floats} {
		for _, rows := range bf16.nn {
			nn(bf16, rows, of)
		}
	}
	for _, rows := range tall {
		nn(bf16, rows, kept)
	}
	for _, rows := range level.EdgeHeights {
		edge(bf16, rows)
	}
	for _, rows := range bf16.tn {
		tn(bf16, rows)
	}
	for _, rows := range bf16.nt {
		nt(bf16, rows)
	}
	packBF16()
	peakBF16()
}
