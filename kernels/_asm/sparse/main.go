// Command sparse writes the amd64 assembly for gradients that are mostly zero, each function for AVX2 and for AVX-512.
package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"

	"github.com/fedfast/fedfast/kernels/_asm/file"
	"github.com/fedfast/fedfast/kernels/_asm/level"
)

func main() {
	for _, maxima := range []bool{true, false} {
		listsAVX2(maxima)
		listsAVX512(maxima)
	}
	appendByFilter()
	for _, v := range level.Levels("sparse") {
		for _, t := range []tile{{3, 3, 2, v}, {3, 3, 1, v}, {5, 5, 1, v}} {
			if !v.Wide {
				t.rows = 1
			}
			t.weights()
			t.input()
		}
	}
	file.Write("sparse")
}

// tile is the sums that a function keeps in registers: rows x cols pixels of the kernel and groups of 16 channels.
type tile struct {
	rows, cols, groups int
	level.Level
}

// vecs returns the registers of a pixel.
func (t tile) vecs() int { return t.groups * 64 / t.Bytes() }

// field returns a field of the arguments.
func field(args reg.GPVirtual, offset int) Mem { return Mem{Base: args, Disp: offset} }

// load returns a copy of a field of the arguments.
func load(args reg.GPVirtual, offset int) reg.GPVirtual {
	r := GP64()
	MOVQ(field(args, offset), r)
	return r
}
