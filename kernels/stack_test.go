package kernels_test

import (
	"crypto/sha256"
	"slices"
	"testing"

	"github.com/fedfast/fedfast/internal/test/kernelstest"
	"github.com/fedfast/fedfast/kernels"
)

// stackCalls are calls of kernels that have memory on the stack, each on inputs of
// its own; what they change is what they return.
var stackCalls = map[string]func(r *run) (call func(), out [][]float32){
	"nn": func(r *run) (func(), [][]float32) {
		g := kernels.NN{M: 5, N: 48, K: 7, Lda: 7, Ldc: 48, A: r.floats(35), B: r.floats(7 * 48), C: r.floats(5 * 48)}
		return func() { kernels.GemmNN(&g) }, [][]float32{g.C}
	},
	"tn": func(r *run) (func(), [][]float32) {
		g := kernels.TN{M: 40, N: 48, K: 9, Lda: 9, Ldg: 48, A: r.floats(360), G: r.floats(40 * 48), C: r.floats(9 * 48)}
		return func() { kernels.GemmTN(&g) }, [][]float32{g.C}
	},
	"nt": func(r *run) (func(), [][]float32) {
		g := kernels.NT{
			M: 9, N: 48, K: 21, Lda: 48, LRows: 32, A: r.floats(9 * 48), B: r.floats(21 * 48),
			L: r.floats(9 * 32 * 16),
		}
		return func() { kernels.GemmNT(&g) }, [][]float32{g.L}
	},
	"step": func(r *run) (func(), [][]float32) {
		s := kernels.TNStep{
			Step: kernels.SGD{W: r.floats(9 * 48), V: r.floats(9 * 48), LR: 0.1, Momentum: 0.9},
			From: r.floats(9 * 48), Products: r.floats(9),
		}
		s.Grad = kernels.TN{M: 40, K: 9, N: 48, A: r.floats(360), Lda: 9, G: r.floats(40 * 48), Ldg: 48}
		return func() { kernels.GemmTNStep(&s) }, [][]float32{s.Step.W, s.Step.V, s.Products}
	},
	"curves": func(r *run) (func(), [][]float32) {
		x, y, slope := r.floats(21), r.floats(21*kernels.NumCurves), r.floats(21*kernels.NumCurves)
		return func() {
			for c := range kernels.Curve(kernels.NumCurves) {
				at := int(c) * 21
				kernels.Curves(c, y[at:][:21], slope[at:][:21], x)
			}
		}, [][]float32{y, slope}
	},
	"row norm": func(r *run) (func(), [][]float32) {
		n := kernels.RowNorm{
			Rows: 2, N: 21, X: r.floats(42), LdX: 21, Y: make([]float32, 42), LdY: 21, Weight: r.floats(21), Bias: r.floats(21),
			Mean: make([]float32, 2), Scale: make([]float32, 2), Center: true, Epsilon: 1e-5,
		}
		return func() { kernels.RowNormForward(&n) }, [][]float32{n.Y, n.Mean, n.Scale}
	},
	"row norm backward": func(r *run) (func(), [][]float32) {
		g := kernels.RowNormGrad{
			Rows: 1, N: 21, X: r.floats(21), DY: r.floats(21), DX: r.floats(21), Weight: r.floats(21), WeightGrad: r.floats(21),
			BiasGrad: r.floats(21),
			Mean:     []float32{0.5}, Scale: []float32{2}, Center: true,
		}
		return func() { kernels.RowNormBackward(&g) }, [][]float32{g.DX, g.WeightGrad, g.BiasGrad}
	},
	"channels": func(r *run) (func(), [][]float32) {
		f, b := channelCase(2, r.floats)
		return func() { kernels.ForwardChannels(&f); kernels.BackwardChannels(&b) }, [][]float32{f.Y, b.G}
	},
	"pool": func(r *run) (func(), [][]float32) {
		p := kernels.Pool{OH: 3, OW: 5, C: 48, KH: 3, KW: 3, Stride: 2, SrcW: 12}
		p.Src, p.Dst, p.Idx = r.floats(8*p.SrcW*p.C), make([]float32, p.OH*p.OW*p.C), make([]uint8, p.OH*p.OW*p.C)
		return func() { kernels.MaxPool(&p); kernels.MaxPoolBackward(&p) }, [][]float32{p.Src, p.Dst}
	},
	"lrn": func(r *run) (func(), [][]float32) {
		l := kernels.LRN{
			Pixels: 3, C: 16, Radius: 2, Bias: 1, Alpha: 0.1, Quarters: 3, X: r.floats(48), Base: r.floats(48),
			Power: r.floats(48),
		}
		l.Space = make([]float32, kernels.LRNSpace(l.Pixels, l.C, l.Radius))
		y, dx, dy := r.floats(48), r.floats(48), r.floats(48)
		return func() { kernels.LRNForward(&l, y); kernels.LRNBackward(&l, dx, dy) }, [][]float32{y, dx}
	},
}

// TestGrowingStacks calls the kernels at all depths of fresh goroutines, so that
// their stacks grow, and move, in every place of each: results do not depend on it.
func TestGrowingStacks(t *testing.T) {
	kernelstest.ForEachLevel(t, func(t *testing.T) {
		for name, prepare := range stackCalls {
			inputs := func() (func(), [][]float32) {
				return prepare(&run{stream: kernels.NewStream(3, 0), out: sha256.New()})
			}
			call, want := inputs()
			deep(4000, func() {}) // here nothing grows any more
			call()
			for depth := range 300 {
				call, got := inputs()
				done := make(chan struct{})
				go func() {
					defer close(done)
					deep(depth, call)
				}()
				<-done
				for i := range want {
					if !slices.EqualFunc(got[i], want[i], equal) {
						t.Fatalf("%s, called at depth %d: result %d is not the same", name, depth, i)
					}
				}
			}
		}
	})
}

// deep calls f within a number of nested calls.
//
//go:noinline
func deep(depth int, f func()) {
	var space [4]int
	if depth == 0 {
		f()
		return
	}
	space[depth%4] = depth
	deep(depth-1, f)
	if space[depth%4] != depth {
		panic("the stack is not what it was")
	}
}
