package kernels_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/fedfast/fedfast/internal/test/kernelstest"
	"github.com/fedfast/fedfast/kernels"
)

// nnCase is the shape of one NN product.
type nnCase struct {
	m, n, k, segs      int // n in panels
	lda, segStride     int // distances, at least 0
	moreRows, moreCols int // rows and columns in memory beyond the product's
	bias, acc, relu    bool
	offset             int
}

// run multiplies on the current level and compares with one chain of steps per
// element, exactly.
func (c nnCase) run(t *testing.T, r *rand.Rand) {
	t.Helper()
	g := kernels.NN{
		M: c.m, N: c.n * kernels.Width, K: c.k, Segs: c.segs, Lda: c.lda, SegStride: c.segStride,
		BRows: c.segs*c.k + c.moreRows, Ldc: c.n*kernels.Width + c.moreCols, Accumulate: c.acc && !c.bias, ReLU: c.relu,
	}
	a := kernelstest.Random(r, max(0, (c.m-1)*c.lda+(c.segs-1)*c.segStride+c.k), c.offset)
	b := kernelstest.Random(r, g.N*g.BRows, c.offset/2)
	bias := kernelstest.Random(r, g.N, c.offset)
	out := kernelstest.Random(r, g.M*g.Ldc, 15-c.offset)
	g.A, g.B, g.C = a.Data, b.Data, out.Data
	if c.bias {
		g.Bias = bias.Data
	}
	old := append([]float32(nil), out.Data...)
	kernels.GemmNN(&g)

	for _, s := range []*kernelstest.Slice{a, b, bias, out} {
		s.Check(t, fmt.Sprintf("%+v", c))
	}
	for i := range g.M {
		for j := range g.Ldc {
			at := i*g.Ldc + j
			if j >= g.N {
				if out.Data[at] != old[at] {
					t.Fatalf("%+v: wrote C beyond column N", c)
				}
				continue
			}
			sum := chain(0)
			switch {
			case c.bias:
				sum = chain(bias.Data[j])
			case c.acc:
				sum = chain(old[at])
			}
			for s := range c.segs {
				for k := range c.k {
					sum.add(a.Data[i*c.lda+s*c.segStride+k], b.Data[j/16*g.BRows*16+(s*c.k+k)*16+j%16])
				}
			}
			if c.relu && sum < 0 {
				sum = 0
			}
			if !sum.agrees(out.Data[at]) {
				t.Fatalf("%+v: C[%d][%d] = %v, want %v", c, i, j, out.Data[at], sum)
			}
		}
	}
}

// chain is one element of a product, fused in order.
type chain float32

func (c *chain) add(x, y float32) { *c = chain(kernelstest.FMA32(x, y, float32(*c))) }

func (c chain) agrees(got float32) bool {
	return math.Float32bits(got) == math.Float32bits(float32(c))
}

func newRand(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 1)) }

// sweep calls f for 0 to 130 when everything is tested, and for the edges of tiles
// and unrolled loops otherwise.
func sweep(f func(n int)) {
	if !kernelstest.Small() {
		for n := range 131 {
			f(n)
		}
		return
	}
	for _, n := range []int{0, 1, 2, 3, 4, 5, 6, 7, 8, 12, 13, 14, 15, 29, 67} {
		f(n)
	}
}

func TestGemmNNSweepM(t *testing.T) {
	kernelstest.ForEachLevel(t, func(t *testing.T) {
		r := newRand(1)
		sweep(func(m int) {
			for n := 1; n <= 5; n += 1 + m%2 {
				nnCase{m: m, n: n, k: 5, segs: 1, lda: 7, bias: m%2 == 0, relu: m%3 == 0, offset: m % 16}.run(t, r)
			}
		})
	})
}

func TestGemmNNSweepN(t *testing.T) {
	kernelstest.ForEachLevel(t, func(t *testing.T) {
		r := newRand(2)
		sweep(func(n int) {
			for _, m := range []int{1, 2, 3, 4, 15} {
				nnCase{m: m, n: n % 67, k: 3, segs: 1, lda: 3, acc: n%2 == 0, moreCols: n % 3, offset: n % 16}.run(t, r)
			}
		})
	})
}

func TestGemmNNSweepK(t *testing.T) {
	kernelstest.ForEachLevel(t, func(t *testing.T) {
		r := newRand(3)
		sweep(func(k int) {
			for m := 1; m <= 14; m += 1 + k%3 {
				nnCase{m: m, n: 3, k: k, segs: 1 + k%3, lda: k, segStride: 2*k + 1, moreRows: k % 2, offset: k % 16}.run(t, r)
			}
		})
	})
}

// TestGemmNNOverlap runs a convolution's rows: they overlap, and so do nothing but
// the reads.
func TestGemmNNOverlap(t *testing.T) {
	kernelstest.ForEachLevel(t, func(t *testing.T) {
		nnCase{m: 14, n: 4, k: 5 * 16, segs: 5, lda: 16, segStride: 18 * 16, bias: true, relu: true}.run(t, newRand(4))
		nnCase{m: 9, n: 2, k: 48, segs: 3, lda: 0, segStride: 0}.run(t, newRand(5))
	})
}

// TestGemmNNBlocks has products that are split into groups of panels, into row
// blocks, and into runs of long sums.
func TestGemmNNBlocks(t *testing.T) {
	if kernelstest.Small() {
		t.Skip("large")
	}
	kernelstest.ForEachLevel(t, func(t *testing.T) {
		nnCase{m: 31, n: 13, k: 700, segs: 2, lda: 703, segStride: 1}.run(t, newRand(6))
		nnCase{m: 2, n: 9, k: 9000, segs: 1, lda: 1, acc: true}.run(t, newRand(7))
		nnCase{m: 15, n: 1, k: 4500, segs: 1, lda: 4501, bias: true, relu: true}.run(t, newRand(9))
		nnCase{m: 15, n: 1, k: 4500, segs: 1, lda: 1, acc: true, relu: true}.run(t, newRand(10))
	})
}

func TestGemmNNRandom(t *testing.T) {
	kernelstest.ForEachLevel(t, func(t *testing.T) {
		r := newRand(8)
		for range trials() {
			k := r.IntN(60)
			nnCase{
				m: r.IntN(40), n: r.IntN(10), k: k, segs: 1 + r.IntN(4), lda: r.IntN(k + 20), segStride: r.IntN(200), moreRows: r.IntN(3),
				moreCols: r.IntN(20), bias: r.IntN(2) == 0, acc: r.IntN(2) == 0, relu: r.IntN(2) == 0, offset: r.IntN(16),
			}.run(t, r)
		}
	})
}

func trials() int {
	if kernelstest.Small() {
		return 20
	}
	return 300
}

// TestGemmNNSpecial holds what the ReLU does with NaN, infinities and zeros, and
// that a NaN spreads along its row only.
func TestGemmNNSpecial(t *testing.T) {
	kernelstest.ForEachLevel(t, func(t *testing.T) {
		nan, inf, negZero := float32(math.NaN()), float32(math.Inf(1)), float32(math.Copysign(0, -1))
		starts := []float32{nan, inf, -inf, 0, negZero, 1, -1, 0x1p-149, -0x1p-149, nan, inf, -inf, 0, negZero, 3, -3}
		want := []float32{nan, inf, 0, 0, negZero, 1, 0, 0x1p-149, 0, nan, inf, 0, 0, negZero, 3, 0}
		for m := 1; m <= 14; m++ {
			c := make([]float32, m*16)
			b := make([]float32, 16)
			for j := range b {
				b[j] = float32(math.Copysign(0, float64(-1))) // -0 * 1 + start = start
			}
			a := make([]float32, m)
			for i := range a {
				a[i] = 1
			}
			kernels.GemmNN(&kernels.NN{M: m, N: 16, K: 1, A: a, Lda: 1, B: b, Bias: starts, C: c, Ldc: 16, ReLU: true})
			for i, got := range c {
				w := want[i%16]
				if math.Float32bits(got) != math.Float32bits(w) && !(got != got && w != w) {
					t.Fatalf("m=%d: relu(%v) = %v, want %v", m, starts[i%16], got, w)
				}
			}
		}
	})
}

// tnCase is the shape of one TN product.
type tnCase struct {
	m, k, n, segs int // n in panels
	lda, ldg      int
	aSeg, gSeg    int
	moreRows      int
	acc           bool
	offset        int
}

func (c tnCase) run(t *testing.T, r *rand.Rand) {
	t.Helper()
	g := kernels.TN{
		M: c.m, K: c.k, N: c.n * kernels.Width, Segs: c.segs, ASeg: c.aSeg, GSeg: c.gSeg,
		Lda: c.lda, Ldg: c.ldg, CRows: c.k + c.moreRows, Accumulate: c.acc,
	}
	a := kernelstest.Random(r, max(0, (c.segs-1)*c.aSeg+(c.m-1)*c.lda+c.k), c.offset)
	b := kernelstest.Random(r, max(0, (c.segs-1)*c.gSeg+(c.m-1)*c.ldg+g.N), c.offset/2)
	out := kernelstest.Random(r, g.N*g.CRows, 15-c.offset)
	g.A, g.G, g.C = a.Data, b.Data, out.Data
	old := append([]float32(nil), out.Data...)
	kernels.GemmTN(&g)

	for _, s := range []*kernelstest.Slice{a, b, out} {
		s.Check(t, fmt.Sprintf("%+v", c))
	}
	for at, got := range out.Data {
		j, k := at/(16*g.CRows)*16+at%16, at/16%g.CRows
		if k >= c.k {
			if got != old[at] {
				t.Fatalf("%+v: wrote C beyond row K", c)
			}
			continue
		}
		sum := chain(0)
		if c.acc {
			sum = chain(old[at])
		}
		for s := range c.segs {
			for m := range c.m {
				sum.add(a.Data[s*c.aSeg+m*c.lda+k], b.Data[s*c.gSeg+m*c.ldg+j])
			}
		}
		if !sum.agrees(got) {
			t.Fatalf("%+v: C[%d][%d] = %v, want %v", c, k, j, got, sum)
		}
	}
}

func TestGemmTNSweeps(t *testing.T) {
	kernelstest.ForEachLevel(t, func(t *testing.T) {
		r := newRand(9)
		sweep(func(n int) {
			for p := 1; p <= 5; p++ {
				tnCase{m: 5, k: n, n: p, segs: 1, lda: n + 1, ldg: p * 16, offset: n % 16}.run(t, r)
				tnCase{m: n, k: 1 + n%15, n: p, segs: 1 + n%2, lda: 17, ldg: p*16 + 3, aSeg: 5, gSeg: 7, acc: n%2 == 0, offset: n % 16}.run(t, r)
			}
			tnCase{m: 3, k: 1 + n%4, n: n % 67, segs: 1, lda: 5, ldg: 67 * 16, moreRows: n % 3}.run(t, r)
		})
	})
}

func TestGemmTNRandom(t *testing.T) {
	kernelstest.ForEachLevel(t, func(t *testing.T) {
		r := newRand(10)
		for range trials() {
			tnCase{
				m: r.IntN(40), k: r.IntN(60), n: r.IntN(8), segs: 1 + r.IntN(4), lda: r.IntN(80), ldg: r.IntN(200), aSeg: r.IntN(200), gSeg: r.IntN(300),
				moreRows: r.IntN(3), acc: r.IntN(2) == 0, offset: r.IntN(16),
			}.run(t, r)
		}
	})
}

// TestGemmTNBlocks has sums that are split into runs of rows, within and across
// segments.
func TestGemmTNBlocks(t *testing.T) {
	if kernelstest.Small() {
		t.Skip("large")
	}
	kernelstest.ForEachLevel(t, func(t *testing.T) {
		tnCase{m: 3000, k: 30, n: 4, segs: 1, lda: 30, ldg: 64}.run(t, newRand(11))
		tnCase{m: 28, k: 25, n: 2, segs: 100, lda: 1, ldg: 32, aSeg: 32, gSeg: 28 * 32, acc: true}.run(t, newRand(12))
		tnCase{m: 70, k: 500, n: 30, segs: 2, lda: 500, ldg: 480, aSeg: 35000, gSeg: 480 * 70}.run(t, newRand(13))
	})
}

// TestGemmTNPacked has rows of G far apart, which is when the assembly levels copy
// them.
func TestGemmTNPacked(t *testing.T) {
	kernelstest.ForEachLevel(t, func(t *testing.T) {
		r := newRand(14)
		tnCase{m: 20, k: 60, n: 3, segs: 1, lda: 61, ldg: 256}.run(t, r)
		tnCase{m: 64, k: 57, n: 4, segs: 2, lda: 57, ldg: 300, aSeg: 100, gSeg: 700, acc: true, moreRows: 2, offset: 3}.run(t, r)
		tnCase{m: 280, k: 56, n: 1, segs: 1, lda: 1, ldg: 256, offset: 9}.run(t, r)
	})
}

func FuzzGemm(f *testing.F) {
	f.Add(uint64(1), uint8(6), uint8(2), uint8(9), uint8(1), false, false, false)
	f.Add(uint64(2), uint8(14), uint8(5), uint8(64), uint8(3), true, false, true)
	f.Add(uint64(3), uint8(33), uint8(1), uint8(1), uint8(2), false, true, true)
	f.Fuzz(func(t *testing.T, seed uint64, m, n, k, segs uint8, bias, acc, relu bool) {
		kernelstest.ForEachLevel(t, func(t *testing.T) {
			r := newRand(seed)
			nnCase{
				m: int(m % 64), n: int(n % 12), k: int(k), segs: 1 + int(segs%5), lda: r.IntN(int(k) + 9), segStride: r.IntN(300),
				moreRows: r.IntN(4), moreCols: r.IntN(4), bias: bias, acc: acc, relu: relu, offset: r.IntN(16),
			}.run(t, r)
			tnCase{
				m: int(k), k: int(m), n: int(n % 6), segs: 1 + int(segs%5), lda: r.IntN(300), ldg: r.IntN(300), aSeg: r.IntN(99), gSeg: r.IntN(99),
				moreRows: r.IntN(4), acc: acc, offset: r.IntN(16),
			}.run(t, r)
		})
	})
}

// TestGemmAllocates holds that products allocate nothing.
func TestGemmAllocates(t *testing.T) {
	kernelstest.ForEachLevel(t, func(t *testing.T) {
		x := make([]float32, 64*64)
		y := make([]float32, 64*64)
		if n := testing.AllocsPerRun(10, func() {
			kernels.GemmNN(&kernels.NN{M: 20, N: 64, K: 64, A: x, Lda: 64, B: x, C: y, Ldc: 64, Bias: x})
			kernels.GemmTN(&kernels.TN{M: 20, N: 64, K: 64, A: x, Lda: 64, G: x, Ldg: 64, C: y})
			kernels.GemmTN(&kernels.TN{M: 16, N: 64, K: 60, A: x, Lda: 64, G: x, Ldg: 256, C: y}) // copies G
		}); n != 0 {
			t.Errorf("%v allocations a product, want none", n)
		}
	})
}

// TestGemmPanics holds that misuse panics instead of reading past a slice.
func TestGemmPanics(t *testing.T) {
	x := make([]float32, 1000)
	nn := kernels.NN{M: 4, N: 16, K: 8, A: x, Lda: 8, B: x, C: x, Ldc: 16}
	tn := kernels.TN{M: 4, N: 16, K: 8, A: x, Lda: 8, G: x, Ldg: 16, C: x}
	for name, f := range map[string]func(){
		"negative": func() { g := nn; g.Lda = -1; kernels.GemmNN(&g) },
		"width":    func() { g := nn; g.N = 17; kernels.GemmNN(&g) },
		"ldc":      func() { g := nn; g.Ldc = 15; kernels.GemmNN(&g) },
		"bias":     func() { g := nn; g.Bias, g.Accumulate = x, true; kernels.GemmNN(&g) },
		"brows":    func() { g := nn; g.BRows = 7; kernels.GemmNN(&g) },
		"edges":    func() { g := nn; g.Edges = kernels.NewEdges(3, 3, 1, 1); kernels.GemmNN(&g) },
		"short a":  func() { g := nn; g.A = x[:31]; kernels.GemmNN(&g) },
		"short b":  func() { g := nn; g.B = x[:127]; kernels.GemmNN(&g) },
		"short c":  func() { g := nn; g.C = x[:63]; kernels.GemmNN(&g) },
		"tn width": func() { g := tn; g.N = 17; kernels.GemmTN(&g) },
		"tn crows": func() { g := tn; g.CRows = 7; kernels.GemmTN(&g) },
		"tn a":     func() { g := tn; g.A = x[:31]; kernels.GemmTN(&g) },
		"tn g":     func() { g := tn; g.G = x[:63]; kernels.GemmTN(&g) },
		"tn c":     func() { g := tn; g.C = x[:127]; kernels.GemmTN(&g) },
		"tn seg":   func() { g := tn; g.Segs, g.GSeg = 3, 1000; kernels.GemmTN(&g) },
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
