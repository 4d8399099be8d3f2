package kernels

import "math"

func nnBlocksGeneric(g *NN) {
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
				addBlocks(&acc, g.K, func(t int) (float32, []float32) {
					return g.A[i*g.Lda+s*g.SegStride+t], b[(s*g.K+t)*Width:]
				})
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

func tnBlocksGeneric(t *TN) {
	for p := range t.N / Width {
		for k := range t.K {
			c := (*[Width]float32)(t.C[p*t.CRows*Width+k*Width:])
			var acc [Width]float32
			if t.Accumulate {
				acc = *c
			}
			for s := range t.Segs {
				addBlocks(&acc, t.M, func(m int) (float32, []float32) {
					return t.A[s*t.ASeg+m*t.Lda+k], t.G[s*t.GSeg+m*t.Ldg+p*Width:]
				})
			}
			*c = acc
		}
	}
}

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
