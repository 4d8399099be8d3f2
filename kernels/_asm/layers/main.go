// Command layers writes the amd64 assembly of activations with their slopes, of normalisations of rows and of
// convolutions by channel, each for AVX2 and for AVX-512. Nothing in them is fused, so that plain Go gives the same
// bits.
package main

import (
	"fmt"
	"math"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"

	"github.com/fedfast/fedfast/kernels/_asm/file"
	"github.com/fedfast/fedfast/kernels/_asm/level"
	. "github.com/fedfast/fedfast/kernels/_asm/level"
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

// isa is a level with the methods of this generator.
type isa struct {
	Level
	half bool // one block of 16 channels, of which the first half counts; the other, zeros, is stored with it
}

// save stores a register.
func (v isa) save(x reg.VecVirtual, m Mem) {
	if v.half {
		VMOVUPS(x.AsZ(), m)
		return
	}
	VMOVUPS(x, m)
}

// double returns the address of a float64.
func double(f float64) Mem {
	m, ok := doubles[f]
	if !ok {
		m = GLOBL(fmt.Sprintf("layers%016x", math.Float64bits(f)), RODATA|NOPTR)
		DATA(0, U64(math.Float64bits(f)))
		doubles[f] = m
	}
	return m
}

var doubles = map[float64]Mem{}

// each goes over n blocks of 16 floats, n > 0. at gives the place of the present register in what starts at p.
func (v isa) each(n reg.GPVirtual, body func(part int, at func(p reg.GPVirtual) Mem)) {
	v.over(n, 64, func(i reg.GPVirtual) {
		for k, offset := range v.Parts() {
			body(k, func(p reg.GPVirtual) Mem { return Mem{Base: p, Index: i, Scale: 1, Disp: offset} })
		}
	})
}

// registers goes over them register by register.
func (v isa) registers(n reg.GPVirtual, body func(at func(p reg.GPVirtual) Mem)) {
	v.over(n, v.Bytes(), func(i reg.GPVirtual) {
		body(func(p reg.GPVirtual) Mem { return Mem{Base: p, Index: i, Scale: 1} })
	})
}

// over goes over them in steps of some bytes.
func (v isa) over(n reg.GPVirtual, step int, body func(i reg.GPVirtual)) {
	end, i, loop := GP64(), GP64(), NewLabel("loop")
	MOVQ(n, end)
	SHLQ(Imm(6), end)
	XORQ(i, i)
	Label(loop)
	body(i)
	ADDQ(Imm(uint64(step)), i)
	CMPQ(i, end)
	JNE(LabelRef(loop))
}
