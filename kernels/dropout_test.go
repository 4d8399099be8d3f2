package kernels_test

import (
	"math"
	"slices"
	"testing"

	"github.com/fedfast/fedfast/internal/test/kernelstest"
	"github.com/fedfast/fedfast/kernels"
)

func TestDropoutEqualsPhilox(t *testing.T) {
	kernelstest.ForEachLevel(t, func(t *testing.T) {
		r := newRand(13)
		eachLength(func(n, offset int) {
			src, dst := spread(r, n, offset), kernelstest.NewSlice(n, 15-offset)
			p := []float32{0.5, 0.25, 0.9, 0x1p-24, 1 - 0x1p-24}[n%5]
			key, stream := r.Uint64(), r.Uint64()
			kernels.Dropout(dst.Data, src.Data, p, key, stream)
			src.Check(t, "src")
			dst.Check(t, "dst")
			for i, x := range src.Data {
				w := kernels.Philox([4]uint32{uint32(i / 4), 0, uint32(stream), uint32(stream >> 32)},
					[2]uint32{uint32(key), uint32(key >> 32)})
				want := float32(0)
				if float64(w[i%4]) >= float64(p)*(1<<32) {
					want = x * float32(1/(1-float64(p)))
				}
				if !equal(dst.Data[i], want) {
					t.Fatalf("n=%d p=%v: element %d is %v, want %v of %v", n, p, i, dst.Data[i], want, x)
				}
			}
			kernels.Dropout(src.Data, src.Data, p, key, stream)
			for i, x := range src.Data {
				if !equal(x, dst.Data[i]) {
					t.Fatalf("n=%d: in place element %d is %v, else %v", n, i, x, dst.Data[i])
				}
			}
		})
		x := make([]float32, 100)
		noAllocation(t, func() { kernels.Dropout(x, x, 0.5, 1, 2) })
	})
}

func TestDropoutRate(t *testing.T) {
	const n, p = 40000, 0.3
	kernelstest.ForEachLevel(t, func(t *testing.T) {
		x := ones(n)
		kernels.Dropout(x, x, 0, 1, 2)
		if !slices.Equal(x, ones(n)) {
			t.Fatal("p = 0 changed some of the ones")
		}
		kernels.Dropout(x, x, p, 1, 2)
		kept := 0
		for _, v := range x {
			if v != 0 {
				kept++
			}
		}
		if sd := math.Sqrt(n * p * (1 - p)); math.Abs(float64(kept)-n*(1-p)) > 4*sd {
			t.Errorf("kept %d of %d at p = %v", kept, n, p)
		}
	})
}
