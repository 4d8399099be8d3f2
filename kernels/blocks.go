//go:build !purego && (amd64 || arm64)

package kernels

import "sync"

// blockArgs is what a function of products in blocks reads: a tile of rows of C over some
// panels. Distances are in bytes. Its offsets are known to _asm/gemm.
type blockArgs struct {
	a, b, c, bias     *float32
	lda, aNext, aSeg  int // between rows of A, its blocks and its segments
	ldb, bSeg, bPanel int // between rows of B, its segments and panels
	ldc, cPanel       int
	segs, k           int // at least 1
	panels, rows      int // at least 1
	mode              int // bits as in nnArgs

	_ [5]int // the function's scratch: where it is in B, in segments of A and B, segments left, where it is in the bias

	tiles tileSizes
}

// tileSizes is what LDTILECFG reads.
type tileSizes struct {
	palette, _ uint8
	_          [14]uint8
	bytes      [16]uint16 // of a row
	rows       [16]uint8
}

const (
	blockRows   = 16           // of a tile of A or C
	blockFLOPs  = 8 * 10 << 20 // most floating-point operations of one call, about 100 us
	blockFloats = 8192         // pairs of A that are turned at a time
)

// blockSpace is memory for turned pairs, which on a stack would be cleared for each product.
var blockSpace = sync.Pool{New: func() any { return new([blockFloats + Width]float32) }}

// blockTiles multiplies in blocks, by the functions on split pairs or, without, by one for up to blockRows rows.
type blockTiles struct {
	split *splitTiles
	whole func(*blockArgs)
}

// function returns that for some rows, the most rows there are functions for, and the most multiply-adds of a call.
func (t blockTiles) function(rows int) (f func(*blockArgs), most, call int) {
	if t.split == nil {
		return t.whole, blockRows, blockFLOPs / 2
	}
	return t.split.blocks[rows-1], len(t.split.blocks), t.split.flops
}

// nn is GemmNN. With split pairs, A is planes.
func (t blockTiles) nn(g *NN) {
	if g.Segs*g.K == 0 {
		nnGeneric(g)
		return
	}
	args := blockArgs{
		lda: 4 * g.Lda, aNext: 4 * blockPairs, aSeg: 4 * g.SegStride,
		ldb: 4 * Width, bSeg: 4 * Width * g.K, bPanel: 4 * Width * g.BRows,
		ldc: 4 * g.Ldc, cPanel: 4 * Width, segs: g.Segs, k: g.K, mode: g.args().mode,
	}
	_, most, _ := t.function(1)
	for i := 0; i < g.M; i += args.rows {
		args.rows, _ = evenly(g.M-i, most)
		args.a = &g.A[i*g.Lda]
		t.panels(&args, g.N/Width, func(p int) {
			args.b, args.c = &g.B[p*g.BRows*Width], &g.C[i*g.Ldc+p*Width]
			if g.Bias != nil {
				args.bias = &g.Bias[p*Width]
			}
		})
	}
}

// tn is GemmTN. It turns A, 16 of its columns at a time.
func (t blockTiles) tn(g *TN) {
	if g.Segs*g.M == 0 {
		tnGeneric(g)
		return
	}
	space := blockSpace.Get().(*[blockFloats + Width]float32)
	defer blockSpace.Put(space)
	a := aligned(space[:])
	_, most, _ := t.function(1)
	var planes []float32
	if t.split != nil {
		p, x := takeSplit()
		defer splitPool.Put(p)
		planes = x
	}
	run := min((g.M+blockPairs-1)&^(blockPairs-1), blockFloats/Width)
	segs := blockFloats / Width / run
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
				x := a
				if t.split != nil {
					x = planes
					t.split.splitPairs(planes, a[:args.segs*run*Width])
				}
				for i := 0; i < cols; i += args.rows {
					args.rows, _ = evenly(cols-i, most)
					args.a = &x[i*Width]
					t.panels(&args, g.N/Width, func(p int) {
						args.b, args.c = &g.G[s*g.GSeg+m*g.Ldg+p*Width], &g.C[(p*g.CRows+k+i)*Width]
					})
				}
				args.mode = modeAccumulate
			}
		}
	}
}

// panels runs args over n panels, some a call, the first of which at sets.
func (t blockTiles) panels(args *blockArgs, n int, at func(p int)) {
	tail := args.k % blockPairs
	for i := range 8 { // of C, two blocks, and what is left of a segment of A and B
		args.tiles.bytes[i], args.tiles.rows[i] = 4*Width, uint8(args.rows)
	}
	args.tiles.palette, args.tiles.rows[5] = 1, blockPairs
	args.tiles.bytes[6], args.tiles.rows[7] = uint16(4*tail), uint8(tail)
	if tail == 0 {
		args.tiles.rows[6], args.tiles.bytes[7] = 0, 0
	}
	f, _, call := t.function(args.rows)
	most := max(call/(2*Width*args.rows*args.segs*args.k)&^3, 4)
	for p := 0; p < n; p += most {
		args.panels = min(most, n-p)
		at(p)
		runBlocks(f, noescape(args))
	}
}

// turn writes the transpose of rows of up to 16 columns as blocks of 16 rows of 16 pairs.
func turn(dst, src []float32, ld, rows, cols int) {
	var space [Width * blockPairs]float32
	block := noescape(&space)[:]
	for m := 0; m < rows; m += blockPairs {
		n := min(blockPairs, rows-m)
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
