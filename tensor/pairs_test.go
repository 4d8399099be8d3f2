package tensor

import (
	"math"
	"testing"

	"github.com/fedfast/fedfast/internal/test/kernelstest"
	"github.com/fedfast/fedfast/kernels"
)

// TestTurnPairs compares the transpose in pairs with its definition, for even and odd
// numbers of panels, and looks that nothing is written after it.
func TestTurnPairs(t *testing.T) {
	kernelstest.ForEachLevel(t, func(t *testing.T) {
		for _, k := range []int{1, 9, 16, 33} {
			for _, n := range []int{32, 48, 64, 144} {
				w, s := make([]float32, k*n), kernels.NewStream(1, uint64(k*n))
				for i := range w {
					w[i] = float32(s.NormFloat64())
				}
				size := TurnedPairs(k, n)
				dst := make([]float32, size+16)
				for i := range dst[size:] {
					dst[size+i] = 7
				}
				TurnPairs(dst, w, k, n, make([]float32, 16*k))
				want := make([]float32, 1)
				for row := range k {
					for pair := range n / 2 {
						column := 2 * pair
						at := column/16*k*16 + row*16 + column%16
						kernels.RoundPairs(want, w[at:at+2])
						got := dst[row/16*n/2*16+pair*16+row%16]
						if math.Float32bits(got) != math.Float32bits(want[0]) {
							t.Fatalf("%d x %d, row %d, pair %d: %x, want %x", k, n, row, pair, math.Float32bits(got),
								math.Float32bits(want[0]))
						}
					}
				}
				for _, x := range dst[size:] {
					if x != 7 {
						t.Fatalf("%d x %d: written behind the end", k, n)
					}
				}
			}
		}
	})
}
