package methods

import (
	"math"
	"testing"

	"github.com/fedfast/fedfast/fl"
	"github.com/fedfast/fedfast/fl/hyper"
)

// TestMIFAByHand: rounds of two of six clients step by the mean of the last changes of all
// six, in float64.
func TestMIFAByHand(t *testing.T) {
	const lr, steps, serverLR = 0.05, 3, 0.7
	q := newQuadratics(t, mifa(), 6, 2)
	tr := q.engine.NewTrial(0)
	plan := fl.Plan{Clients: []fl.ClientParams{fullBatch(hyper.DefaultClient(), lr, steps)}, Server: hyper.DefaultServer()}
	plan.Server.LR = serverLR
	var last [6][dims]float64
	want := make([]float64, dims)
	for j := range want {
		want[j] = float64(tr.Weights()[j])
	}
	again, seen := 0, map[int]bool{}
	for round := range 12 {
		for _, s := range runRounds(t, tr, plan, 1)[0].Slots {
			if seen[s.Client] {
				again++
			}
			seen[s.Client] = true
			for j := range want {
				w := want[j]
				for range steps {
					w -= lr * q.alpha[s.Client] * (w - q.c[s.Client][j])
				}
				last[s.Client][j] = want[j] - w
			}
		}
		for j := range want {
			for i := range last {
				want[j] -= serverLR * last[i][j] / 6
			}
			if got := float64(tr.Weights()[j]); math.Abs(got-want[j]) > 1e-5 {
				t.Fatalf("round %d: weight %d is %v, want %v", round, j, got, want[j])
			}
		}
	}
	if again == 0 || len(seen) < 4 {
		t.Errorf("%d clients train, %d times again", len(seen), again)
	}
}
