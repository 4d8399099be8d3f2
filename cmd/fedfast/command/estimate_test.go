package command

import (
	"testing"

	"github.com/fedfast/fedfast/internal/estimate"
)

func TestEstimateLine(t *testing.T) {
	for want, c := range map[string]struct {
		plan estimate.Plan
		e    estimate.Estimate
		need need
	}{
		"estimate: 264 trials on proxy federations and 500 rounds: about 41 minutes on 2 workers (2,210 examples/s each), 1.25 GB of memory and 101 MB per waiting trial\n": {
			estimate.Plan{Sides: 264, Rounds: 500}, estimate.Estimate{Seconds: 2460, Rate: 2210.4, Workers: 2}, need{1.25e9, 101e6},
		},
		"estimate: 1 round: about 12 seconds on 1 worker (9 examples/s), 90 MB of memory\n": {
			estimate.Plan{Rounds: 1}, estimate.Estimate{Seconds: 12, Rate: 9, Workers: 1}, need{90e6, 1e6},
		},
	} {
		if got := estimateLine(c.plan, c.e, c.need); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
