package kernels_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/fedfast/fedfast/internal/test/kernelstest"
	"github.com/fedfast/fedfast/kernels"
)

// columnCase is a softmax of columns between guard words.
type columnCase struct {
	kernels.Columns
	x, g, largest, scale *kernelstest.Slice
	ldg                  int
}

func newColumnCase(seed uint64, m, n int, causal bool, first int) *columnCase {
	r := newRand(seed)
	ld, ldg := n+m%3*16, n+m%2*5
	c := &columnCase{
		x: kernelstest.Random(r, max(m-1, 0)*ld+n, m%16), g: kernelstest.Random(r, max(m-1, 0)*ldg+n, 3),
		largest: kernelstest.NewSlice(n, 1), scale: kernelstest.NewSlice(n, 2), ldg: ldg,
	}
	for i := range c.x.Data {
		c.x.Data[i] *= 8
	}
	c.Columns = kernels.Columns{
		M: m, N: n, X: c.x.Data, Ld: ld, Causal: causal, First: first, Largest: c.largest.Data,
		Scale: c.scale.Data,
	}
	return c
}

func (c *columnCase) check(t *testing.T) {
	t.Helper()
	for name, s := range map[string]*kernelstest.Slice{"x": c.x, "g": c.g, "largest": c.largest, "scale": c.scale} {
		s.Check(t, name)
	}
}

// columnOracle returns the shares of column j, and the gradient with them, of rows that
// count; those of others are zero.
func (c *columnCase) columnOracle(j int) (shares, slopes []float32) {
	rows, some := c.M, c.M
	if c.Causal {
		rows, some = min(c.M, c.First+j+1), min(c.M, c.First+j/16*16+16)
	}
	largest, sum := float32(-math.MaxFloat32), float32(0)
	for i := range rows {
		if x := c.X[i*c.Ld+j]; x > largest {
			largest = x
		}
	}
	shares, slopes = make([]float32, some), make([]float32, some)
	for i := range rows {
		shares[i] = softmaxOracle(c.X[i*c.Ld+j] - largest)
		sum += shares[i]
	}
	factor := float32(0)
	if sum != 0 {
		factor = 1 / sum
	}
	mean := float32(0)
	for i := range shares {
		shares[i] *= factor
		mean += float32(shares[i] * c.g.Data[i*c.ldg+j])
	}
	for i, p := range shares {
		slopes[i] = (c.g.Data[i*c.ldg+j] - mean) * p
	}
	return shares, slopes
}

// compare checks columns against the oracle on what x and g were before.
func (c *columnCase) compare(t *testing.T, before *columnCase, backward bool) {
	t.Helper()
	for j := range c.N {
		shares, slopes := before.columnOracle(j)
		for i := range c.M {
			want, slope := before.X[i*c.Ld+j], before.g.Data[i*c.ldg+j]
			if i < len(shares) {
				want = shares[i]
				if backward {
					slope = slopes[i]
				}
			}
			if got := c.X[i*c.Ld+j]; !equal(got, want) {
				t.Fatalf("share %d of column %d is %v, want %v", i, j, got, want)
			}
			if got := c.g.Data[i*c.ldg+j]; !equal(got, slope) {
				t.Fatalf("gradient %d of column %d is %v, want %v", i, j, got, slope)
			}
		}
	}
}

// TestColumnsEqualOracle compares all levels with the oracle, bit for bit.
func TestColumnsEqualOracle(t *testing.T) {
	kernelstest.ForEachLevel(t, func(t *testing.T) {
		sweep(func(m int) {
			for _, k := range []struct {
				n, first int
				causal   bool
			}{{16, 0, false}, {48, 0, false}, {32, 0, true}, {48, 32, true}} {
				t.Run(fmt.Sprintf("m=%d,n=%d,first=%d,%v", m, k.n, k.first, k.causal), func(t *testing.T) {
					before, c := newColumnCase(5, m, k.n, k.causal, k.first), newColumnCase(5, m, k.n, k.causal, k.first)
					for _, x := range []*columnCase{before, c} {
						for i := range m { // a column of nothing but -Inf, one of equal numbers, one with NaN
							x.X[i*x.Ld+3] = float32(math.Inf(-1))
							x.X[i*x.Ld+4] = 2
							if i == 0 {
								x.X[i*x.Ld+5] = float32(math.NaN())
							}
						}
					}
					c.Softmax()
					c.check(t)
					c.compare(t, before, false)
					copy(c.X, before.X)
					c.Backward(c.g.Data, c.ldg)
					c.check(t)
					c.compare(t, before, true)
				})
			}
		})
		c := newColumnCase(6, 20, 32, true, 0)
		noAllocation(t, func() { c.Softmax(); c.Backward(c.g.Data, c.ldg) })
	})
}

// TestColumnsAgainstFloat64 checks the formulas themselves.
func TestColumnsAgainstFloat64(t *testing.T) {
	kernelstest.ForEachLevel(t, func(t *testing.T) {
		before, c := newColumnCase(7, 90, 16, false, 0), newColumnCase(7, 90, 16, false, 0)
		c.Softmax()
		copy(c.X, before.X)
		c.Backward(c.g.Data, c.ldg)
		for j := range c.N {
			var sum, mean float64
			for i := range c.M {
				sum += math.Exp(float64(before.X[i*c.Ld+j]))
			}
			share := func(i int) float64 { return math.Exp(float64(before.X[i*c.Ld+j])) / sum }
			slope := func(i int) float64 { return float64(before.g.Data[i*c.ldg+j]) }
			for i := range c.M {
				mean += share(i) * slope(i)
			}
			for i := range c.M {
				if d := math.Abs(float64(c.X[i*c.Ld+j]) - share(i)); d > 4e-6*share(i)+1e-25 {
					t.Fatalf("share %d of column %d: %v, want %v", i, j, c.X[i*c.Ld+j], share(i))
				}
				if d := math.Abs(float64(c.g.Data[i*c.ldg+j]) - share(i)*(slope(i)-mean)); d > 1e-6 {
					t.Fatalf("gradient %d of column %d is off by %v", i, j, d)
				}
			}
		}
	})
}

// BenchmarkColumns has the scores of a head of char-gpt.
func BenchmarkColumns(b *testing.B) {
	benchLevels(b, func(b *testing.B) {
		c := newColumnCase(1, 80, 80, false, 0)
		x := clone(c.X)
		for name, f := range map[string]func(){"softmax": c.Softmax, "backward": func() { c.Backward(c.g.Data, c.ldg) }} {
			b.Run(name, func(b *testing.B) {
				for b.Loop() {
					copy(c.X, x)
					f()
				}
				perElement(b, c.M*c.N)
			})
		}
	})
}
