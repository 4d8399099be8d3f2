package kernels_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/fedfast/fedfast/internal/kernelstest"
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
		{OH: 2, OW: 2, C: 16, KH: 1, KW: 1, Stride: 3},
		{OH: 1, OW: 1, C: 16, KH: 7, KW: 5, Stride: 1},
	} {
		for spare := range 2 { // pixels that no window reaches
			p.SrcW = (max(p.OW, 1)-1)*p.Stride + p.KW + spare
			t.Run(fmt.Sprintf("%dx%dx%d/window=%dx%d/stride=%d/width=%d", p.OH, p.OW, p.C, p.KH, p.KW, p.Stride, p.SrcW), func(t *testing.T) {
				kernelstest.ForEachLevel(t, func(t *testing.T) { testPool(t, p) })
			})
		}
	}
}

func testPool(t *testing.T, p kernels.Pool) {
	r := newRand(12)
	n := p.OH * p.OW * p.C
	srcH := (max(p.OH, 1)-1)*p.Stride + p.KH
	src, dst := spread(r, srcH*p.SrcW*p.C, 1), kernelstest.NewSlice(n, 2)
	for i := range src.Data { // ties
		if r.IntN(3) == 0 {
			src.Data[i] = 1.5
		}
	}
	idx := make([]uint8, n+64)
	for i := range idx {
		idx[i] = 0xaa
	}
	p.Src, p.Dst, p.Idx = src.Data, dst.Data, idx[32:][:n:n]
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
				i := (y*p.OW+x)*p.C + c
				if int(p.Idx[i]) != pos || !equal(dst.Data[i], src.Data[at(pos)]) {
					t.Fatalf("output (%d,%d,%d) is %v at %d, want %v at %d", y, x, c, dst.Data[i], p.Idx[i], src.Data[at(pos)], pos)
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
		if (i < 32 || i >= 32+n) && v != 0xaa {
			t.Fatalf("byte %d of %d was written outside Idx", i-32, n)
		}
	}
	noAllocation(t, func() {
		kernels.MaxPool(&p)
		kernels.MaxPoolBackward(&p)
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
			p := kernels.Pool{OH: 1, OW: 1, C: 16, KH: 2, KW: 2, Stride: 2, Src: src, SrcW: 2, Dst: make([]float32, 16), Idx: make([]uint8, 16)}
			kernels.MaxPool(&p)
			if p.Dst[5] == p.Dst[5] || int(p.Idx[5]) != k {
				t.Errorf("NaN at %d: maximum %v at %d", k, p.Dst[5], p.Idx[5])
			}
		}
	})
}
