package kernels_test

import (
	"fmt"
	"testing"

	"github.com/fedfast/fedfast/internal/test/kernelstest"
	"github.com/fedfast/fedfast/kernels"
)

func TestSGDStep(t *testing.T) {
	for variant := range 6 {
		proximal, momentum, first := variant%2 == 1, variant/2 > 0, variant/2 > 1
		t.Run(fmt.Sprintf("proximal=%v/momentum=%v/first=%v", proximal, momentum, first), func(t *testing.T) {
			kernelstest.ForEachLevel(t, func(t *testing.T) {
				r := newRand(6)
				eachLength(func(n, offset int) {
					w, g := kernelstest.Random(r, n, offset), kernelstest.Random(r, n, 15-offset)
					v, anchor := kernelstest.Random(r, n, offset/2), kernelstest.Random(r, n, 3)
					s := kernels.SGD{W: w.Data, G: g.Data, LR: 0.1, Momentum: 0.9, WeightDecay: 0.01, Mu: 0.3, First: first}
					if proximal {
						s.Anchor = anchor.Data
					}
					if momentum {
						s.V = v.Data
					}
					oldW, oldG, oldV, oldAnchor := clone(w.Data), clone(g.Data), clone(v.Data), clone(anchor.Data)
					kernels.SGDStep(&s)
					for _, x := range []*kernelstest.Slice{w, g, v, anchor} {
						x.Check(t, "slice")
					}
					for i := range n {
						d := fma(s.WeightDecay, oldW[i], oldG[i])
						if proximal {
							d = fma(s.Mu, oldW[i]-oldAnchor[i], d)
						}
						want := oldV[i]
						switch {
						case momentum && !first:
							d = fma(s.Momentum, oldV[i], d)
							want = d
						case momentum:
							want = d
						}
						if !equal(v.Data[i], want) {
							t.Fatalf("n=%d: V[%d] = %v, want %v", n, i, v.Data[i], want)
						}
						if want := fma(-s.LR, d, oldW[i]); !equal(w.Data[i], want) {
							t.Fatalf("n=%d: W[%d] = %v, want %v", n, i, w.Data[i], want)
						}
						if g.Data[i] != oldG[i] || anchor.Data[i] != oldAnchor[i] {
							t.Fatalf("n=%d: G or Anchor changed at %d", n, i)
						}
					}
				})
				x := make([]float32, 100)
				noAllocation(t, func() { kernels.SGDStep(&kernels.SGD{W: x, G: x, V: x, LR: 1}) })
			})
		})
	}
}

// TestNesterov checks every level bit by bit against PyTorch's form, rounded after
// each operation.
func TestNesterov(t *testing.T) {
	for variant := range 4 {
		proximal, first := variant%2 == 1, variant > 1
		t.Run(fmt.Sprintf("proximal=%v/first=%v", proximal, first), func(t *testing.T) {
			kernelstest.ForEachLevel(t, func(t *testing.T) {
				r := newRand(6)
				eachLength(func(n, offset int) {
					w, g := kernelstest.Random(r, n, offset), kernelstest.Random(r, n, 15-offset)
					v, anchor := kernelstest.Random(r, n, offset/2), kernelstest.Random(r, n, 3)
					s := kernels.SGD{
						W: w.Data, G: g.Data, V: v.Data, LR: 0.1, Momentum: 0.9, WeightDecay: 0.01, Mu: 0.3, First: first,
						Nesterov: true,
					}
					if proximal {
						s.Anchor = anchor.Data
					}
					oldW, oldG, oldV, oldAnchor := clone(w.Data), clone(g.Data), clone(v.Data), clone(anchor.Data)
					kernels.SGDStep(&s)
					for _, x := range []*kernelstest.Slice{w, g, v, anchor} {
						x.Check(t, "slice")
					}
					for i := range n {
						d := float32(s.WeightDecay*oldW[i]) + oldG[i]
						if proximal {
							d += float32(s.Mu * (oldW[i] - oldAnchor[i]))
						}
						want := d
						if !first {
							want = float32(s.Momentum*oldV[i]) + d
						}
						d += float32(s.Momentum * want)
						if !equal(v.Data[i], want) {
							t.Fatalf("n=%d: V[%d] = %v, want %v", n, i, v.Data[i], want)
						}
						if want := oldW[i] - float32(s.LR*d); !equal(w.Data[i], want) {
							t.Fatalf("n=%d: W[%d] = %v, want %v", n, i, w.Data[i], want)
						}
						if g.Data[i] != oldG[i] || anchor.Data[i] != oldAnchor[i] {
							t.Fatalf("n=%d: G or Anchor changed at %d", n, i)
						}
					}
				})
				x := make([]float32, 100)
				noAllocation(t, func() { kernels.SGDStep(&kernels.SGD{W: x, G: x, V: x, LR: 1, Nesterov: true}) })
			})
		})
	}
}
