package kernels_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/fedfast/fedfast/internal/test/kernelstest"
	"github.com/fedfast/fedfast/kernels"
)

// TestEdges compares products over the rows of an image with zeros on both sides, in
// both precisions, with those that know nothing of them.
func TestEdges(t *testing.T) {
	kernelstest.ForEachLevel(t, func(t *testing.T) {
		r := newRand(31)
		most := 45
		if kernels.Current() == kernels.Generic || kernelstest.Small() {
			most = 9
		}
		for m := 1; m <= most; m++ {
			for i, e := range []struct{ taps, before, after int }{{5, 2, 2}, {3, 1, 1}, {3, 0, 2}, {4, 1, 2}, {7, 3, 3}, {2, 1, 0}, {5, 4, 4}, {1, 0, 0}} {
				for _, low := range []bool{false, true} {
					testEdges(t, kernels.NN{
						M: m, N: kernels.Width * (1 + (m+i)%5), Segs: 1 + m%3, Lda: 1 + (m+i)%4, Ldc: 96, Accumulate: m%3 == 1, ReLU: i%2 == 0, BF16: low,
					}, e.taps, e.before, e.after, r)
				}
			}
		}
	})
}

func testEdges(t *testing.T, g kernels.NN, taps, before, after int, r *rand.Rand) {
	t.Helper()
	step := g.Lda
	g.K, g.SegStride = taps*step, (g.M-1+taps)*step
	random := func(n int) *kernelstest.Slice {
		if g.BF16 {
			return randomPairs(r, n, 3)
		}
		return kernelstest.Random(r, n, 3)
	}
	a, b, bias := random(g.Segs*g.SegStride), random(g.Segs*g.K*g.N), kernelstest.Random(r, g.N, 5)
	for s := range g.Segs {
		row := a.Data[s*g.SegStride:][:g.SegStride]
		clear(row[:min(before*step, len(row))])
		clear(row[max(len(row)-after*step, 0):])
	}
	out := kernelstest.Random(r, g.M*g.Ldc, 7)
	want := slices.Clone(out.Data)
	g.A, g.B, g.C = a.Data, b.Data, want
	if !g.Accumulate {
		g.Bias = bias.Data
	}
	kernels.GemmNN(&g)
	g.C, g.Edges = out.Data, kernels.NewEdges(step, taps, before, after)
	kernels.GemmNN(&g)
	name := fmt.Sprintf("%d x %d, %d taps of %d, %d segments, edges %d and %d, bf16 %v", g.M, g.N, taps, step, g.Segs, before, after, g.BF16)
	out.Check(t, name)
	for i, x := range out.Data {
		if !equal(x, want[i]) {
			t.Fatalf("%s: row %d, column %d is %v, want %v", name, i/g.Ldc, i%g.Ldc, x, want[i])
		}
	}
	noAllocation(t, func() { kernels.GemmNN(&g) })
}
