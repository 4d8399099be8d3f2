package kernels_test

import (
	"testing"

	"github.com/fedfast/fedfast/kernels"
)

// FuzzSparse lists gradients of any bits, of one row of windows and 16 filters, and
// compares the lists and the sums that are made from them with plain loops.
func FuzzSparse(f *testing.F) {
	addFloats(f, 0, 16, 32, 48, 80)
	f.Fuzz(func(t *testing.T, data []byte) {
		const n = kernels.Width
		grad := floats(data)
		grad = grad[:min(len(grad)/n, 40)*n]
		idx := make([]uint8, len(grad))
		for i := range idx {
			idx[i] = data[4*i] % 4 // the low byte of the value
		}
		windows := len(grad) / n
		x := spread(newRand(1), (2*windows+2)*n, 0).Data
		onLevels(t, func() {
			p := kernels.SparsePixels{
				N: n, Start: make([]int32, 2*windows+1), Value: make([]float32, len(grad)+n),
				Filter: make([]uint32, len(grad)+n),
			}
			l := kernels.SparseFilters{Room: 2*windows + 1, Tail: make([]int32, n), Sum: make([]float32, n)}
			l.Value, l.At = make([]float32, n*l.Room), make([]uint32, n*l.Room)
			sums, want := make([]float32, 3*n*n), make([]float32, 3*n*n)
			l.Reset()
			kernels.ListMaxima(&p, 0, grad, idx, 1)
			kernels.AppendByFilter(&l, &p, 0, 2*windows, 0, n)
			kernels.SparseWeightsAdd(&kernels.SparseWeights{Rows: 1, Cols: 3, Groups: 1, Lists: &l, X: x, Pixel: n, Sums: sums})
			e := 0
			for px := range 2 * windows {
				for j := range n {
					g := grad[px/2*n+j]
					if g == 0 || int(idx[px/2*n+j]) != 2+px%2 {
						continue
					}
					if !equal(p.Value[e], g) || p.Filter[e] != uint32(j) {
						t.Fatalf("entry %d is %v of filter %d, want %v of %d", e, p.Value[e], p.Filter[e], g, j)
					}
					e++
					for i := range 3 * n {
						want[j*3*n+i] = fma(g, x[px*n+i], want[j*3*n+i])
					}
				}
			}
			if int(p.Start[2*windows]) != e {
				t.Fatalf("%d entries, want %d", p.Start[2*windows], e)
			}
			for i := range want {
				if !equal(sums[i], want[i]) {
					t.Fatalf("sum %d is %v, want %v", i, sums[i], want[i])
				}
			}
		})
	})
}
