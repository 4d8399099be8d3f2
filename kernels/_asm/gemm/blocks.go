package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"

	"github.com/fedfast/fedfast/kernels/_asm/dot"
)

// Offsets in blockArgs.
const (
	blA, blB, blC, blBias         = 0, 8, 16, 24
	blLda, blANext, blASeg        = 32, 40, 48
	blLdb, blBSeg, blBPanel       = 56, 64, 72
	blLdc, blCPanel               = 80, 88
	blSegs, blK, blPanels, blRows = 96, 104, 112, 120
	blMode                        = 128
	blBAt, blASegAt, blBSegAt     = 136, 144, 152
	blSegsLeft, blBiasAt          = 160, 168
	blTiles                       = 176
)

// pairsOfBlock is how many pairs a block has.
const pairsOfBlock = 16

// Registers of a function on tiles, the first ones of tile loads.
var (
	stride, at   = reg.R9, reg.RDX
	count, block = reg.RCX, reg.R15 // from a block of B to the next
)

func field(at int) Mem { return Mem{Base: args, Disp: at} }

// groups writes the loop over the panels, the widest groups first: body computes one of a group's tiles, whose rows of
// C hold what it starts from.
func groups(sizes []int, rows func(name string, each func()), body func(n int)) {
	fields(cp, blC, panels, blPanels)
	MOVQ(U32(0), field(blBAt))
	MOVQ(U32(0), field(blBiasAt))
	for _, n := range sizes {
		label := func(name string) string { return fmt.Sprintf("%s%d", name, n) }
		Label(label("group"))
		CMPQ(panels, U32(uint32(n)))
		JLT(LabelRef(label("done")))

		// Zeros, the bias, or what is there.
		TESTQ(U32(modeAccumulate), field(blMode))
		JNE(LabelRef(label("started")))
		for p := range n {
			VPXORD(zmm[p], zmm[p], zmm[p])
		}
		TESTQ(U32(modeBias), field(blMode))
		JEQ(LabelRef(label("start")))
		MOVQ(field(blBias), tmp)
		ADDQ(field(blBiasAt), tmp)
		for p := range n {
			VMOVUPS(Mem{Base: tmp, Disp: 64 * p}, zmm[p])
		}
		Label(label("start"))
		eachRow(label("startrow"), n, rows, func(p int, m Mem) { VMOVUPS(zmm[p], m) })
		Label(label("started"))

		body(n)

		TESTQ(U32(modeReLU), field(blMode))
		JEQ(LabelRef(label("stored")))
		VPXORD(reg.Z31, reg.Z31, reg.Z31)
		eachRow(label("relu"), n, rows, func(p int, m Mem) {
			VMOVUPS(m, zmm[p])
			VMAXPS(zmm[p], reg.Z31, zmm[p]) // keeps NaN and -0
			VMOVUPS(zmm[p], m)
		})
		Label(label("stored"))
		ADDQ(U32(uint32(64*n)), field(blBiasAt))
		for range n {
			ADDQ(field(blCPanel), cp)
			MOVQ(field(blBPanel), tmp)
			ADDQ(tmp, field(blBAt))
		}
		SUBQ(U32(uint32(n)), panels)
		JMP(LabelRef(label("group")))
		Label(label("done"))
	}
}

// eachRow does something with the vectors of a row of C, for all rows.
func eachRow(label string, n int, rows func(name string, each func()), do func(p int, m Mem)) {
	MOVQ(cp, tmp)
	rows(label, func() {
		MOVQ(tmp, a0)
		for p := range n {
			do(p, Mem{Base: a0})
			if p+1 < n {
				ADDQ(field(blCPanel), a0)
			}
		}
		ADDQ(field(blLdc), tmp)
	})
}

// segments writes the loop over the segments, whose starts in A and B are in a0 and bp.
func segments(n int, body func()) {
	label := fmt.Sprintf("segment%d", n)
	fields(tmp, blSegs)
	MOVQ(tmp, field(blSegsLeft))
	fields(a0, blA, bp, blB)
	ADDQ(field(blBAt), bp)
	MOVQ(a0, field(blASegAt))
	MOVQ(bp, field(blBSegAt))
	Label(label)
	body()
	fields(a0, blASegAt, bp, blBSegAt)
	ADDQ(field(blASeg), a0)
	ADDQ(field(blBSeg), bp)
	MOVQ(a0, field(blASegAt))
	MOVQ(bp, field(blBSegAt))
	DECQ(field(blSegsLeft))
	JNE(LabelRef(label))
}

// amx writes the function of a tile of up to 16 rows. Tiles 0 to 3 are of C, 4 and 5 blocks of A and B, 6 and 7 the
// rest of a segment.
func amx() {
	begin("blocksAMX", "(args *blockArgs)", "computes up to 16 rows of C.", "args", args)
	LEAQ(field(blTiles), reg.RDX)
	dot.Configure(reg.RDX)
	fields(lda, blLda)
	rows := func(label string, each func()) {
		fields(count, blRows)
		Label(label)
		each()
		DECQ(count)
		JNE(LabelRef(label))
	}
	groups([]int{4, 2, 1}, rows, func(n int) {
		label := func(name string) string { return fmt.Sprintf("%s%d", name, n) }
		eachTile := func(do func(p byte)) {
			MOVQ(cp, at)
			fields(stride, blLdc)
			for p := range n {
				do(byte(p))
				if p+1 < n {
					ADDQ(field(blCPanel), at)
				}
			}
		}
		products := func(a, b byte) {
			dot.LoadTile(a0, lda, a)
			MOVQ(bp, at)
			for p := range n {
				dot.LoadTile(at, stride, b)
				dot.AddTiles(b, a, byte(p))
				if p+1 < n {
					ADDQ(field(blBPanel), at)
				}
			}
		}
		eachTile(func(p byte) { dot.LoadTile(at, stride, p) })
		fields(stride, blLdb)
		MOVQ(stride, block)
		SHLQ(Imm(4), block)
		segments(n, func() {
			fields(count, blK)
			SUBQ(Imm(pairsOfBlock), count)
			JLT(LabelRef(label("rest")))
			Label(label("block"))
			products(4, 5)
			ADDQ(field(blANext), a0)
			ADDQ(block, bp)
			SUBQ(Imm(pairsOfBlock), count)
			JGE(LabelRef(label("block")))
			Label(label("rest"))
			CMPQ(count, I8(-pairsOfBlock))
			JEQ(LabelRef(label("all")))
			products(6, 7)
			Label(label("all"))
		})
		eachTile(func(p byte) { dot.StoreTile(p, at, stride) })
	})
	dot.Release()
	end()
}
