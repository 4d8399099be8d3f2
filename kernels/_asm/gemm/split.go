package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"

	"github.com/fedfast/fedfast/kernels/_asm/level"
)

const (
	splitDistance = 4 * (1<<15 + 32) // from a high half to its low one, see splitPlanes
	highHalves    = 0xffff0000
	flushed       = 0x9fc0 // MXCSR as it starts, with FTZ and DAZ
	one           = 0x3f800000
)

// splitBits returns the address of 16 copies of what the functions on split pairs need.
var splitBits = level.Levels("split")[0].Bits

// writeSplit writes the products of pairs by fused multiply-adds of floats, their high halves first, and the packing.
func writeSplit() {
	for _, bits := range []uint32{highHalves, flushed, one, 1, 0x7fff} { // before the first function
		splitBits(bits)
	}
	for _, isa := range split {
		isa.write()
		for rows := range blockHeights {
			isa.blocks(rows + 1)
		}
		halves := isa
		halves.split = false // it needs no modes
		halves.each("pairs"+isa.name, "writes the halves of groups of 16 pairs, as floats, to two planes.", func(dst Mem) {
			for _, half := range isa.parts() {
				half.take(isa.reg(0), isa.reg(int(half)))
				VMOVUPS(isa.reg(int(half)), half.of(dst))
			}
		})
	}
	for _, rows := range level.EdgeHeights {
		edge(split[0], rows)
	}
	packSplit(split[1])
}

// packSplit writes what rounds to bf16.
func packSplit(v isa) {
	v.pair("pairAVX2", pairDoc, func() {}, func() {
		for i := range 2 {
			roundHalves(ymm[i])
			roundHalves(ymm[2+i])
			VPSRLD(Imm(16), ymm[i], ymm[i])
			high.take(ymm[2+i], ymm[2+i])
			VPOR(ymm[i], ymm[2+i], ymm[i])
		}
	})
	v.pair("joinAVX2", joinDoc, func() {}, func() {
		for i := range 2 {
			for _, x := range ymm[2*i : 2*i+2] {
				roundHalves(x)
				VPSRLD(Imm(16), x, x)
			}
			VPACKUSDW(ymm[2*i+1], ymm[2*i], ymm[i])
			VPERMQ(Imm(0b11011000), ymm[i], ymm[i])
		}
	})
	v.each("roundAVX2", roundDoc, func(dst Mem) {
		roundHalves(ymm[0])
		high.take(ymm[0], ymm[0])
		VMOVUPS(ymm[0], dst)
	})
}

// roundHalves rounds floats to bf16, to nearest even; the bits below are any. Under flush, a product with one makes
// zeros of what is below the normal numbers, and NaNs quiet.
func roundHalves(x reg.Register) {
	y, z := ymm[14], ymm[15]
	VMULPS(splitBits(one), x, x)
	VCMPPS(Imm(level.CmpUnordered), x, x, z)
	VPSRLD(Imm(16), x, y)
	VPAND(splitBits(1), y, y)
	VPADDD(splitBits(0x7fff), y, y)
	VPADDD(x, y, y)
	VBLENDVPS(z, x, y, x)
}
