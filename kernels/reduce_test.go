package kernels_test

import (
	"math"
	"testing"

	"github.com/fedfast/fedfast/internal/test/kernelstest"
	"github.com/fedfast/fedfast/kernels"
)

// blocks adds up the float32 sums of blocks of n elements.
func blocks(n int, block func(lo, hi int) float32) float64 {
	var total float64
	for lo := 0; lo < n; lo += kernels.ReduceBlock {
		total += float64(block(lo, min(n, lo+kernels.ReduceBlock)))
	}
	return total
}

// TestAwayEqualsItsParts compares with a subtraction and three products.
func TestAwayEqualsItsParts(t *testing.T) {
	kernelstest.ForEachLevel(t, func(t *testing.T) {
		r := newRand(7)
		eachLength(func(n, offset int) {
			w, g, anchor := kernelstest.Random(r, n, offset).Data, kernelstest.Random(r, n, 15-offset).Data,
				kernelstest.Random(r, n, 0).Data
			d := make([]float32, n)
			kernels.Sub(d, anchor, w)
			gg, gd, dd := kernels.Away(w, g, anchor)
			if gg != kernels.Dot(g, g) || gd != kernels.Dot(g, d) || dd != kernels.Dot(d, d) {
				t.Fatalf("n=%d: Away = %v, %v, %v, want %v, %v, %v", n, gg, gd, dd, kernels.Dot(g, g), kernels.Dot(g, d),
					kernels.Dot(d, d))
			}
		})
		x := make([]float32, 5000)
		noAllocation(t, func() { kernels.Away(x, x, x) })
		defer func() {
			if recover() == nil {
				t.Error("lengths that differ were taken")
			}
		}()
		kernels.Away(x, x, x[1:])
	})
}

// TestDotsEqualDot compares products taken together with each by itself.
func TestDotsEqualDot(t *testing.T) {
	kernelstest.ForEachLevel(t, func(t *testing.T) {
		r := newRand(8)
		eachLength(func(n, offset int) {
			x, ys := kernelstest.Random(r, n, offset).Data, make([][]float32, 1+n%6)
			for k := range ys {
				ys[k] = kernelstest.Random(r, n, (offset+k)%16).Data
			}
			got := make([]float64, len(ys))
			kernels.Dots(got, x, ys)
			for k, y := range ys {
				if want := kernels.Dot(x, y); got[k] != want {
					t.Fatalf("n=%d: product %d of %d is %v, want %v", n, k, len(ys), got[k], want)
				}
			}
		})
		x, to := make([]float32, 500), make([]float64, 3)
		ys := [][]float32{x, x, x}
		noAllocation(t, func() { kernels.Dots(to, x, ys) })
		defer func() {
			if recover() == nil {
				t.Error("lengths that differ were taken")
			}
		}()
		kernels.Dots(to, x[1:], ys)
	})
}

// TestReductionsEqualOracle compares with the sum in lanes exactly on assembly
// levels, and on all with the float64 sum within 2^-24 * (n/16 + 5) * sum |x y|.
func TestReductionsEqualOracle(t *testing.T) {
	kernelstest.ForEachLevel(t, func(t *testing.T) {
		r := newRand(4)
		eachLength(func(n, offset int) {
			x, y := kernelstest.Random(r, n, offset).Data, kernelstest.Random(r, n, 15-offset).Data
			var dot, dotSize float64
			for i, v := range x {
				p := float64(v) * float64(y[i])
				dot, dotSize = dot+p, dotSize+math.Abs(p)
			}
			steps := 0x1p-24 * float64(min(n, kernels.ReduceBlock)/16+6)
			if got := kernels.Dot(x, y); math.Abs(got-dot) > steps*dotSize {
				t.Fatalf("n=%d: Dot = %v, want about %v", n, got, dot)
			}
			want := blocks(n, func(lo, hi int) float32 {
				return lanesOracle(hi-lo, func(lane float32, i int) float32 { return fma(x[lo+i], y[lo+i], lane) })
			})
			if got := kernels.Dot(x, y); got != want {
				t.Fatalf("n=%d: Dot = %v, want %v", n, got, want)
			}
			if got, want := kernels.Norm(x), math.Sqrt(kernels.Dot(x, x)); got != want {
				t.Fatalf("n=%d: Norm = %v, want %v", n, got, want)
			}
		})
		x := make([]float32, 100)
		noAllocation(t, func() {
			kernels.Dot(x, x)
			kernels.Norm(x)
		})
	})
}

func TestReductionsOfUnusualValues(t *testing.T) {
	inf, nan := float32(math.Inf(1)), float32(math.NaN())
	kernelstest.ForEachLevel(t, func(t *testing.T) {
		for n := 1; n < 40; n++ {
			x := make([]float32, n)
			x[n/2] = inf
			if got := kernels.Norm(x); !math.IsInf(got, 1) {
				t.Errorf("n=%d: norm with Inf = %v", n, got)
			}
			x[n-1] = nan
			if dot := kernels.Dot(x, x); dot == dot {
				t.Errorf("n=%d: with NaN Dot = %v", n, dot)
			}
		}
	})
}

func TestColSum(t *testing.T) {
	kernelstest.ForEachLevel(t, func(t *testing.T) {
		r := newRand(5)
		for _, m := range []int{0, 1, 2, 7, 33} {
			for n := range 131 {
				if kernelstest.Small() && n > 34 && n%16 > 1 {
					continue
				}
				ld := n + n%5
				src, dst := spread(r, max(0, (m-1)*ld+n), n%16), kernelstest.Random(r, n, n%11)
				want := clone(dst.Data)
				for i := range m {
					for j := range want {
						want[j] += src.Data[i*ld+j]
					}
				}
				kernels.ColSum(dst.Data, src.Data, m, n, ld)
				dst.Check(t, "dst")
				for j, got := range dst.Data {
					if !equal(got, want[j]) {
						t.Fatalf("m=%d n=%d: column %d sums to %v, want %v", m, n, j, got, want[j])
					}
				}
			}
		}
		x, y := make([]float32, 100), make([]float32, 50)
		noAllocation(t, func() { kernels.ColSum(y, x, 2, 50, 50) })
	})
}

func BenchmarkAway(b *testing.B) {
	benchMap(b, 12, func(n int) func() {
		w, g, anchor := ones(n), ramp(n), ramp(n)
		return func() { kernels.Away(w, g, anchor) }
	})
}
