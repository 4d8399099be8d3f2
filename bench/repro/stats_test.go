package repro

import (
	"math"
	"testing"
)

// TestIntervals compares with FedEx's Table 2, which prints 90 % Student-t intervals of the standard deviations in Table 1.
func TestIntervals(t *testing.T) {
	for _, c := range []struct {
		n        int
		sd, half float64
	}{{5, 10.03, 9.56}, {5, 17.57, 16.75}, {5, 1.68, 1.60}, {10, 4.56, 2.64}, {10, 1.31, 0.76}} {
		// n numbers of that standard deviation: one at each side of the mean and the others on it.
		xs := make([]float64, c.n)
		xs[0] = c.sd * math.Sqrt(float64(c.n-1)/2)
		xs[1] = -xs[0]
		s := sampleOf(xs)
		if math.Abs(s.SD-c.sd) > 1e-9 || math.Abs(s.Half-c.half) > 0.006 {
			t.Errorf("n = %d, sd %v: %+v, want %v", c.n, c.sd, s, c.half)
		}
	}
	if s := sampleOf(nil); s.N != 0 || !math.IsNaN(s.Mean) {
		t.Errorf("of nothing: %+v", s)
	}
}
