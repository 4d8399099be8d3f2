package kernels_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/fedfast/fedfast/internal/test/kernelstest"
	"github.com/fedfast/fedfast/kernels"
)

// TestCols compares products that know of columns of zeros with the same ones that do not.
func TestCols(t *testing.T) {
	kernelstest.ForEachLevel(t, func(t *testing.T) {
		if kernels.Current() == kernels.Generic {
			t.Skip("the plain Go level leaves nothing out")
		}
		r := rand.New(rand.NewPCG(7, 8))
		for m := 1; m <= 45; m += 1 + m/32*5 {
			for n := kernels.Width; n <= 5*kernels.Width; n += kernels.Width {
				cols, k := n-1-(3*m+n)%15, 1+(m+n)%9
				edges := kernels.NewEdges(k, 3, 1, 1)
				for mode := range 4 {
					bf16 := mode%2 == 1
					numbers := func(rows, ld int) []float32 { // zero from cols on, of each ld
						x := randomPairs(r, rows*ld, 0).Data
						for i := range rows {
							clear(x[i*ld+cols : i*ld+n])
						}
						return x
					}
					plain := kernels.NN{
						M: m, N: n, K: 3 * k, Cols: n, A: randomPairs(r, m*3*k, 0).Data, Lda: 3 * k, B: make([]float32, 3*k*n),
						C: numbers(m, n), Ldc: n, Accumulate: mode >= 2, ReLU: m%2 > 0, BF16: bf16,
					}
					kernels.Pack(plain.B, numbers(3*k, n), 3*k, n, n)
					if mode < 2 && m%3 > 0 {
						plain.Bias = numbers(1, n)
					}
					if m%5 == 0 {
						plain.Edges = edges
						clear(plain.A[:k])
						clear(plain.A[(m-1)*3*k+2*k : m*3*k])
					}
					narrow := plain
					narrow.C, narrow.Cols = slices.Clone(plain.C), cols
					kernels.GemmNN(&plain)
					kernels.GemmNN(&narrow)
					sameAll(t, narrow.C, plain.C, "NN", m, n, cols)

					ld := n
					if mode == 2 {
						ld = 256 // rows that are copied together
					}
					whole := kernels.TN{
						M: m, K: 3 * k, N: n, A: plain.A, Lda: 3 * k, G: numbers(m, ld), Ldg: ld,
						C: make([]float32, 3*k*n), Accumulate: mode >= 2, BF16: bf16,
					}
					kernels.Pack(whole.C, numbers(3*k, n), 3*k, n, n)
					some := whole
					some.C, some.Cols = slices.Clone(whole.C), cols
					kernels.GemmTN(&whole)
					kernels.GemmTN(&some)
					sameAll(t, some.C, whole.C, "TN", m, n, cols)
				}
			}
		}
	})
}

func sameAll(t *testing.T, got, want []float32, what string, m, n, cols int) {
	t.Helper()
	for i, w := range want {
		sameNumber(t, got[i], w, "%s of %d rows, %d columns, %d of them not zero: value %d", what, m, n, cols, i)
	}
}
