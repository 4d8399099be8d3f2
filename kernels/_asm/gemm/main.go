// Command gemm writes the amd64 assembly of the matrix products, one function per tile height and level, and of their layouts.
package main

import (
	. "github.com/mmcloughlin/avo/build"

	"github.com/fedfast/fedfast/kernels/_asm/file"
)

func main() {
	Package("github.com/fedfast/fedfast/kernels/_asm/kernels")
	ConstraintExpr("!purego")
	for _, isa := range []isa{avx512, avx2} {
		for rows := 1; rows <= isa.rows; rows++ {
			nn(isa, rows)
		}
		for rows := 1; rows <= isa.rows; rows++ {
			tn(isa, rows)
		}
		for rows := 1; rows <= isa.rows; rows++ {
			ts(isa, rows)
		}
		for rows := 1; rows <= isa.ntHeight(); rows++ {
			nt(isa, rows)
		}
		peak(isa)
	}
	for rows := edgeRows; rows <= avx512.rows; rows++ {
		edge(avx512, rows)
	}
	for rows := 1; rows <= bf16.rows; rows++ {
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
