package methods

import (
	"math"
	"slices"
	"testing"

	"github.com/fedfast/fedfast/fl"
)

// TestAdaptiveWeights follows a round of Adam on the server in float64, with
// clients that weigh by their examples, the default, and equally, as Reddi et al.
// 2020 print.
func TestAdaptiveWeights(t *testing.T) {
	const lr, steps = 0.2, 3
	for _, weighted := range []bool{true, false} {
		m, err := fl.MethodByName("fedadam")
		if err != nil {
			t.Fatal(err)
		}
		q := newQuadratics(t, m, 6, 6)
		c, s := m.Defaults()
		if !s.Weighted {
			t.Fatal("by default, clients do not weigh by their examples")
		}
		s.Weighted = weighted
		tr := q.engine.NewTrial(0)
		start := slices.Clone(tr.Weights())
		runRounds(t, tr, fl.Plan{Server: s, Clients: []fl.ClientParams{fullBatch(c, lr, steps)}}, 1)
		want := make([]float64, dims)
		for j := range want {
			w, g := float64(start[j]), 0.0
			for i, a := range q.alpha {
				p := 1 / float64(len(q.alpha))
				if weighted {
					p = q.share[i]
				}
				g += p * (w - q.c[i][j]) * (1 - math.Pow(1-lr*a, steps))
			}
			v := s.Beta2*s.Tau*s.Tau + (1-s.Beta2)*g*g
			want[j] = w - s.LR*(1-s.Beta1)*g/(math.Sqrt(v)+s.Tau)
		}
		if d := distance(tr.Weights(), want); d > 1e-5 {
			t.Errorf("weighted %v: one round ends %v from the equations", weighted, d)
		}
	}
}
