package kernels

import "sync"

// blockPairs is how many pairs of a sum are a block: 32 numbers. NN.Blocks and TN.Blocks have
// each segment of a sum in such blocks, the last one as it comes: from 0, the products of
// the low halves and those of the high halves are one chain of fused multiply-adds each;
// then both chains are added, and their sum to what was there. Numbers below the normal
// ones count as zeros, before and after each of these operations, as in [Dot2].
const blockPairs = 16

// blockArgs is what a function of products in blocks reads: a tile of rows of C over some
// panels. Distances are in bytes. Its offsets are known to _asm/blocks.
type blockArgs struct {
	a, b, c, bias     *float32
	lda, aNext, aSeg  int // between rows of A, its blocks and its segments
	ldb, bSeg, bPanel int // between rows of B, its segments and panels
	ldc, cPanel       int
	segs, k           int // at least 1
	panels, rows      int // at least 1
	mode              int // bits as in nnArgs

	_ [7]int // the function's scratch: where it is in B, in segments of A and B, segments left, what is left or where it is in A, modes of the processor, where it is in the bias

	tiles tileSizes
}

// tileSizes is what LDTILECFG reads.
type tileSizes struct {
	palette, _ uint8
	_          [14]uint8
	bytes      [16]uint16 // of a row
	rows       [16]uint8
}

// blockTiles drives the functions of a level for products in blocks.
type blockTiles struct {
	rows int // of the highest tile

	// run[r-1] computes r rows, or run[0] any number where it is the only one.
	run []func(*blockArgs)

	// repair, if not nil, makes of rows of A, ld bytes apart, what run reads, with zeros after
	// the last pair of a block.
	repair func(dst, src *float32, rows, ld, dstLd, k int)

	flops int // most floating-point operations of one call, about 100 us
}

// blockFloats is how many pairs of A are repaired or turned at a time.
const blockFloats = 8192

// blockSpace is memory for them, which on a stack would be cleared for each product.
var blockSpace = sync.Pool{New: func() any { return new([blockFloats + Width]float32) }}

// blocksFrom returns a multiple of blockPairs of at least n.
func blocksFrom(n int) int { return (n + blockPairs - 1) &^ (blockPairs - 1) }

// nn is GemmNN.
func (t *blockTiles) nn(g *NN) {
	if g.Segs*g.K == 0 {
		nnGeneric(g)
		return
	}
	if t.repair != nil {
		t.nnRepaired(g)
		return
	}
	args := g.blockArgs()
	args.lda, args.aNext, args.aSeg, args.segs, args.k = 4*g.Lda, 4*blockPairs, 4*g.SegStride, g.Segs, g.K
	for i := 0; i < g.M; i += t.rows {
		args.a, args.rows = &g.A[i*g.Lda], min(t.rows, g.M-i)
		t.nnPanels(g, &args, i, 0)
	}
}

// nnRepaired is nn with A repaired, as many blocks as there is memory for at a time.
func (t *blockTiles) nnRepaired(g *NN) {
	space := blockSpace.Get().(*[blockFloats + Width]float32)
	defer blockSpace.Put(space)
	a := aligned(space[:])
	run := min(blocksFrom(g.K), blockFloats/t.rows&^(blockPairs-1))
	segs := max(blockFloats/t.rows/run, 1)
	for i := 0; i < g.M; i += t.rows {
		args := g.blockArgs()
		mode := args.mode &^ modeReLU
		args.a, args.aNext, args.rows = &a[0], 4*blockPairs, min(t.rows, g.M-i)
		for s := 0; s < g.Segs; s += segs {
			for k := 0; k < g.K; k += run {
				args.segs, args.k = min(segs, g.Segs-s), min(run, g.K-k)
				args.lda, args.aSeg = 4*args.segs*run, 4*run
				for j := range args.segs {
					runRepair(t.repair, &a[j*run], &g.A[i*g.Lda+(s+j)*g.SegStride+k], args.rows, 4*g.Lda, args.lda, args.k)
				}
				if args.mode = mode; g.ReLU && s+segs >= g.Segs && k+run >= g.K {
					args.mode |= modeReLU
				}
				t.nnPanels(g, &args, i, (s*g.K+k)*Width)
				mode = modeAccumulate
			}
		}
	}
}

// blockArgs returns what all calls of a product have in common.
func (g *NN) blockArgs() blockArgs {
	return blockArgs{
		ldb: 4 * Width, bSeg: 4 * Width * g.K, bPanel: 4 * Width * g.BRows, ldc: 4 * g.Ldc, cPanel: 4 * Width, mode: g.args().mode,
	}
}

// nnPanels runs args over all panels of C from row i on, whose numbers of B begin b after the start of each panel.
func (t *blockTiles) nnPanels(g *NN, args *blockArgs, i, b int) {
	most := t.most(args)
	for p := 0; p < g.N/Width; p += most {
		args.panels = min(most, g.N/Width-p)
		args.b, args.c = &g.B[p*g.BRows*Width+b], &g.C[i*g.Ldc+p*Width]
		if g.Bias != nil {
			args.bias = &g.Bias[p*Width]
		}
		t.call(args)
	}
}

// most returns how many panels one call takes.
func (t *blockTiles) most(args *blockArgs) int {
	return max(t.flops/(4*Width*args.rows*args.segs*args.k)&^3, 4)
}

func (t *blockTiles) call(args *blockArgs) {
	if len(t.run) > 1 {
		runBlocks(t.run[args.rows-1], noescape(args))
		return
	}
	tail := args.k % blockPairs
	for i, bytes := range [...]int{0: 4 * Width, 1: 4 * Width, 2: 4 * Width, 3: 4 * Width, 4: 4 * blockPairs, 5: 4 * Width, 6: 4 * tail, 7: 4 * Width} {
		args.tiles.bytes[i], args.tiles.rows[i] = uint16(bytes), uint8(args.rows)
	}
	args.tiles.palette, args.tiles.rows[5], args.tiles.rows[7] = 1, blockPairs, uint8(tail)
	if tail == 0 {
		args.tiles.rows[6], args.tiles.bytes[7] = 0, 0
	}
	runBlocks(t.run[0], noescape(args))
}

// tn is GemmTN. It turns A, 16 of its columns at a time.
func (t *blockTiles) tn(g *TN) {
	if g.Segs*g.M == 0 {
		tnGeneric(g)
		return
	}
	space := blockSpace.Get().(*[blockFloats + Width]float32)
	defer blockSpace.Put(space)
	a := aligned(space[:])
	run := min(blocksFrom(g.M), blockFloats/Width)
	segs := max(blockFloats/Width/run, 1)
	args := blockArgs{
		lda: 4 * Width, aNext: 4 * Width * Width, aSeg: 4 * Width * run,
		ldb: 4 * g.Ldg, bSeg: 4 * g.GSeg, bPanel: 4 * Width, ldc: 4 * Width, cPanel: 4 * Width * g.CRows,
	}
	for k := 0; k < g.K; k += Width {
		cols := min(Width, g.K-k)
		if args.mode = 0; g.Accumulate {
			args.mode = modeAccumulate
		}
		for s := 0; s < g.Segs; s += segs {
			for m := 0; m < g.M; m += run {
				args.segs, args.k = min(segs, g.Segs-s), min(run, g.M-m)
				for j := range args.segs {
					turn(a[j*run*Width:], g.A[(s+j)*g.ASeg+m*g.Lda+k:], g.Lda, args.k, cols)
				}
				if t.repair != nil {
					runRepair(t.repair, &a[0], &a[0], args.segs*run, 4*Width, 4*Width, blockPairs)
				}
				for i := 0; i < cols; i += t.rows {
					args.a, args.rows = &a[i*blockPairs], min(t.rows, cols-i)
					most := t.most(&args)
					for p := 0; p < g.N/Width; p += most {
						args.panels = min(most, g.N/Width-p)
						args.b, args.c = &g.G[s*g.GSeg+m*g.Ldg+p*Width], &g.C[(p*g.CRows+k+i)*Width]
						t.call(&args)
					}
				}
				args.mode = modeAccumulate
			}
		}
	}
}

// turn writes the transpose of rows of up to 16 columns as blocks of 16 rows of 16 pairs, with zeros after the last row.
func turn(dst, src []float32, ld, rows, cols int) {
	var space [Width * blockPairs]float32
	block := noescape(&space)[:]
	for m := 0; m < rows; m += blockPairs {
		n := min(blockPairs, rows-m)
		if n < blockPairs {
			clear(block)
		}
		if cols == Width {
			runCopyRows(&block[0], &src[m*ld], n, 4*Width, 4*ld, 1)
		} else {
			for i := range n {
				copy(block[i*Width:][:cols], src[(m+i)*ld:])
			}
		}
		runTranspose(&dst[m*Width], &block[0], 1, 4*Width*blockPairs)
	}
}

// runBlocks is runNN for products in blocks.
//
//go:noinline
func runBlocks(f func(*blockArgs), args *blockArgs) { f(args) }

// runRepair is runNN for repairing.
//
//go:noinline
func runRepair(f func(dst, src *float32, rows, ld, dstLd, k int), dst, src *float32, rows, ld, dstLd, k int) {
	f(dst, src, rows, ld, dstLd, k)
}
