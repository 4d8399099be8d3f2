package privacy_test

import (
	"math"
	"testing"

	"github.com/fedfast/fedfast/internal/privacy"
)

// TestLowerBound audits randomized response, whose epsilon is known.
func TestLowerBound(t *testing.T) {
	t.Parallel()
	state := uint64(1)
	uniform := func() float64 {
		state = state*6364136223846793005 + 1442695040888963407
		return float64(state>>11) / (1 << 53)
	}
	const canaries = 2000
	over := 0
	for range 20 {
		const epsilon = 1.5
		in, scores := make([]bool, canaries), make([]float64, canaries)
		for i := range in {
			in[i] = uniform() < 0.5
			said := in[i] == (uniform() < 1/(1+math.Exp(-epsilon)))
			if scores[i] = uniform(); said {
				scores[i]++
			}
		}
		got := privacy.LowerBound(scores, in, 0, 0.95)
		if got > epsilon {
			over++
		}
		if got < 1.1 {
			t.Errorf("the lower bound of %v is %v", epsilon, got)
		}
		if less := privacy.LowerBound(scores, in, 1e-3, 0.95); less >= got {
			t.Errorf("with a delta it is %v, without %v", less, got)
		}
		for i := range in {
			in[i] = uniform() < 0.5
		}
		if got := privacy.LowerBound(scores, in, 0, 0.9999); got > 0.1 {
			t.Errorf("the lower bound of nothing is %v", got)
		}
	}
	if over > 4 {
		t.Errorf("%d of 20 lower bounds are above epsilon", over)
	}
	if !privacy.NoiseTooLow(400, 1000) || privacy.NoiseTooLow(950, 1000) || privacy.NoiseTooLow(0, 0) {
		t.Error("too little noise is not told from enough")
	}
}
