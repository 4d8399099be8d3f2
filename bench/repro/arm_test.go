package repro

import (
	"math"
	"testing"
)

// TestGainOfArms compares the last rounds that two arms have both run.
func TestGainOfArms(t *testing.T) {
	scores := func(xs ...float64) []*float64 {
		var out []*float64
		for _, x := range xs {
			if out = append(out, &x); math.IsNaN(x) {
				out[len(out)-1] = nil
			}
		}
		return out
	}
	for _, c := range []struct {
		fresh, old []*float64
		want       float64
		ok         bool
	}{
		{scores(0.1, 0.4, 0.7, 0.7, 0.7, 0.7), scores(0.9, 0.9, 0.8, 0.8, 0.8, 0.8, 0.8), 18, true}, // rounds 2 to 6
		{scores(0.6, 0.6, 0.1), scores(0.5, 0.5), -10, true},
		{scores(0.5, 0.5), scores(0.5, math.NaN()), 0, false},
		{nil, scores(0.5), 0, false},
	} {
		if got, ok := gainOf(c.fresh, c.old); ok != c.ok || ok && math.Abs(got-c.want) > 1e-9 {
			t.Errorf("gain %v, %t, want %v", got, ok, c.want)
		}
	}
}
