package kernels_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/fedfast/fedfast/internal/test/kernelstest"
	"github.com/fedfast/fedfast/kernels"
)

// stepCase is the shape and the kind of one step on the gradient of a product.
type stepCase struct {
	m, k, n          int // n in panels
	lda, ldg         int
	moreRows         int
	momentum, anchor bool
	first            bool
	ahead            bool
	measured         bool
	bf16             bool
	offset           int
}

// run does the step and compares with a gradient in memory and SGDStep, which have
// tests of their own: every bit must be the same.
func (c stepCase) run(t *testing.T, r *rand.Rand) {
	t.Helper()
	const w = kernels.Width
	g := kernels.TN{M: c.m, K: c.k, N: c.n * w, Lda: c.lda, Ldg: c.ldg, CRows: c.k + c.moreRows}
	size := g.N * g.CRows
	a := kernelstest.Random(r, max(0, (c.m-1)*c.lda+c.k), c.offset)
	b := kernelstest.Random(r, max(0, (c.m-1)*c.ldg+g.N), c.offset/2)
	weights, velocity, anchor := kernelstest.Random(r, size, 15-c.offset), kernelstest.Random(r, size, c.offset),
		kernelstest.Random(r, size, 3)
	if g.BF16 = c.bf16; c.bf16 {
		a, b = randomPairs(r, len(a.Data), c.offset), randomPairs(r, len(b.Data), c.offset/2)
	}
	g.A, g.G = a.Data, b.Data
	s := kernels.SGD{LR: 0.3, Momentum: 0.9, WeightDecay: 0.01, Mu: 0.1, First: c.first}

	from, sums := kernelstest.Random(r, size, 5), kernelstest.Random(r, 3*c.n, 1)
	var wantSums []float32

	want, wantV := slices.Clone(weights.Data), slices.Clone(velocity.Data)
	reference := s
	reference.G = make([]float32, size)
	gradient := g
	gradient.C = reference.G
	kernels.GemmTN(&gradient)
	for p := range c.n {
		part := func(x []float32) []float32 { return x[p*g.CRows*w:][:c.k*w] }
		one := reference
		one.W, one.G = part(want), part(reference.G)
		if c.momentum {
			one.V = part(wantV)
		}
		if c.anchor {
			one.Anchor = part(anchor.Data)
		}
		kernels.SGDStep(&one)
		if c.measured {
			gg, gd, dd := kernels.Away(one.W, one.G, part(from.Data))
			wantSums = append(wantSums, float32(gg), float32(gd), float32(dd))
		}
	}

	s.W = weights.Data
	if c.momentum {
		s.V = velocity.Data
	}
	if c.anchor {
		s.Anchor = anchor.Data
	}
	step := kernels.TNStep{Grad: g, Step: s}
	if c.ahead {
		step.Next, step.NextV = a.Data, b.Data
	}
	if c.measured {
		step.From, step.Products = from.Data, sums.Data
	}
	kernels.GemmTNStep(&step)
	for _, x := range []*kernelstest.Slice{a, b, weights, velocity, anchor, from, sums} {
		x.Check(t, fmt.Sprintf("%+v", c))
	}
	for i := range want {
		if math.Float32bits(weights.Data[i]) != math.Float32bits(want[i]) ||
			math.Float32bits(velocity.Data[i]) != math.Float32bits(wantV[i]) {
			t.Fatalf("%+v: weight %d is %v with velocity %v, want %v and %v", c, i, weights.Data[i], velocity.Data[i], want[i],
				wantV[i])
		}
	}
	for i, x := range wantSums {
		if math.Float32bits(sums.Data[i]) != math.Float32bits(x) {
			t.Fatalf("%+v: product %d of panel %d is %v, want %v", c, i%3, i/3, sums.Data[i], x)
		}
	}
}

func TestGemmTNStepSweeps(t *testing.T) {
	kernelstest.ForEachLevel(t, func(t *testing.T) {
		r := newRand(18)
		sweep(func(n int) {
			for p := 1; p <= 5; p++ {
				stepCase{m: 5, k: n, n: p, lda: n + 1, ldg: p * 16, momentum: p%2 == 0, offset: n % 16, ahead: true}.run(t, r)
				stepCase{
					m: n, k: 1 + n%15, n: p, lda: 17, ldg: p*16 + 3, moreRows: n % 3, momentum: n%2 == 0,
					offset: n % 16,
				}.run(t, r)
				stepCase{
					m: 4, k: min(n, kernels.MeasuredRows), n: p, lda: n + 1, ldg: p * 16, measured: true, offset: n % 16,
					ahead: true,
				}.run(t, r)
			}
			stepCase{m: 3, k: 1 + n%30, n: n % 71, lda: 31, ldg: 71 * 16, measured: true, moreRows: n % 2}.run(t, r)
			stepCase{m: 3, k: 1 + n%4, n: n % 67, lda: 5, ldg: 67 * 16, moreRows: n % 2, momentum: n%3 == 0, ahead: true}.run(t,
				r)
		})
	})
}

func TestGemmTNStepRandom(t *testing.T) {
	kernelstest.ForEachLevel(t, func(t *testing.T) {
		r := newRand(19)
		for range trials() {
			stepCase{
				m: r.IntN(40), k: r.IntN(300), n: r.IntN(6), lda: r.IntN(300), ldg: r.IntN(200), moreRows: r.IntN(3),
				offset:   r.IntN(16),
				momentum: r.IntN(2) == 0, anchor: r.IntN(2) == 0, first: r.IntN(2) == 0, ahead: r.IntN(2) == 0,
			}.run(t, r)
			stepCase{
				m: r.IntN(70), k: r.IntN(kernels.MeasuredRows + 1), n: r.IntN(40), lda: r.IntN(300), ldg: r.IntN(700),
				moreRows: r.IntN(3), offset: r.IntN(16),
				momentum: r.IntN(4) == 0, anchor: r.IntN(4) == 0, first: r.IntN(2) == 0, ahead: r.IntN(2) == 0, measured: true,
			}.run(t, r)
		}
	})
}

// TestGemmTNStepPanics holds that misuse panics instead of reading past a slice.
func TestGemmTNStepPanics(t *testing.T) {
	x := make([]float32, 1000)
	step := kernels.TNStep{Grad: kernels.TN{M: 4, N: 16, K: 8, A: x, Lda: 8, G: x, Ldg: 16}, Step: kernels.SGD{W: x}}
	for name, f := range map[string]func(){
		"width":  func() { s := step; s.Grad.N = 17; kernels.GemmTNStep(&s) },
		"segs":   func() { s := step; s.Grad.Segs = 2; kernels.GemmTNStep(&s) },
		"w":      func() { s := step; s.Step.W = x[:127]; kernels.GemmTNStep(&s) },
		"v":      func() { s := step; s.Step.V = x[:127]; kernels.GemmTNStep(&s) },
		"anchor": func() { s := step; s.Step.Anchor = x[:127]; kernels.GemmTNStep(&s) },
		"a":      func() { s := step; s.Grad.A = x[:31]; kernels.GemmTNStep(&s) },
		"from":   func() { s := step; s.From, s.Products = x[:127], x; kernels.GemmTNStep(&s) },
		"sums":   func() { s := step; s.From, s.Products = x, x[:2]; kernels.GemmTNStep(&s) },
		"rows": func() {
			s := step
			s.Grad.K, s.Grad.Lda, s.Grad.M = kernels.MeasuredRows+1, kernels.MeasuredRows+1, 1
			s.Step.W, s.From, s.Products = make([]float32, 1<<14), make([]float32, 1<<14), x
			kernels.GemmTNStep(&s)
		},
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: no panic", name)
				}
			}()
			f()
		}()
	}
}

// TestGemmStepAllocates holds that neither steps nor lanes allocate.
func TestGemmStepAllocates(t *testing.T) {
	kernelstest.ForEachLevel(t, func(t *testing.T) {
		x, y := make([]float32, 1<<14), make([]float32, 1<<14)
		for _, anchor := range [][]float32{nil, make([]float32, 1<<14)} {
			s := kernels.TNStep{
				Grad: kernels.TN{M: 20, N: 64, K: 64, A: x, Lda: 64, G: x, Ldg: 64},
				Step: kernels.SGD{W: y, Anchor: anchor},
			}
			measured := s
			measured.From, measured.Products = make([]float32, 1<<14), make([]float32, 12)
			if n := testing.AllocsPerRun(10, func() {
				kernels.GemmTNStep(&s)
				kernels.GemmTNStep(&measured)
				kernels.GemmNT(&kernels.NT{M: 4, K: 32, N: 64, A: x, Lda: 64, B: x, L: y})
				kernels.SumLanes(y[:64], x)
			}); n != 0 {
				t.Errorf("%v allocations a step, want none", n)
			}
		}
	})
}
