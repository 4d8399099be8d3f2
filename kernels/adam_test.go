package kernels_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/fedfast/fedfast/internal/test/kernelstest"
	"github.com/fedfast/fedfast/kernels"
)

// TestAdamStep checks every level bit by bit against the equations, rounded after
// each operation.
func TestAdamStep(t *testing.T) {
	for variant := range 4 {
		proximal, first := variant%2 == 1, variant > 1
		t.Run(fmt.Sprintf("proximal=%v/first=%v", proximal, first), func(t *testing.T) {
			kernelstest.ForEachLevel(t, func(t *testing.T) {
				r := newRand(6)
				eachLength(func(n, offset int) {
					w, g, m := kernelstest.Random(r, n, offset), kernelstest.Random(r, n, 15-offset),
						kernelstest.Random(r, n, offset/2)
					v, anchor := kernelstest.Random(r, n, 5), kernelstest.Random(r, n, 3)
					for i, x := range v.Data { // a mean of squares
						v.Data[i] = x * x
					}
					a := kernels.Adam{
						W: w.Data, G: g.Data, M: m.Data, V: v.Data, Decay: 0.01, Mu: 0.3, Keep: 0.99, Beta1: 0.9, Rest1: 0.1,
						Beta2: 0.999, Rest2: 0.001,
						Rate: 0.1, Scale: 1.5, Eps: 1e-8, First: first,
					}
					if proximal {
						a.Anchor = anchor.Data
					}
					oldW, oldG, oldM, oldV, oldAnchor := clone(w.Data), clone(g.Data), clone(m.Data), clone(v.Data), clone(anchor.Data)
					kernels.AdamStep(&a)
					for _, x := range []*kernelstest.Slice{w, g, m, v, anchor} {
						x.Check(t, "slice")
					}
					for i := range n {
						d := float32(a.Decay*oldW[i]) + oldG[i]
						if proximal {
							d += float32(a.Mu * (oldW[i] - oldAnchor[i]))
						}
						var one, two float32
						if !first {
							one, two = float32(a.Beta1*oldM[i]), float32(a.Beta2*oldV[i])
						}
						one += float32(a.Rest1 * d)
						two += float32(float32(a.Rest2*d) * d)
						if !equal(m.Data[i], one) || !equal(v.Data[i], two) {
							t.Fatalf("n=%d: moments %d are %v and %v, want %v and %v", n, i, m.Data[i], v.Data[i], one, two)
						}
						root := float32(float32(math.Sqrt(float64(two)))*a.Scale) + a.Eps
						if want := float32(a.Keep*oldW[i]) - float32(a.Rate*(one/root)); !equal(w.Data[i], want) {
							t.Fatalf("n=%d: W[%d] = %v, want %v", n, i, w.Data[i], want)
						}
						if g.Data[i] != oldG[i] || anchor.Data[i] != oldAnchor[i] {
							t.Fatalf("n=%d: G or Anchor changed at %d", n, i)
						}
					}
				})
				x := make([]float32, 100)
				noAllocation(t, func() { kernels.AdamStep(&kernels.Adam{W: x, G: x, M: x, V: x, Eps: 1}) })
			})
		})
	}
}
