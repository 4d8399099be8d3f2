package kernels

import (
	"runtime"
	"unsafe"
)

// gemmGeneric is the plain Go level.
var gemmGeneric = gemmTable{
	nn: nnGeneric, tn: tnGeneric, nt: ntGeneric, fold: foldGeneric, step: stepInParts, peak: peakGeneric, peakFLOPs: 16, read: readGeneric,
	transpose: transposeGeneric, copyRows: copyRowsGeneric,
}

func nnGeneric(g *NN) {
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
			if g.K > 0 {
				for s := range g.Segs {
					dotPanel(&acc, g.A[i*g.Lda+s*g.SegStride:][:g.K], b[s*g.K*Width:])
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

// dotPanel adds to acc[j] the sum over t of a[t]*b[t*16+j].
func dotPanel(acc *[Width]float32, a, b []float32) {
	for t, x := range a {
		mulAddRow(acc, x, (*[Width]float32)(b[t*Width:]))
	}
}

func tnGeneric(t *TN) {
	for p := range t.N / Width {
		for k := range t.K {
			c := (*[Width]float32)(t.C[p*t.CRows*Width+k*Width:])
			var acc [Width]float32
			if t.Accumulate {
				acc = *c
			}
			for s := range t.Segs {
				for m := range t.M {
					x := t.A[s*t.ASeg+m*t.Lda+k]
					mulAddRow(&acc, x, (*[Width]float32)(t.G[s*t.GSeg+m*t.Ldg+p*Width:]))
				}
			}
			*c = acc
		}
	}
}

func transposeGeneric(dst, src *float32, blocks, dstStep int) {
	for i := range blocks {
		d := (*[Width * Width]float32)(unsafe.Add(unsafe.Pointer(dst), i*dstStep))
		s := (*[Width * Width]float32)(unsafe.Add(unsafe.Pointer(src), i*4*Width*Width))
		for j := range Width {
			for r := range Width {
				d[j*Width+r] = s[r*Width+j]
			}
		}
	}
}

func copyRowsGeneric(dst, src *float32, rows, dstStep, srcStep, lines int) {
	row := func(p *float32, at int) []float32 {
		return unsafe.Slice((*float32)(unsafe.Add(unsafe.Pointer(p), at)), lines*Width)
	}
	for i := range rows {
		copy(row(dst, i*dstStep), row(src, i*srcStep))
	}
}

func foldGeneric(dst, lanes *float32, groups int) {
	d, l := unsafe.Slice(dst, 8*groups), unsafe.Slice(lanes, 8*groups*Width)
	for i := range d {
		v := [Width]float32(l[i*Width:])
		d[i] = tree(&v)
	}
}

func readGeneric(x *float32, lines int) {
	var sum float32
	for _, v := range unsafe.Slice(x, 2*lines*Width) {
		sum += v
	}
	runtime.KeepAlive(sum)
}

func peakGeneric(n int) {
	const x, y = float32(1.0 / 1024), float32(1.0 / 512)
	var a, b, c, d, e, f, g, h float32
	z := x
	for range n {
		a += float32(z * y)
		b += float32(z * y)
		c += float32(z * y)
		d += float32(z * y)
		e += float32(z * y)
		f += float32(z * y)
		g += float32(z * y)
		h += float32(z * y)
		z += x
	}
	runtime.KeepAlive(a + b + c + d + e + f + g + h)
}
