// Command gemm writes the amd64 assembly of the matrix products, one function per height of tiles and level, and of their layouts.
package main

import (
	. "github.com/mmcloughlin/avo/build"

	"github.com/fedfast/fedfast/kernels/_asm/file"
	"github.com/fedfast/fedfast/kernels/_asm/level"
)

func main() {
	Package("github.com/fedfast/fedfast/kernels/_asm/kernels")
	ConstraintExpr("!purego")
	for _, isa := range []isa{avx512, avx2} {
		for _, rows := range isa.nn {
			nn(isa, rows)
		}
		for _, rows := range isa.tn {
			tn(isa, rows)
		}
		for _, rows := range isa.ts {
			ts(isa, rows)
		}
		for _, rows := range isa.nt {
			nt(isa, rows)
		}
		peak(isa)
	}
	for _, rows := range level.EdgeHeights {
		edge(avx512, rows)
	}
	for _, rows := range bf16.ts {
		ts(bf16, rows)
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
