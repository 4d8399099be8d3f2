package kernels

import (
	"math"
	"runtime"
	"unsafe"
)

// bf16Generic is the plain Go level, of the same bits as assembly.
var bf16Generic = bf16Table{
	nn: nnBF16Generic, nnFloats: nnBF16Generic, tn: tnBF16Generic, nt: ntBF16Generic, step: stepInParts, pair: pairGeneric, join: joinGeneric, round: roundGeneric,
	nnBlocks: nnBF16Generic, tnBlocks: tnBF16Generic,
	peak: peakBF16Generic, peakFLOPs: 4,
}

func nnBF16Generic(g *NN) {
	for p := range g.N / Width {
		b := g.B[min(p*g.BRows*Width, len(g.B)):]
		for i := range g.M {
			c := (*[Width]float32)(g.C[i*g.Ldc+p*Width:])
			var acc [Width]float32
			switch {
			case g.Accumulate:
				acc = *c
			case g.Bias != nil:
				acc = [Width]float32(g.Bias[p*Width:])
			}
			for s := range g.Segs {
				if g.Blocks {
					addBlocks(&acc, g.K, func(t int) (float32, []float32) {
						return g.A[i*g.Lda+s*g.SegStride+t], b[(s*g.K+t)*Width:]
					})
					continue
				}
				for t := range g.wide() {
					if x := g.A[i*g.Lda+s*g.SegStride+t]; g.Floats {
						dot2Floats(&acc, x, b[2*t*Width:min(2*t+2, g.K)*Width])
					} else {
						dot2Row(&acc, x, b[(s*g.K+t)*Width:])
					}
				}
			}
			if g.ReLU {
				for j, v := range acc {
					if v < 0 {
						acc[j] = 0
					}
				}
			}
			*c = acc
		}
	}
}

// dot2Row adds the products of the pair x with 16 pairs.
func dot2Row(acc *[Width]float32, x float32, row []float32) {
	for j, y := range (*[Width]float32)(row) {
		acc[j] = Dot2(acc[j], x, y)
	}
}

// dot2Floats adds the products of the pair x with pairs of two rows of 16 floats,
// or of one and zeros.
func dot2Floats(acc *[Width]float32, x float32, rows []float32) {
	for j := range acc {
		high := float32(0)
		if len(rows) > Width {
			high = rows[Width+j]
		}
		acc[j] = Dot2(acc[j], x, pairOf(rows[j], high))
	}
}

func tnBF16Generic(t *TN) {
	for p := range t.N / Width {
		for k := range t.K {
			c := (*[Width]float32)(t.C[p*t.CRows*Width+k*Width:])
			var acc [Width]float32
			if t.Accumulate {
				acc = *c
			}
			for s := range t.Segs {
				if t.Blocks {
					addBlocks(&acc, t.M, func(m int) (float32, []float32) {
						return t.A[s*t.ASeg+m*t.Lda+k], t.G[s*t.GSeg+m*t.Ldg+p*Width:]
					})
					continue
				}
				for m := range t.M {
					dot2Row(&acc, t.A[s*t.ASeg+m*t.Lda+k], t.G[s*t.GSeg+m*t.Ldg+p*Width:])
				}
			}
			*c = acc
		}
	}
}

func ntBF16Generic(g *NT) {
	for i := range g.M {
		for k := range g.K {
			l := (*[Width]float32)(g.L[(i*g.LRows+k)*Width:])
			var acc [Width]float32
			if g.Accumulate {
				acc = *l
			}
			for p := 0; p < g.N/Width; p += 2 {
				x := (*[Width]float32)(g.A[i*g.Lda+p/2*Width:])
				for j := range acc {
					acc[j] = Dot2(acc[j], x[j], g.columns(k, p+2*j/Width, 2*j%Width))
				}
			}
			*l = acc
		}
	}
}

// columns returns the pair of column j and the next one of panel p in row k of B,
// which are zeros after the last panel.
func (g *NT) columns(k, p, j int) float32 {
	if p == g.N/Width {
		return 0
	}
	row := g.B[(p*g.BRows+k)*Width+j:]
	return pairOf(row[0], row[1])
}

// eachGroup calls f with the groups of 16 floats that pair and join take.
func eachGroup(dst, src *float32, other, step, dstStep, rows, groups int, f func(d, a, b *[Width]float32)) {
	group := func(p *float32, at int) *[Width]float32 { return (*[Width]float32)(unsafe.Add(unsafe.Pointer(p), at)) }
	for i := range rows {
		for j := range groups {
			at := i*step + 4*j*Width
			f(group(dst, i*dstStep+4*j*Width), group(src, at), group(src, at+other))
		}
	}
}

func pairGeneric(dst, src *float32, other, step, dstStep, rows, groups int) {
	eachGroup(dst, src, other, step, dstStep, rows, groups, func(d, a, b *[Width]float32) {
		for i := range d {
			d[i] = pairOf(a[i], b[i])
		}
	})
}

func joinGeneric(dst, src *float32, other, step, dstStep, rows, groups int) {
	eachGroup(dst, src, other, step, dstStep, rows, groups, func(d, a, b *[Width]float32) {
		for i := range Width / 2 {
			d[i], d[Width/2+i] = pairOf(a[2*i], a[2*i+1]), pairOf(b[2*i], b[2*i+1])
		}
	})
}

func roundGeneric(dst, src *float32, groups int) {
	d, s := unsafe.Slice(dst, groups*Width), unsafe.Slice(src, groups*Width)
	for i, x := range s {
		d[i] = rounded(x)
	}
}

// rounded returns x rounded to bf16.
func rounded(x float32) float32 { return math.Float32frombits(roundBits(x) << 16) }

func peakBF16Generic(n int) {
	sum, x := float32(0), pairOf(1, 2)
	for range n {
		sum = Dot2(sum, x, x)
	}
	runtime.KeepAlive(sum)
}

// blockPairs is how many pairs of a sum are a block: 32 numbers. NN.Blocks and TN.Blocks have
// each segment of a sum in such blocks, the last one as it comes: from 0, the products of
// the low halves and those of the high halves are one chain of fused multiply-adds each;
// then both chains are added, and their sum to what was there. Numbers below the normal
// ones count as zeros, before and after each of these operations, as in [Dot2].
const blockPairs = 16

// addBlocks adds the products of n pairs with 16 pairs each.
func addBlocks(acc *[Width]float32, n int, at func(t int) (x float32, row []float32)) {
	for from := 0; from < n; from += blockPairs {
		var low, high [Width]float32
		for t := from; t < min(from+blockPairs, n); t++ {
			x, row := at(t)
			for j, y := range row[:Width] {
				a, b := math.Float32bits(x), math.Float32bits(y)
				low[j] = addProduct(low[j], half(a<<16), half(b<<16))
				high[j] = addProduct(high[j], half(a&0xffff0000), half(b&0xffff0000))
			}
		}
		for j := range acc {
			acc[j] = flush(flush(acc[j]) + flush(low[j]+high[j]))
		}
	}
}
