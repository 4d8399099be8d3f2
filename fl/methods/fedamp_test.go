package methods

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/fedfast/fedfast/fl"
)

// TestFedAMPByHand works rounds with small cohorts out in float64.
func TestFedAMPByHand(t *testing.T) {
	const lr, steps, rounds, clients = 0.2, 3, 3, 6
	q := newQuadratics(t, fedAMP(), clients, 3)
	c, s := fedAMP().Defaults()
	c = fullBatch(c, lr, steps)
	c.Lambda, s.AMPAlpha, s.AMPSigma = 0.5, 0.3, 2
	plan := fl.Plan{Server: s, Clients: []fl.ClientParams{c}}
	tr := q.engine.NewTrial(0)
	v := make([][]float64, clients)
	for i := range v {
		for _, x := range tr.Weights()[:dims] {
			v[i] = append(v[i], float64(x))
		}
	}
	self := 1.0
	for range rounds {
		r := runRounds(t, tr, plan, 1)[0]
		old := make([][]float64, clients)
		for i := range v {
			old[i] = slices.Clone(v[i])
		}
		for _, slot := range r.Slots {
			i := slot.Client
			weights := make([]float64, clients)
			weights[i] = 1
			for j := range old {
				square := 0.0
				for k := range old[j] {
					square += (old[i][k] - old[j][k]) * (old[i][k] - old[j][k])
				}
				if j != i {
					weights[j] = 0.3 * math.Exp(-square/2) / 2
					weights[i] -= weights[j]
				}
			}
			self = min(self, weights[i])
			u := make([]float64, dims)
			for j := range old {
				for k := range u {
					u[k] += weights[j] * old[j][k]
				}
			}
			v[i] = slices.Clone(u)
			for range steps {
				for k := range v[i] {
					v[i][k] -= lr * (q.alpha[i]*(v[i][k]-q.c[i][k]) + 0.5/0.3*(v[i][k]-u[k]))
				}
			}
		}
	}
	if self > 0.5 {
		t.Errorf("every client keeps %v of its model", self)
	}
	kept, size := tr.Snapshot().Server[0], len(tr.Weights())
	mean, has := make([]float64, dims), map[int][]float32{}
	for i := range v {
		if d := distance(kept[i*size:], v[i]); d > 1e-4 {
			t.Errorf("client %d: its model is %v from the equations", i, d)
		}
		for j := range mean {
			mean[j] += v[i][j] / clients
		}
		has[i] = kept[i*size:][:size]
	}
	if d := distance(tr.Weights(), mean); d > 1e-4 {
		t.Errorf("the global model is %v from the mean of the clients'", d)
	}
	wantKept(t, q.engine, q.fed, &quadratic{}, tr, plan, has)

	plan.Server.AMPAlpha = 2
	if _, err := q.engine.NewTrial(0).Round(t.Context(), plan); err == nil ||
		!strings.Contains(err.Error(), "server.amp_alpha = 2: the model of client ") ||
		!strings.Contains(err.Error(), "use at most 0.4") {
		t.Errorf("a negative weight of a client's own model: error %v", err)
	}
}
