package fl

import (
	"math"
	"testing"
)

// TestFedNovaByHand: rounds of clients with different numbers of steps, with momentum and without, against Wang et al. 2020, eq. 9, in
// float64. With one step a client it is FedAvg.
func TestFedNovaByHand(t *testing.T) {
	const lr = 0.05
	for _, momentum := range []float64{0, 0.6} {
		q := newQuadratics(t, fedNova{}, 6, 6)
		tr := q.engine.NewTrial(0)
		plan := Plan{Server: DefaultServerParams()}
		for slot := range 6 {
			c := fullBatch(DefaultClientParams(), lr, 1+2*slot)
			c.Momentum = momentum
			plan.Clients = append(plan.Clients, c)
		}
		want := make([]float64, dims)
		for j := range want {
			want[j] = float64(tr.Weights()[j])
		}
		for round := range 3 {
			r := runRounds(t, tr, plan, 1)[0]
			mean, effective := make([]float64, dims), 0.0
			for slot, s := range r.Slots {
				i, tau := s.Client, 1+2*slot
				// |a_i| = (tau - m (1 - m^tau) / (1 - m)) / (1 - m), below the paper's eq. 5.
				a := (float64(tau) - momentum*(1-math.Pow(momentum, float64(tau)))/(1-momentum)) / (1 - momentum)
				effective += q.share[i] * a
				for j := range mean {
					w, v := want[j], 0.0
					for range tau {
						v = momentum*v + q.alpha[i]*(w-q.c[i][j])
						w -= lr * v
					}
					mean[j] += q.share[i] * (want[j] - w) / a
				}
			}
			for j := range want {
				want[j] -= effective * mean[j]
			}
			if d := distance(tr.Weights(), want); d > 1e-4 {
				t.Errorf("momentum %v, round %d: %v from the equations", momentum, round, d)
			}
		}
	}
	one := Plan{Server: DefaultServerParams(), Clients: []ClientParams{fullBatch(DefaultClientParams(), lr, 1)}}
	nova, avg := newQuadratics(t, fedNova{}, 6, 6).engine.NewTrial(0), newQuadratics(t, fedAvg{}, 6, 6).engine.NewTrial(0)
	runRounds(t, nova, one, 3)
	runRounds(t, avg, one, 3)
	for j, x := range avg.Weights() {
		if d := math.Abs(float64(x - nova.Weights()[j])); d > 1e-6 {
			t.Fatalf("with one step a client weight %d differs from FedAvg's by %v", j, d)
		}
	}
}
