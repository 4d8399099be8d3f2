package draw

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/fedfast/fedfast/kernels/det"
)

func TestIntN(t *testing.T) {
	s := New(2)
	for _, n := range []int{1, 2, 3, 10, 62} {
		counts := make([]float64, n)
		const draws = 60_000
		for range draws {
			counts[s.IntN(n)]++
		}
		var chi float64
		for _, c := range counts {
			chi += (c - draws/float64(n)) * (c - draws/float64(n)) / (draws / float64(n))
		}
		if limit := float64(n) + 5*math.Sqrt(2*float64(n)); chi > limit {
			t.Errorf("IntN(%d): chi-square %v of %d classes", n, chi, n)
		}
	}
	defer func() {
		if recover() == nil {
			t.Error("IntN(0) did not panic")
		}
	}()
	s.IntN(0)
}

func TestNormalAndGamma(t *testing.T) {
	s := New(3)
	const draws = 100_000
	var sum, squares float64
	for range draws {
		x := s.Normal()
		sum += x
		squares += x * x
	}
	if mean, variance := sum/draws, squares/draws; math.Abs(mean) > 0.02 || math.Abs(variance-1) > 0.03 {
		t.Errorf("Normal: mean %v, variance %v", mean, variance)
	}
	for _, shape := range []float64{0.05, 0.3, 1, 4, 50} {
		sum, squares = 0, 0
		for range draws {
			g := math.Exp(s.LogGamma(shape))
			sum += g
			squares += g * g
		}
		mean := sum / draws
		variance := squares/draws - mean*mean
		if math.Abs(mean-shape) > 5*math.Sqrt(shape/draws) || math.Abs(variance/shape-1) > 0.15 {
			t.Errorf("gamma of shape %v: mean %v, variance %v, both must be near the shape", shape, mean, variance)
		}
	}
}

func TestDirichlet(t *testing.T) {
	s := New(4)
	for _, alpha := range [][]float64{{1, 2, 0, 5}, {1e-4, 1e-4, 1e-4}, {1e5, 3e5}} {
		mix := make([]float64, len(alpha))
		for range 100 {
			s.Dirichlet(mix, alpha)
			var sum float64
			for i, m := range mix {
				if !(m >= 0) || alpha[i] == 0 && m != 0 {
					t.Fatalf("Dirichlet(%v) = %v", alpha, mix)
				}
				sum += m
			}
			if math.Abs(sum-1) > 1e-12 {
				t.Fatalf("Dirichlet(%v) sums to %v", alpha, sum)
			}
		}
	}
}

// TestBits holds the draws to bits that every CPU must give.
func TestBits(t *testing.T) {
	s := New(5, 6)
	got := fmt.Sprintf("%x %d %x %x %x", s.Uint64(), s.IntN(1000), math.Float64bits(s.Normal()),
		math.Float64bits(s.LogGamma(0.3)), math.Float64bits(s.LogGamma(7)))
	const want = "a388e04798e5358a 710 3fe1cba3c42e339b c01cc85070eb4acf 4000105fe58ede0d"
	if got != want {
		t.Errorf("draws are %s, must be %s", got, want)
	}
	var h uint64
	for i := range 5000 {
		h = Key(h, math.Float64bits(s.Normal()), math.Float64bits(s.LogGamma(0.01*float64(i+1))),
			math.Float64bits(det.Exp(-float64(i)/10)))
	}
	if want := uint64(0xb64e9d1d9f5251bf); h != want {
		t.Errorf("15000 draws hash to %#x, must be %#x", h, want)
	}
}

func TestShuffle(t *testing.T) {
	x := make([]int32, 100)
	for i := range x {
		x[i] = int32(i)
	}
	y := slices.Clone(x)
	New(7).Shuffle(y)
	if slices.Equal(x, y) {
		t.Error("Shuffle changed nothing")
	}
	slices.Sort(y)
	if !slices.Equal(x, y) {
		t.Error("Shuffle lost an entry")
	}
	if Key(1, 2) == Key(2, 1) || Text("ab") == Text("ba") {
		t.Error("keys do not depend on the order of their parts")
	}
}
