package stats

import (
	"math"
	"testing"
)

// TestFriedman computes two by hand, without and with ties.
func TestFriedman(t *testing.T) {
	chi2, p := Friedman([][]float64{{1, 2, 3}, {1, 3, 2}, {1, 2, 3}, {2, 1, 3}})
	// sums 5, 8, 11: 12/(4*3*4) (25 + 64 + 121) - 3*4*4 = 4.5; survival exp(-2.25)
	if math.Abs(chi2-4.5) > 1e-12 || math.Abs(p-math.Exp(-2.25)) > 1e-12 {
		t.Errorf("%v, %v", chi2, p)
	}
	// sums 6, 7, 11 of 8 each; the squares of all ranks are 53
	chi2, _ = Friedman([][]float64{{1.5, 1.5, 3}, {1, 2, 3}, {1.5, 1.5, 3}, {2, 2, 2}})
	if want := 2 * (4 + 1 + 9.0) / ((4.5 + 9) + 14 + (4.5 + 9) + 12 - 48); math.Abs(chi2-want) > 1e-12 {
		t.Errorf("%v, want %v", chi2, want)
	}
	if _, p := Friedman([][]float64{{1.5, 1.5}, {1.5, 1.5}}); !math.IsNaN(p) {
		t.Errorf("p of ties alone: %v", p)
	}
}

// TestNemenyi compares with the critical values in Demsar's Table 5 (a).
func TestNemenyi(t *testing.T) {
	for k, q := range map[int]float64{
		2: 1.960, 3: 2.343, 4: 2.569, 5: 2.728, 6: 2.850, 7: 2.949,
		8: 3.031, 9: 3.102, 10: 3.164,
	} {
		if got := Nemenyi(k, 1, 0.05) / math.Sqrt(float64(k*(k+1))/6); math.Abs(got-q) > 1e-3 {
			t.Errorf("%d methods: q is %v, want %v", k, got, q)
		}
	}
	if got := Nemenyi(5, 30, 0.10); math.Abs(got-1.0039) > 1e-3 { // q = 2.459
		t.Errorf("%v", got)
	}
}

// TestManyFlips compares with the exact p of 20 differences.
func TestManyFlips(t *testing.T) {
	var xs []float64
	for i := range 20 {
		xs = append(xs, float64(i%7)-2.2)
	}
	if got, want := ManyFlips(xs), SignFlips(xs); math.Abs(got-want) > 0.02 {
		t.Errorf("%v, exactly %v", got, want)
	}
}
