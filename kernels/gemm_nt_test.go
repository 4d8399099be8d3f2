package kernels_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/fedfast/fedfast/internal/test/kernelstest"
	"github.com/fedfast/fedfast/kernels"
)

// ntCase is the shape of one NT product.
type ntCase struct {
	m, k, n             int // n in panels
	lda                 int
	moreRows, moreLanes int // rows and groups of lanes in memory beyond the product's
	acc                 bool
	ahead               bool
	offset              int
}

// run multiplies on the current level and compares every lane with one chain of
// steps, and the sums of the lanes with the tree of halves.
func (c ntCase) run(t *testing.T, r *rand.Rand) {
	t.Helper()
	const w = kernels.Width
	g := kernels.NT{
		M: c.m, K: c.k, N: c.n * w, Lda: c.lda, BRows: c.k + c.moreRows, LRows: c.k + c.moreLanes, Accumulate: c.acc,
	}
	a := kernelstest.Random(r, max(0, (c.m-1)*c.lda+g.N), c.offset)
	b := kernelstest.Random(r, g.N*g.BRows, c.offset/2)
	l := kernelstest.Random(r, g.M*g.LRows*w, 15-c.offset)
	g.A, g.B, g.L = a.Data, b.Data, l.Data
	if c.ahead {
		g.Next = a.Data
	}
	old := append([]float32(nil), l.Data...)
	kernels.GemmNT(&g)
	for _, s := range []*kernelstest.Slice{a, b, l} {
		s.Check(t, fmt.Sprintf("%+v", c))
	}
	for at, got := range l.Data {
		i, k, lane := at/(g.LRows*w), at/w%g.LRows, at%w
		if k >= c.k {
			if got != old[at] {
				t.Fatalf("%+v: wrote lanes beyond row K", c)
			}
			continue
		}
		sum := chain(0)
		if c.acc {
			sum = chain(old[at])
		}
		for p := range c.n {
			sum.add(a.Data[i*c.lda+p*w+lane], b.Data[(p*g.BRows+k)*w+lane])
		}
		if !sum.agrees(got) {
			t.Fatalf("%+v: lane %d of row %d and row %d is %v, want %v", c, lane, i, k, got, sum)
		}
	}
	sums := kernelstest.NewSlice(len(l.Data)/w/w*w, c.offset)
	kernels.SumLanes(sums.Data, l.Data)
	l.Check(t, "SumLanes")
	sums.Check(t, "SumLanes")
	for i, got := range sums.Data {
		v := append([]float32(nil), l.Data[i*w:][:w]...)
		for half := w / 2; half > 0; half /= 2 {
			for j := range half {
				v[j] += v[j+half]
			}
		}
		if math.Float32bits(got) != math.Float32bits(v[0]) {
			t.Fatalf("%+v: sum %d is %v, want %v", c, i, got, v[0])
		}
	}
}

func TestGemmNTSweeps(t *testing.T) {
	kernelstest.ForEachLevel(t, func(t *testing.T) {
		r := newRand(15)
		sweep(func(n int) {
			ntCase{m: n, k: 6, n: 3, lda: 50, offset: n % 16, acc: n%2 == 0}.run(t, r)
			for m := 1; m <= 7; m++ {
				ntCase{
					m: m, k: n, n: 1 + n%3, lda: 16 * (1 + n%3), moreRows: n % 2, moreLanes: n % 5, offset: n % 16,
					ahead: true,
				}.run(t, r)
			}
			ntCase{m: 1 + n%4, k: 1 + n%9, n: n % 67, lda: n%67*16 + 1, acc: n%3 == 0, ahead: true}.run(t, r)
		})
	})
}

func TestGemmNTRandom(t *testing.T) {
	kernelstest.ForEachLevel(t, func(t *testing.T) {
		r := newRand(16)
		for range trials() {
			n := r.IntN(12)
			ntCase{
				m: r.IntN(20), k: r.IntN(60), n: n, lda: n*16 + r.IntN(20) - min(n, 1)*r.IntN(9), moreRows: r.IntN(3),
				moreLanes: r.IntN(20),
				acc:       r.IntN(2) == 0, offset: r.IntN(16), ahead: r.IntN(2) == 0,
			}.run(t, r)
		}
	})
}

// TestGemmNTBlocks has more rows and panels than one call of assembly takes.
func TestGemmNTBlocks(t *testing.T) {
	if kernelstest.Small() {
		t.Skip("large")
	}
	kernelstest.ForEachLevel(t, func(t *testing.T) {
		ntCase{m: 7, k: 150, n: 700, lda: 11200}.run(t, newRand(17))
	})
}

// TestGemmNTPanics holds that misuse panics instead of reading past a slice.
func TestGemmNTPanics(t *testing.T) {
	x := make([]float32, 1000)
	nt := kernels.NT{M: 4, K: 5, N: 32, A: x, Lda: 32, B: x, L: x}
	for name, f := range map[string]func(){
		"negative": func() { g := nt; g.K = -1; kernels.GemmNT(&g) },
		"width":    func() { g := nt; g.N = 17; kernels.GemmNT(&g) },
		"brows":    func() { g := nt; g.BRows = 4; kernels.GemmNT(&g) },
		"lrows":    func() { g := nt; g.LRows = 4; kernels.GemmNT(&g) },
		"short a":  func() { g := nt; g.A = x[:127]; kernels.GemmNT(&g) },
		"short b":  func() { g := nt; g.B = x[:159]; kernels.GemmNT(&g) },
		"short l":  func() { g := nt; g.L = x[:319]; kernels.GemmNT(&g) },
		"sums":     func() { kernels.SumLanes(x[:17], x) },
		"lanes":    func() { kernels.SumLanes(x[:16], x[:255]) },
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

func BenchmarkGemmNT(b *testing.B) {
	benchLevels(b, func(b *testing.B) {
		for _, m := range []int{1, 5, 8, 10, 16, 20, 64} {
			for _, panels := range []int{16, 32} {
				rows := 2048 / panels
				g := kernels.NT{
					M: m, K: rows, N: panels * 16, A: ones(m * 2048), Lda: 2048, B: ones(3136 * panels * 16),
					BRows: 3136, L: ones(m * rows * 16), Accumulate: true,
				}
				b.Run(fmt.Sprintf("m=%d/panels=%d", m, panels), func(b *testing.B) {
					for b.Loop() {
						kernels.GemmNT(&g)
					}
					reportGFLOPS(b, 2*float64(m)*float64(g.N)*float64(rows))
				})
			}
		}
		for _, m := range []int{3, 10} {
			g := kernels.NT{
				M: m, K: 8, N: 32 * 16, A: ones(m * 2064), Lda: 2064, B: ones(3136 * 16), L: ones(m * 128 * 16),
				Accumulate: true,
			}
			b.Run(fmt.Sprintf("m=%d/contiguous", m), func(b *testing.B) {
				for b.Loop() {
					kernels.GemmNT(&g)
				}
				reportGFLOPS(b, 2*float64(m)*float64(g.N)*8)
			})
		}
		lanes, sums := ones(2048*16), ones(2048)
		b.Run("sum", func(b *testing.B) {
			for b.Loop() {
				kernels.SumLanes(sums, lanes)
			}
		})
	})
}
