package methods

import (
	"slices"
	"testing"

	"github.com/fedfast/fedfast/fl"
)

// TestMimeLiteByHand works rounds out in float64.
func TestMimeLiteByHand(t *testing.T) {
	const lr, steps, rounds, beta, decay = 0.2, 3, 3, 0.7, 0.05
	for _, weighted := range []bool{false, true} {
		q := newQuadratics(t, mimeLite(), 6, 3)
		c, s := mimeLite().Defaults()
		c = fullBatch(c, lr, steps)
		c.WeightDecay, s.Beta1, s.Weighted = decay, beta, weighted
		plan := fl.Plan{Server: s, Clients: []fl.ClientParams{c}}
		tr := q.engine.NewTrial(0)
		w, m := firstDims(tr.Weights()), make([]float64, dims)
		for range rounds {
			r := runRounds(t, tr, plan, 1)[0]
			next, grad, total := make([]float64, dims), make([]float64, dims), 0.0
			for _, slot := range r.Slots {
				i, weight := slot.Client, 1.0
				if weighted {
					weight = float64(slot.TrainExamples)
				}
				at := slices.Clone(w)
				for range steps {
					for j := range at {
						at[j] -= lr * ((1-beta)*(q.alpha[i]*(at[j]-q.c[i][j])+decay*at[j]) + beta*m[j])
					}
				}
				total += weight
				for j := range at {
					next[j] += weight * at[j]
					grad[j] += weight * (q.alpha[i]*(w[j]-q.c[i][j]) + decay*w[j])
				}
			}
			for j := range w {
				w[j] = next[j] / total
				m[j] = (1-beta)*grad[j]/total + beta*m[j]
			}
		}
		if d := distance(tr.Weights(), w); d > 1e-4 {
			t.Errorf("weighted %v: the model is %v from the equations", weighted, d)
		}
		if d := distance(tr.Snapshot().Server[0], m); d > 1e-4 {
			t.Errorf("weighted %v: the momentum is %v from the equations", weighted, d)
		}
	}
}
