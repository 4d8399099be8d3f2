package kernels_test

import (
	"testing"

	"github.com/fedfast/fedfast/internal/test/kernelstest"
	"github.com/fedfast/fedfast/kernels"
)

func TestVectorArithmetic(t *testing.T) {
	const alpha = 0.7654321
	kernelstest.ForEachLevel(t, func(t *testing.T) {
		r := newRand(3)
		eachLength(func(n, offset int) {
			a, b, dst := spread(r, n, offset), spread(r, n, 15-offset), kernelstest.NewSlice(n, offset/2)
			check := func(what string, want func(i int) float32) {
				t.Helper()
				dst.Check(t, what)
				for i, got := range dst.Data {
					if !equal(got, want(i)) {
						t.Fatalf("%s, n=%d: element %d is %v, want %v from %v and %v", what, n, i, got, want(i), a.Data[i], b.Data[i])
					}
				}
			}
			kernels.Add(dst.Data, a.Data, b.Data)
			check("Add", func(i int) float32 { return a.Data[i] + b.Data[i] })
			kernels.Sub(dst.Data, a.Data, b.Data)
			check("Sub", func(i int) float32 { return a.Data[i] - b.Data[i] })
			copy(dst.Data, a.Data)
			kernels.Scale(dst.Data, alpha)
			check("Scale", func(i int) float32 { return alpha * a.Data[i] })
			copy(dst.Data, a.Data)
			kernels.Axpy(dst.Data, alpha, b.Data)
			check("Axpy", func(i int) float32 { return fma(alpha, b.Data[i], a.Data[i]) })
		})
		x := make([]float32, 100)
		noAllocation(t, func() {
			kernels.Add(x, x, x)
			kernels.Sub(x, x, x)
			kernels.Scale(x, 2)
			kernels.Axpy(x, 2, x)
		})
	})
}

// TestBlendEqualsItsSteps compares with a multiplication and additions one after the other.
func TestBlendEqualsItsSteps(t *testing.T) {
	kernelstest.ForEachLevel(t, func(t *testing.T) {
		r := newRand(9)
		eachLength(func(n, offset int) {
			y, xs := kernelstest.NewSlice(n, offset), make([][]float32, 1+n%5)
			for k := range xs {
				xs[k] = kernelstest.Random(r, n, (offset+k)%16).Data
			}
			alphas := kernelstest.Random(r, len(xs), 3).Data
			want := make([]float32, n)
			kernels.ScaleTo(want, alphas[0], xs[0])
			for k, x := range xs[1:] {
				kernels.Axpy(want, alphas[k+1], x)
			}
			kernels.Blend(y.Data, alphas, xs)
			y.Check(t, "sum")
			for i, v := range y.Data {
				if v != want[i] {
					t.Fatalf("n=%d: element %d of %d inputs is %v, want %v", n, i, len(xs), v, want[i])
				}
			}
		})
		y, xs := make([]float32, 100), [][]float32{make([]float32, 100), make([]float32, 100)}
		alphas := []float32{1, 2}
		noAllocation(t, func() { kernels.Blend(y, alphas, xs) })
		defer func() {
			if recover() == nil {
				t.Error("lengths that differ were taken")
			}
		}()
		kernels.Blend(y[1:], alphas, xs)
	})
}
