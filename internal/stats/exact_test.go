package stats

import (
	"math"
	"slices"
	"testing"
)

// TestWelch compares with quantiles of a printed table of Student's t where Welch's interval is
// one of Student's.
func TestWelch(t *testing.T) {
	// Equal spreads and numbers have 2 n - 2 degrees of freedom: t(18) = 1.734064.
	if got, want := WelchHalf(2, 10, 2, 10), 1.734063607*2*math.Sqrt(0.2); math.Abs(got-want) > 1e-6 {
		t.Errorf("%v, want %v", got, want)
	}
	// One side without spread is Student's interval of the other one: t(4) = 2.131847.
	if got, want := WelchHalf(10.03, 5, 0, 9), 2.131846786*10.03/math.Sqrt(5); math.Abs(got-want) > 1e-6 {
		t.Errorf("%v, want %v", got, want)
	}
	if !math.IsNaN(WelchHalf(1, 1, 1, 5)) || !math.IsNaN(WelchHalf(0, 3, 0, 3)) {
		t.Error("an interval of one trial, or without spread")
	}
}

// TestSignFlips counts by hand.
func TestSignFlips(t *testing.T) {
	for _, c := range []struct {
		xs   []float64
		want float64
	}{
		{[]float64{1, 2, 3}, 2.0 / 8},           // only as they are, and all turned
		{[]float64{1, 2, -3}, 1},                // a sum of 0
		{[]float64{3, -1}, 1},                   // 2, 4, -4, -2
		{[]float64{5, 1, -1}, 6.0 / 8},          // 5, 7, 3, 5 and their opposites: 5 and 7 are as far
		{[]float64{0.1, 0.2, 0.3, 0}, 4.0 / 16}, // one that is 0 has two signs
	} {
		if got := SignFlips(c.xs); got != c.want {
			t.Errorf("%v: %v, want %v", c.xs, got, c.want)
		}
	}
	if !math.IsNaN(SignFlips(nil)) || !math.IsNaN(SignFlips(make([]float64, 21))) {
		t.Error("p of nothing, or of too many")
	}
}

// TestHolm is the example of R's p.adjust(c(0.01, 0.04, 0.03, 0.005), "holm").
func TestHolm(t *testing.T) {
	got := Holm([]float64{0.01, 0.04, 0.03, 0.005})
	if want := []float64{0.03, 0.06, 0.06, 0.02}; !slices.EqualFunc(got, want,
		func(a, b float64) bool { return math.Abs(a-b) < 1e-12 }) {
		t.Errorf("%v, want %v", got, want)
	}
}
