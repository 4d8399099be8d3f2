package kernels_test

import (
	"cmp"
	"fmt"
	"math"
	"testing"

	"github.com/fedfast/fedfast/internal/test/kernelstest"
	"github.com/fedfast/fedfast/kernels"
)

func TestMaxPool(t *testing.T) {
	for _, p := range []kernels.Pool{
		{OH: 0, OW: 3, C: 16, KH: 2, KW: 2, Stride: 2},
		{OH: 1, OW: 1, C: 16, KH: 2, KW: 2, Stride: 2},
		{OH: 3, OW: 5, C: 32, KH: 2, KW: 2, Stride: 2},
		{OH: 4, OW: 2, C: 48, KH: 2, KW: 2, Stride: 2},
		{OH: 3, OW: 4, C: 16, KH: 3, KW: 3, Stride: 2},
		{OH: 2, OW: 3, C: 32, KH: 2, KW: 3, Stride: 1},
		{OH: 3, OW: 11, C: 32, KH: 3, KW: 3, Stride: 1},
		{OH: 2, OW: 2, C: 16, KH: 1, KW: 1, Stride: 3},
		{OH: 1, OW: 1, C: 16, KH: 7, KW: 5, Stride: 1},
	} {
		for spare := range 2 { // pixels that no window reaches
			p.DstRow, p.IdxRow = spare*(p.OW*p.C+32), spare*(p.OW*p.C+48)
			p.SrcW = (max(p.OW, 1)-1)*p.Stride + p.KW + spare
			t.Run(fmt.Sprintf("%dx%dx%d/window=%dx%d/stride=%d/width=%d", p.OH, p.OW, p.C, p.KH, p.KW, p.Stride, p.SrcW),
				func(t *testing.T) {
					kernelstest.ForEachLevel(t, func(t *testing.T) { testPool(t, p) })
				})
		}
	}
}

func testPool(t *testing.T, p kernels.Pool) {
	r := newRand(12)
	dstRow, idxRow := cmp.Or(p.DstRow, p.OW*p.C), cmp.Or(p.IdxRow, p.OW*p.C)
	m := max(p.OH-1, 0)*idxRow + min(p.OH, 1)*p.OW*p.C
	n := max(p.OH-1, 0)*dstRow + min(p.OH, 1)*p.OW*p.C
	srcH := (max(p.OH, 1)-1)*p.Stride + p.KH
	src, dst := spread(r, srcH*p.SrcW*p.C, 1), kernelstest.NewSlice(n, 2)
	for i := range src.Data { // ties
		if r.IntN(3) == 0 {
			src.Data[i] = 1.5
		}
	}
	idx := make([]uint8, m+64)
	for i := range idx {
		idx[i] = 0xaa
	}
	p.Src, p.Dst, p.Idx = src.Data, dst.Data, idx[32:][:m:m]
	kernels.MaxPool(&p)
	src.Check(t, "source")
	dst.Check(t, "maxima")

	d, back := kernelstest.Random(r, n, 3), kernelstest.Random(r, len(src.Data), 4)
	want := clone(back.Data)
	for y := range p.OH {
		for x := range p.OW {
			for c := range p.C {
				at := func(k int) int { return ((y*p.Stride+k/p.KW)*p.SrcW+x*p.Stride+k%p.KW)*p.C + c }
				pos := 0
				for k := range p.KH * p.KW {
					if v := src.Data[at(k)]; v > src.Data[at(pos)] || v != v {
						pos = k
					}
				}
				i := y*dstRow + x*p.C + c
				if j := y*idxRow + x*p.C + c; int(p.Idx[j]) != pos || !equal(dst.Data[i], src.Data[at(pos)]) {
					t.Fatalf("output (%d,%d,%d) is %v at %d, want %v at %d", y, x, c, dst.Data[i], p.Idx[j], src.Data[at(pos)], pos)
				}
				want[at(pos)] += d.Data[i]
			}
		}
	}
	p.Src, p.Dst = back.Data, d.Data
	kernels.MaxPoolBackward(&p)
	back.Check(t, "gradient")
	for i, got := range back.Data {
		if got != want[i] {
			t.Fatalf("gradient %d is %v, want %v", i, got, want[i])
		}
	}
	for i, v := range idx {
		if (i < 32 || i >= 32+m) && v != 0xaa {
			t.Fatalf("byte %d of %d was written outside Idx", i-32, m)
		}
	}
	noAllocation(t, func() {
		kernels.MaxPool(&p)
		kernels.MaxPoolBackward(&p)
	})
}

func TestMeanPool(t *testing.T) {
	for _, p := range []kernels.Pool{
		{OH: 0, OW: 3, C: 16, KH: 2, KW: 2, Stride: 2},
		{OH: 3, OW: 11, C: 16, KH: 3, KW: 3, Stride: 1},
		{OH: 2, OW: 6, C: 48, KH: 2, KW: 3, Stride: 2},
		{OH: 1, OW: 1, C: 32, KH: 17, KW: 19, Stride: 1},
	} {
		t.Run(fmt.Sprintf("%dx%dx%d/window=%dx%d/stride=%d", p.OH, p.OW, p.C, p.KH, p.KW, p.Stride), func(t *testing.T) {
			kernelstest.ForEachLevel(t, func(t *testing.T) { testMeanPool(t, p) })
		})
	}
}

func testMeanPool(t *testing.T, p kernels.Pool) {
	r := newRand(13)
	p.SrcW, p.DstRow = (p.OW-1)*p.Stride+p.KW+1, p.OW*p.C+16
	n := max(p.OH-1, 0)*p.DstRow + min(p.OH, 1)*p.OW*p.C
	src, dst, d := spread(r, ((max(p.OH, 1)-1)*p.Stride+p.KH)*p.SrcW*p.C, 1), kernelstest.NewSlice(n, 2),
		kernelstest.Random(r, n, 3)
	back := kernelstest.Random(r, len(src.Data), 4)
	mean, want, part := make([]float32, p.C), clone(back.Data), float32(1)/7
	p.Src, p.Dst = src.Data, dst.Data
	kernels.MeanPool(&p, part)
	src.Check(t, "source")
	dst.Check(t, "means")
	for y := range p.OH {
		for x := range p.OW {
			clear(mean)
			at := ((y*p.SrcW + x) * p.Stride) * p.C
			i := y*p.DstRow + x*p.C
			for ky := range p.KH {
				for kx := range p.KW {
					from := at + (ky*p.SrcW+kx)*p.C
					kernels.Add(mean, mean, src.Data[from:][:p.C])
					kernels.Axpy(want[from:][:p.C], part, d.Data[i:][:p.C])
				}
			}
			kernels.Scale(mean, part)
			for c, v := range mean {
				if !equal(dst.Data[i+c], v) {
					t.Fatalf("output (%d,%d,%d) is %v, want %v", y, x, c, dst.Data[i+c], v)
				}
			}
		}
	}
	p.Src, p.Dst = back.Data, d.Data
	kernels.MeanPoolBackward(&p, part)
	back.Check(t, "gradient")
	for i, got := range back.Data {
		if !equal(got, want[i]) {
			t.Fatalf("gradient %d is %v, want %v", i, got, want[i])
		}
	}
	noAllocation(t, func() {
		kernels.MeanPool(&p, part)
		kernels.MeanPoolBackward(&p, part)
	})
}

func TestMaxPoolPassesNaNOn(t *testing.T) {
	nan := float32(math.NaN())
	kernelstest.ForEachLevel(t, func(t *testing.T) {
		for k := range 4 {
			src := make([]float32, 4*16)
			for c := range 16 {
				src[3*16+c] = 7
				src[k*16+c] = nan
			}
			p := kernels.Pool{
				OH: 1, OW: 1, C: 16, KH: 2, KW: 2, Stride: 2, Src: src, SrcW: 2, Dst: make([]float32, 16),
				Idx: make([]uint8, 16),
			}
			kernels.MaxPool(&p)
			if p.Dst[5] == p.Dst[5] || int(p.Idx[5]) != k {
				t.Errorf("NaN at %d: maximum %v at %d", k, p.Dst[5], p.Idx[5])
			}
		}
	})
}
