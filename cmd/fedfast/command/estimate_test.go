package command

import (
	"testing"

	"github.com/fedfast/fedfast/internal/estimate"
)

func TestEstimateLine(t *testing.T) {
	for want, c := range map[string]struct {
		plan estimate.Plan
		e    estimate.Estimate
	}{
		"estimate: 264 trials on proxy federations and 500 rounds: about 41 minutes on 2 workers (2,210 examples a second each)\n": {
			estimate.Plan{Sides: 264, Rounds: 500}, estimate.Estimate{Seconds: 2460, Rate: 2210.4, Workers: 2},
		},
		"estimate: 1 round: about 12 seconds on 1 worker (9 examples a second)\n": {estimate.Plan{Rounds: 1}, estimate.Estimate{Seconds: 12, Rate: 9, Workers: 1}},
	} {
		if got := estimateLine(c.plan, c.e); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
