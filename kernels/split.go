//go:build !purego && (amd64 || arm64)

package kernels

import (
	"math"
	"sync"
)

// splitTiles multiply split pairs by fused multiply-adds of floats: first the high halves of two pairs, then the low
// ones, as [Dot2] does. The halves of A are laid into two planes of floats, which all panels of B use; those of B are
// taken apart in registers.
type splitTiles struct {
	split  func(dst, src *float32, groups int) // writes the halves of groups of 16 pairs to two planes
	blocks []func(*blockArgs)
	tiles

	pairs, floats *tiles // of VDPBF16PS, where it is there, too
}

// bind puts the products into bf16s.
func (t *splitTiles) bind() {
	bf16s.nn, bf16s.nnFloats, bf16s.tn, bf16s.nt, bf16s.step = t.multiply, t.multiply, t.multiplyT, t.multiplyNT, t.step
	bf16s.nnBlocks, bf16s.tnBlocks = t.multiply, blockTiles{split: t}.tn
	bf16s.peak, bf16s.peakFLOPs = gemms.peak, gemms.peakFLOPs
}

const (
	splitPlane  = 1 << 15              // numbers of a plane
	splitApart  = splitPlane + 2*Width // numbers from a plane to the other, known to the assembly
	splitRun    = 512                  // most rows of floats of B that are rounded at a time, of splitPanels panels
	splitPanels = 4

	// VDPBF16PS is faster for products of up to splitLeast columns, and of one block of rows
	// with splitFar floats or more, which wait for the memory.
	splitLeast = 2 * Width
	splitFar   = 1 << 19
)

// splitPlanes has room for the high halves of pairs of A and, apart from them, their low ones, and then for pairs of B.
type splitPlanes [2*splitApart + splitPanels*splitRun/2*Width + Width]float32

// splitPool keeps planes, which on a stack would be cleared for each product.
var splitPool = sync.Pool{New: func() any { return new(splitPlanes) }}

// takeSplit returns planes, aligned, to give back to splitPool.
func takeSplit() (p *splitPlanes, x []float32) {
	p = splitPool.Get().(*splitPlanes)
	return p, aligned(p[:])
}

// splitLd returns how far apart rows of k numbers, in A lda apart, are in a plane: as there, unless
// that is too far.
func splitLd(lda, k int) int {
	if lda <= max(2*k, 4*Width) {
		return lda
	}
	return k
}

// splitSize returns what a segment of some rows takes of a plane.
func splitSize(rows, lda, k int) int {
	return ((rows-1)*splitLd(lda, k) + k + Width - 1) &^ (Width - 1)
}

// splitRows lays segments of rows of k pairs into planes. It returns the distances between rows and segments there.
func (t *splitTiles) splitRows(dst, a []float32, segs, segStride, rows, lda, k int) (ld, size int) {
	ld, size = splitLd(lda, k), splitSize(rows, lda, k)
	for s := range segs {
		to, from := dst[s*size:], a[s*segStride:]
		if ld == lda {
			t.splitPairs(to, from[:(rows-1)*lda+k])
			continue
		}
		for i := range rows {
			t.splitPairs(to[i*ld:], from[i*lda:][:k])
		}
	}
	return ld, size
}

// splitPairs lays pairs into planes.
//
//go:noinline
func (t *splitTiles) splitPairs(dst, src []float32) {
	n := len(src)
	if n < Width {
		for i, x := range src {
			bits := math.Float32bits(x)
			dst[i], dst[i+splitApart] = math.Float32frombits(bits&0xffff0000), math.Float32frombits(bits<<16)
		}
		return
	}
	t.split(&dst[0], &src[0], n/Width)
	if n%Width > 0 { // with some once more
		t.split(&dst[n-Width], &src[n-Width], 1)
	}
}

// multiply is GemmNN.
func (t *splitTiles) multiply(g *NN) {
	if g.Segs*g.K == 0 {
		nnGeneric(g)
		return
	}
	run, segs, numbers := g.K, g.Segs, 1 // rows and segments at a time; rows of B for a number of A
	switch {
	case g.Floats && t.floats != nil && (g.N <= splitLeast || g.M <= len(t.nn) && g.K*g.N >= splitFar):
		t.floats.multiply(g)
		return
	case !g.Floats && !g.Blocks && t.pairs != nil && g.N <= splitLeast:
		t.pairs.multiply(g)
		return
	case g.Floats:
		run, numbers = splitRun, 2
	case segs*(g.K+Width) > splitPlane:
		run, segs = splitPlane-Width, 1
	}
	space, x := takeSplit()
	defer splitPool.Put(space)
	h := *g
	h.A, h.Floats, h.Segs = x, false, segs
	for s := 0; s < g.Segs; s += segs {
		for k := 0; k < g.K; k += run {
			n := min(run, g.K-k)
			h.K = (n + numbers - 1) / numbers
			h.ReLU = g.ReLU && s+segs == g.Segs && k+n == g.K
			// As many rows as the planes have room for.
			most := (splitPlane/segs-Width-h.K)/max(splitLd(g.Lda, h.K), 1) + 1
			if tall := len(t.nn); most > tall {
				most -= most % tall
			}
			for i := 0; i < g.M; i += most {
				if h.M = min(most, g.M-i); h.M < g.M || g.Floats || run < g.K || segs < g.Segs {
					h.Edges = nil
				}
				h.Lda, h.SegStride = t.splitRows(x, g.A[i*g.Lda+s*g.SegStride+k/numbers:], segs, g.SegStride, h.M, g.Lda, h.K)
				h.C = g.C[i*g.Ldc:]
				switch h.B = g.B[(s*g.K+k)*Width:]; {
				case g.Floats:
					t.multiplyFloats(h, h.B, n)
				case g.Blocks:
					blockTiles{split: t}.nn(noescape(&h))
				default:
					t.multiplyRun(noescape(&h))
				}
			}
			h.Bias, h.Accumulate = nil, true
		}
	}
}

// multiplyFloats is multiply for one run of rows of floats, which it rounds to pairs.
func (t *splitTiles) multiplyFloats(h NN, b []float32, rows int) {
	n, cols, ld := h.N, h.Cols, h.BRows*Width
	c, bias := h.C, h.Bias
	pairs := h.A[2*splitApart:]
	h.B, h.BRows = pairs, h.K
	for j := 0; j < n; j += splitPanels * Width {
		h.N = min(splitPanels*Width, n-j)
		h.Cols = min(max(cols-j, 0), h.N)
		h.C = c[j:]
		if bias != nil {
			h.Bias = bias[j:]
		}
		for p := range h.N / Width {
			r := PairRows{
				Rows: h.K, N: Width, Src: b[(j/Width+p)*ld:], Step: 2 * Width, Other: Width, Single: rows%2 > 0,
				Dst: pairs[p*h.K*Width:], Ld: Width,
			}
			r.Run()
		}
		t.multiplyRun(noescape(&h))
	}
}

// multiplyT is GemmTN.
func (t *splitTiles) multiplyT(g *TN) {
	if g.Segs*g.M == 0 {
		tnGeneric(g)
		return
	}
	if t.pairs != nil && g.N <= splitLeast {
		t.pairs.multiplyT(g)
		return
	}
	cols, rows, segs := g.K, g.M, 1
	if size := splitSize(g.M, g.Lda, g.K); size <= splitPlane {
		segs = splitPlane / size
	} else {
		rows = min(g.M, splitPlane/(4*Width))
		cols = splitPlane / (2 * rows) &^ (Width - 1)
	}
	space, x := takeSplit()
	defer splitPool.Put(space)
	h := *g
	h.A = x
	for k := 0; k < g.K; k += cols {
		h.K, h.C, h.Accumulate = min(cols, g.K-k), g.C[k*Width:], g.Accumulate
		for s := 0; s < g.Segs; s += segs {
			for m := 0; m < g.M; m += rows {
				h.Segs, h.M = min(segs, g.Segs-s), min(rows, g.M-m)
				h.Lda, h.ASeg = t.splitRows(x, g.A[s*g.ASeg+m*g.Lda+k:], h.Segs, g.ASeg, h.M, g.Lda, h.K)
				h.G = g.G[s*g.GSeg+m*g.Ldg:]
				t.tiles.multiplyT(noescape(&h))
				h.Accumulate = true
			}
		}
	}
}

// multiplyNT is GemmNT: it rounds some rows of B at a time.
func (t *splitTiles) multiplyNT(g *NT) {
	if g.N == 0 {
		ntGeneric(g)
		return
	}
	space, x := takeSplit()
	defer splitPool.Put(space)
	b := x[2*splitApart:] // copyPanels/2 groups of copyRows
	h := *g
	h.A = x
	args := ntArgs{b: &b[0], panel: 4 * Width * copyRows, ldl: 4 * Width * g.LRows}
	for p := 0; p < g.N/Width; p += copyPanels {
		panels := min(copyPanels, g.N/Width-p)
		args.panels = (panels + 1) / 2
		if g.Accumulate || p > 0 {
			args.accumulate = 1
		}
		rows := splitPlane / (2 * Width * args.panels)
		for i := 0; i < g.M; i += rows {
			h.M, h.L = min(rows, g.M-i), g.L[i*g.LRows*Width:]
			h.Lda, _ = t.splitRows(x, g.A[i*g.Lda+p/2*Width:], 1, 0, h.M, g.Lda, args.panels*Width)
			args.lda = 4 * h.Lda
			for k := 0; k < g.K; k += copyRows {
				args.k = min(copyRows, g.K-k)
				src, dst, panel := g.B[(p*g.BRows+k)*Width:], &b[0], 4*Width*g.BRows
				if panels > 1 {
					runPair(bf16s.join, dst, &src[0], panel, 2*panel, args.panel, panels/2, args.k)
				}
				if panels%2 > 0 {
					src = src[(panels-1)*g.BRows*Width:]
					runPair(bf16s.join, &b[panels/2*copyRows*Width], &src[0], distance(src, noNumbers[:]), 4, 4, 1, args.k)
				}
				t.runNT(noescape(&h), &args, 0, k)
			}
		}
	}
}

// step is GemmTNStep.
func (t *splitTiles) step(s *TNStep) {
	g := &s.Grad
	cols := g.K
	whole := splitSize(g.M, g.Lda, g.K) <= splitPlane
	if t.ts == nil || s.inParts() || !whole && (s.From != nil || g.M > splitPlane/(4*Width)) {
		stepInParts(s)
		return
	}
	if !whole {
		cols = splitPlane / (2 * g.M) &^ (Width - 1)
	}
	space, x := takeSplit()
	defer splitPool.Put(space)
	h := *s
	h.Grad.A = x
	after := func(x []float32, rows int) []float32 { return x[min(rows*Width, len(x)):] }
	for k := 0; k < g.K; k += cols {
		h.Grad.K = min(cols, g.K-k)
		h.Grad.Lda, _ = t.splitRows(x, g.A[k:], 1, 0, g.M, g.Lda, h.Grad.K)
		h.Step.W, h.Step.V, h.Step.Anchor = after(s.Step.W, k), after(s.Step.V, k), after(s.Step.Anchor, k)
		h.Next, h.NextV = after(s.Next, k), after(s.NextV, k)
		t.tiles.step(noescape(&h))
	}
}
