package kernels

import "unsafe"

// tiles drives the tile functions of an assembly level: nn[r-1], tn[r-1],
// nt[r-1] and ts[r-1], unless nil, compute r rows of C. The drivers choose the heights,
// and split the work so that B (or G) is read from memory once and one call stays short:
// the runtime can't interrupt assembly.
type tiles struct {
	nn []func(*nnArgs)
	tn []func(*tnArgs)
	nt []func(*ntArgs)
	ts []func(*tsArgs) // nil where a step is done on a gradient in memory

	nnPlan, tnPlan, tsPlan plan // nil where there are tiles of every height

	flops int // most floating-point operations of one call, about 100 us

	wide   int                                            // panels of a full TN tile
	gather []func(dst, src *float32, rows, ld, ahead int) // gather[w-1] copies rows of w panels that are ld bytes apart; nil: no copies
	// copyB, if not nil, copies copyRows rows of each panel of an NT product's B,
	// which are ld bytes apart, next to each other. Tiles that are low, or take the
	// halves of the lanes one after the other, read B several times, and in place
	// its panels tend to meet in one set of a first-level cache.
	copyB func(dst, src *float32, panels, ld, ahead int)

	stepPacks bool // whether stepPacked is faster, measured

	// edge, where not nil, holds the NN tiles that leave out products with zeros, for
	// even numbers of panels.
	edge []func(*nnArgs)

	// narrow says that the NN tiles go through blocks below one another, and that some of them
	// and of those of TN know panels of which the first half counts, see halves.
	narrow bool

	// keep, where not nil, holds the NN tiles that leave what they round as pairs, two
	// panels, for those of pairs.
	keep, pairs []func(*nnArgs)

	// ahead tells that the NN tiles of four rows and more take one panel at a time
	// and prefetch what nnArgs.ahead says: they read B from memory faster than the
	// processor fetches a single stream by itself.
	ahead bool
}

const (
	maxFLOPs  = 10 << 20  // most floating-point operations of one call on amd64, about 100 us
	maxBytes  = 2 << 20   // most bytes of B that one call streams, about 100 us from memory
	largeB    = 8 << 10   // rows of panels (64 bytes each) above which B does not stay in the second-level cache
	blockSize = 256 << 10 // bytes of B or G that stay in the second-level cache while the row blocks pass

	// Bytes of A and of a group of panels of B up to which a product is whole, and what
	// the runs of a longer one have: measured with a second-level cache of 1 MiB.
	maxNear    = 1152 << 10
	nearBytes  = 800 << 10
	leastRun   = 1024 // terms
	leastGroup = 4    // panels
)

// multiply is GemmNN.
func (t *tiles) multiply(g *NN) {
	if g.Segs*g.K == 0 {
		nnGeneric(g)
		return
	}
	run := t.run(g)
	if run >= g.K {
		t.multiplyRun(g)
		return
	}
	h := *g
	h.Edges = nil
	for k := 0; k < g.K; k += run {
		at := k
		if g.Floats {
			at = k / 2
		}
		h.A, h.B, h.K = g.A[at:], g.B[k*Width:], min(run, g.K-k)
		h.ReLU = g.ReLU && k+run >= g.K
		t.multiplyRun(&h)
		h.Bias, h.Accumulate = nil, true
	}
}

// run returns how many terms of long sums are taken at a time, so that a group of
// panels and all rows of A stay in a second-level cache while the row blocks pass. Each
// later run goes on from C, with the same bits.
func (t *tiles) run(g *NN) int {
	if g.Segs > 1 || g.M <= t.tall(g) || t.ahead {
		return g.K
	}
	term := 4*g.M + leastGroup*4*Width
	if g.Floats {
		term = 2*g.M + leastGroup*4*Width
	}
	if g.K*term <= maxNear {
		return g.K
	}
	runs := (g.K*term + nearBytes - 1) / nearBytes
	return max((g.K/runs+Width)&^(Width-1), leastRun)
}

// multiplyRun is multiply. Row blocks of nearly equal height run inside groups of
// panels.
func (t *tiles) multiplyRun(g *NN) {
	tall := t.tall(g)
	blocks := (g.M + tall - 1) / tall
	if t.keeps(g, tall) {
		t.multiplyKept(g, tall)
		return
	}
	args := g.args()
	all, depth := g.N/Width, g.Segs*g.K
	group := t.group(g, blocks)
	prefetch := t.ahead && all*depth > largeB && group*depth <= largeB && g.BRows == depth
	for p := 0; p < all; p += group {
		args.panels, args.half = t.halved(min(group, all-p), all-p, g.N, g.Cols)
		args.b = &g.B[p*g.BRows*Width]
		if g.Bias != nil {
			args.bias = &g.Bias[p*Width]
		}
		// Each row block prefetches its share of the next group.
		args.aheadStep = 0
		next, share := g.B[p*g.BRows*Width:], 0
		if prefetch && p+group < all {
			next, share = g.B[(p+group)*depth*Width:], min(group, all-p-group)*depth*Width/blocks
			args.aheadStep = 4 * Width / blocks
		}
		short := 1 // tiles of a call
		if t.narrow && g.Edges == nil {
			short = max(t.flops/(2*Width*(args.panels+args.half)*depth*tall), 1)
		}
		for i, b := 0, 0; i < g.M; b++ {
			n, count := t.nnPlan.nextNN(g.M-i, tall, t.ahead && group >= 4)
			args.blocks = min(count, short)
			args.a = &g.A[i*g.Lda]
			args.c = &g.C[i*g.Ldc+p*Width]
			args.ahead = &next[b*share]
			i += n * args.blocks
			t.runEdges(g, i, n, &args)
		}
	}
}

// halved returns how many of n panels, the first of left ones, are whole, or go before
// another in a tile, and what nnArgs.half is, where of n columns cols count.
func (t *tiles) halved(panels, left, n, cols int) (whole, half int) {
	if !t.narrow || panels < left || cols == 0 || n-cols < Width/2 {
		return panels, 0
	}
	whole = (panels - 1) &^ 1
	return whole, panels - whole
}

// runEdges computes blocks of n rows, which end before row end, without products with zeros
// where there are tiles for that.
func (t *tiles) runEdges(g *NN, end, n int, args *nnArgs) {
	f, panels, half := t.nn[n-1], args.panels, args.half
	whole := half > 0 && !halves(n)
	if g.Edges != nil && t.edge != nil && t.edge[n-1] != nil && (panels+half)%2 == 0 {
		if args.taps = g.Edges.taps(end == n, end == g.M); args.taps != nil {
			f, whole = t.edge[n-1], true
		}
	}
	if whole {
		args.panels, args.half = panels+half, 0
	}
	runNN(f, noescape(args))
	args.panels, args.half = panels, half
}

// args returns what all calls of a product have in common.
func (g *NN) args() nnArgs {
	args := nnArgs{
		lda:     4 * g.Lda,
		segNext: 4 * (g.SegStride - g.K),
		segs:    g.Segs,
		k:       g.K,
		panel:   4 * Width * g.BRows,
		ldc:     4 * g.Ldc,
	}
	if g.Bias != nil {
		args.mode |= modeBias
	}
	if g.Accumulate {
		args.mode |= modeAccumulate
	}
	if g.ReLU {
		args.mode |= modeReLU
	}
	return args
}

// tall returns the rows of the highest tile for g.
func (t *tiles) tall(g *NN) int {
	if 4*g.Lda%setBytes == 0 {
		return min(len(t.nn), setWays)
	}
	return len(t.nn)
}

// group returns how many panels one call takes when the rows are split into blocks.
func (t *tiles) group(g *NN, blocks int) int {
	depth := g.Segs * g.K
	rows := (g.M + blocks - 1) / blocks
	group := min(t.flops/(2*Width*depth*rows), maxBytes/(4*Width*depth))
	if blocks > 1 || t.ahead && rows > 3 && g.N/Width*depth > largeB {
		group = min(group, blockSize/(4*Width*depth))
	}
	switch {
	case t.ahead && rows == 4 && group >= 3:
		return group / 3 * 3 // as their tiles are
	case group >= 4:
		return group &^ 3
	case rows <= 3 || !t.ahead:
		return leastGroup
	}
	return max(group, 1)
}

// multiplyT is GemmTN. The rows m are taken in runs that stay in the second-level
// cache; each later run starts from C.
func (t *tiles) multiplyT(g *TN) {
	if g.Segs*g.M == 0 {
		tnGeneric(g)
		return
	}
	args := tnArgs{
		lda:   4 * g.Lda,
		ldg:   4 * g.Ldg,
		panel: 4 * Width * g.CRows,
	}
	if g.Accumulate {
		args.accumulate = 1
	}
	if t.packs(g) {
		if g.M*Width*t.wide <= packFloats {
			t.packShort(g, args)
		} else {
			t.packLong(g, args)
		}
		return
	}
	depth := blockSize / (4 * (g.K + g.N))
	segs, run := min(g.Segs, max(depth/g.M, 1)), min(g.M, max(depth, 64))
	for s := 0; s < g.Segs; s += segs {
		for m := 0; m < g.M; m += run {
			args.segs = min(segs, g.Segs-s)
			args.m = min(run, g.M-m)
			args.aNext = 4 * (g.ASeg - args.m*g.Lda)
			args.gNext = 4 * (g.GSeg - args.m*g.Ldg)
			at := g.G[s*g.GSeg+m*g.Ldg:]
			all := g.N / Width
			group := max(t.flops/(2*Width*args.segs*args.m*len(t.tn))&^3, 4)
			for p := 0; p < all; p += group {
				args.panels, args.half = t.halved(min(group, all-p), all-p, g.N, g.Cols)
				args.g = &at[p*Width]
				t.runT(g, &args, s*g.ASeg+m*g.Lda, p)
			}
			args.accumulate = 1
		}
	}
}

// The copy that multiplyPacked makes of a part of G is of packFloats, a quarter of
// a first-level cache, or of manyFloats for long sums, whose parts of C would
// otherwise go to memory and back too often.
const (
	packFloats = 2048
	manyFloats = 8192
)

// Rows of G at least packLd floats apart are copied for sums of at least packLeast
// terms.
const (
	packLd    = 256
	packLeast = 16
)

// packs reports whether a copy of G pays: its rows are so far apart that a panel's
// lines drive each other out of the first-level cache, and K is large enough to use
// each line often.
func (t *tiles) packs(g *TN) bool {
	return t.gather != nil && g.Ldg >= packLd && g.K >= 4*len(t.tn) && g.M >= packLeast
}

// packShort is multiplyPacked for sums that packFloats hold, and packLong for
// longer ones.
func (t *tiles) packShort(g *TN, args tnArgs) {
	var space [packFloats + Width]float32
	t.multiplyPacked(g, args, aligned(noescape(&space)[:]))
}

func (t *tiles) packLong(g *TN, args tnArgs) {
	var space [manyFloats + Width]float32
	t.multiplyPacked(g, args, aligned(noescape(&space)[:]))
}

// aligned returns x from the next multiple of 64 bytes on.
func aligned(x []float32) []float32 {
	return x[(64-int(uintptr(unsafe.Pointer(&x[0]))%64))/4%Width:]
}

// multiplyPacked is multiplyT on a copy of one group of G's panels at a time, in
// the given memory.
func (t *tiles) multiplyPacked(g *TN, args tnArgs, packed []float32) {
	all := g.N / Width
	run := len(packed) / Width / t.wide
	args.segs = 1
	for s := range g.Segs {
		for m := 0; m < g.M; m += run {
			args.m = min(run, g.M-m)
			for p := 0; p < all; p += t.wide {
				n := min(t.wide, all-p)
				args.panels, args.half = t.halved(n, all-p, g.N, g.Cols)
				cols, gather := n*Width, t.gather[n-1]
				gather(&packed[0], &g.G[s*g.GSeg+m*g.Ldg+p*Width], args.m, 4*g.Ldg, 4*cols)
				args.g, args.ldg = &packed[0], 4*cols
				t.runT(g, &args, s*g.ASeg+m*g.Lda, p)
			}
			args.accumulate = 1
		}
	}
}

// runT runs args over all rows of C from panel p on; a is where its rows start in
// A.
func (t *tiles) runT(tn *TN, args *tnArgs, a, p int) {
	panels, half := args.panels, args.half
	most := max(t.flops/(2*Width*(panels+half)*args.segs*args.m*len(t.tn)), 1)
	c := p * tn.CRows * Width
	for left := tn.K; left > 0; {
		n, count := t.tnPlan.next(left, len(t.tn))
		count = min(count, most)
		args.a = &tn.A[a]
		args.c = &tn.C[c]
		args.blocks = count
		if args.panels, args.half = panels, half; half > 0 && !halves(n) {
			args.panels, args.half = panels+half, 0
		}
		runTN(t.tn[n-1], noescape(args))
		a += n * count
		c += n * count * Width
		left -= n * count
	}
}

// runNN calls f. It is a Go function of its own so that the runtime can interrupt a
// loop of calls.
//
//go:noinline
func runNN(f func(*nnArgs), args *nnArgs) { f(args) }

// runTN is runNN for TN tiles.
//
//go:noinline
func runTN(f func(*tnArgs), args *tnArgs) { f(args) }

// noescape returns p and hides it from escape analysis, which can't see that a
// function called through a table keeps no pointer. It must be a call: inlined, what
// it returns may be kept where the runtime does not see it, and then leads to where
// the stack was before it grew.
//
//go:noinline
//go:nosplit
func noescape[T any](p *T) *T {
	x := uintptr(unsafe.Pointer(p))
	return *(**T)(unsafe.Pointer(&x))
}

const (
	keepPanels = 2       // of a tile that keeps pairs
	keepTerms  = 512     // most rows of floats that it rounds, half a first-level cache of pairs
	keepLeast  = 1 << 15 // fewest floats of B for which memory for the pairs pays
)

// keeps reports whether what the first block of rows rounds should be kept for the
// others.
func (t *tiles) keeps(g *NN, tall int) bool {
	first, _ := t.nnPlan.next(g.M, tall)
	return t.keep != nil && first < g.M && t.keep[first-1] != nil && g.K*g.N >= keepLeast
}

// multiplyKept is multiplyRun with floats, which it rounds once: all blocks of rows go
// over the pairs of a run of terms of two panels before the next run. Each later run goes
// on from C.
func (t *tiles) multiplyKept(g *NN, tall int) {
	var space [keepPanels*keepTerms/2*Width + Width]float32
	pairs := aligned(noescape(&space)[:])
	runs := (g.K + keepTerms - 1) / keepTerms
	run := ((g.K+runs-1)/runs + 1) &^ 1
	args := g.args()
	start, end := args.mode&^modeReLU, args.mode&modeReLU
	panel := args.panel
	for p := 0; p < g.N/Width; p += keepPanels {
		args.panels = min(keepPanels, g.N/Width-p)
		if g.Bias != nil {
			args.bias = &g.Bias[p*Width]
		}
		args.mode = start
		for k := 0; k < g.K; k += run {
			n := min(run, g.K-k)
			if k+n == g.K {
				args.mode |= end
			}
			half := (n + 1) / 2
			args.k, args.panel = n, panel
			args.b, args.ahead, args.aheadStep = &g.B[(p*g.BRows+k)*Width], &pairs[0], 4*Width*half
			for i := 0; i < g.M; {
				rows, _ := t.nnPlan.next(g.M-i, tall)
				args.a, args.c, args.blocks = &g.A[i*g.Lda+k/2], &g.C[i*g.Ldc+p*Width], 1
				if i == 0 {
					runNN(t.keep[rows-1], noescape(&args))
					args.b, args.k, args.panel, args.segNext = &pairs[0], half, 4*Width*half, 0
				} else {
					runNN(t.pairs[rows-1], noescape(&args))
				}
				i += rows
			}
			args.mode = modeAccumulate
		}
	}
}

// Edges says where the rows of A in a product have zeros, as the windows of a
// convolution do that reach over the sides of an image. A level may leave out the
// products with them, which changes no bit of a sum of finite numbers that is not zero.
type Edges struct {
	terms       int      // of a segment
	whole       []nnTaps // of all rows in one tile
	first, last []nnTaps // of the first of several tiles and of the last
}

// edgeRows are the most rows of a tile that leave out something in a step.
const edgeRows = 2

// NewEdges returns the edges of a product whose K counts taps times step terms: row i has
// zeros in its first before - i taps and in its last after - (M-1-i), if that is more
// than 0.
func NewEdges(step, taps, before, after int) *Edges {
	return &Edges{step * taps, edges(step, taps, before, after), edges(step, taps, before, 0), edges(step, taps, 0, after)}
}

func edges(step, taps, before, after int) []nnTaps {
	var list []nnTaps
	for tap := range taps {
		left := min(max(before-tap, 0), edgeRows)
		if left == 0 {
			if left = min(max(after-(taps-1-tap), 0), edgeRows); left > 0 {
				left += edgeRows
			}
		}
		if last := len(list) - 1; last >= 0 && list[last].left == left {
			list[last].steps += step
		} else {
			list = append(list, nnTaps{step, left})
		}
	}
	return append(list, nnTaps{})
}

// taps returns those of a tile that is the first of a product, the last, or both.
func (e *Edges) taps(first, last bool) *nnTaps {
	switch {
	case first && last:
		return &e.whole[0]
	case first:
		return &e.first[0]
	case last:
		return &e.last[0]
	}
	return nil
}
