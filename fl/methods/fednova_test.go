package methods

import (
	"math"
	"slices"
	"testing"

	"github.com/fedfast/fedfast/fl"
	"github.com/fedfast/fedfast/fl/hyper"
)

// TestFedNovaByHand: rounds of clients with different numbers of steps, with
// momentum and without, against Wang et al. 2020, eq. 9, in float64. With one step
// a client it is FedAvg.
func TestFedNovaByHand(t *testing.T) {
	const lr = 0.05
	for _, tt := range []struct {
		momentum, decay float64
		nesterov        bool
	}{{0, 0, false}, {0.6, 0, false}, {0, 2, false}, {0.6, 0.5, false}, {0.6, 0, true}, {0.6, 0.5, true}} {
		momentum := tt.momentum
		q := newQuadratics(t, fedNova(), 6, 6)
		tr := q.engine.NewTrial(0)
		plan := fl.Plan{Server: hyper.DefaultServer()}
		for slot := range 6 {
			c := fullBatch(hyper.DefaultClient(), lr, 1+2*slot)
			c.Momentum, c.WeightDecay, c.Nesterov = momentum, tt.decay, tt.nesterov
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
				a := gradientCounts(tau, momentum, lr*tt.decay, tt.nesterov)
				switch {
				case tt.nesterov:
				case tt.decay == 0: // below the paper's eq. 5
					same(t, a, (float64(tau)-momentum*(1-math.Pow(momentum, float64(tau)))/(1-momentum))/(1-momentum))
				case momentum == 0: // as its (1 - (1 - a mu)^tau) / (a mu) of a proximal term
					same(t, a, (1-math.Pow(1-lr*tt.decay, float64(tau)))/(lr*tt.decay))
				}
				effective += q.share[i] * a
				for j := range mean {
					w, v := want[j], 0.0
					for range tau {
						d := q.alpha[i]*(w-q.c[i][j]) + tt.decay*w
						v = momentum*v + d
						if tt.nesterov {
							w -= lr * (d + momentum*v)
						} else {
							w -= lr * v
						}
					}
					mean[j] += q.share[i] * (want[j] - w) / a
				}
			}
			for j := range want {
				want[j] -= effective * mean[j]
			}
			if d := distance(tr.Weights(), want); d > 1e-4 {
				t.Errorf("%+v, round %d: %v from the equations", tt, round, d)
			}
		}
	}
	one := fl.Plan{Server: hyper.DefaultServer(), Clients: []fl.ClientParams{fullBatch(hyper.DefaultClient(), lr, 1)}}
	nova, avg := newQuadratics(t, fedNova(), 6, 6).engine.NewTrial(0), newQuadratics(t, FedAvg(), 6, 6).engine.NewTrial(0)
	runRounds(t, nova, one, 3)
	runRounds(t, avg, one, 3)
	for j, x := range avg.Weights() {
		if d := math.Abs(float64(x - nova.Weights()[j])); d > 1e-6 {
			t.Fatalf("with one step a client weight %d differs from FedAvg's by %v", j, d)
		}
	}
}

// gradientCounts adds up, gradient after gradient, what is left after the last of
// tau steps of a gradient of 1 in the displacement; shrink is the learning rate
// times the weight decay.
func gradientCounts(tau int, momentum, shrink float64, nesterov bool) float64 {
	var sum float64
	for first := range tau {
		var v, moved float64
		for k := first; k < tau; k++ {
			d := -shrink * moved
			if k == first {
				d++
			}
			v = momentum*v + d
			if nesterov {
				moved += d + momentum*v
			} else {
				moved += v
			}
		}
		sum += moved
	}
	return sum
}

func same(t *testing.T, got, want float64) {
	t.Helper()
	if math.Abs(got-want) > 1e-12*math.Abs(want) {
		t.Errorf("a client's gradients count %v, want %v", got, want)
	}
}

// TestFedNovaDecay: where there is nothing to learn, the weights shrink by the sum
// of p_i |a_i| steps of decay, whoever takes how many of them.
func TestFedNovaDecay(t *testing.T) {
	const lr, decay = 0.1, 1.5
	q := newQuadratics(t, fedNova(), 6, 6)
	tr := q.engine.NewTrial(0)
	plan := fl.Plan{Server: hyper.DefaultServer()}
	for slot := range 6 {
		c := fullBatch(hyper.DefaultClient(), lr, 1+4*slot)
		c.WeightDecay = decay
		plan.Clients = append(plan.Clients, c)
	}
	at := dims + slices.IndexFunc(tr.Weights()[dims:], func(w float32) bool { return w != 0 })
	before := tr.Weights()[at]
	r := runRounds(t, tr, plan, 1)[0]
	var effective float64
	for slot, s := range r.Slots {
		effective += q.share[s.Client] * gradientCounts(1+4*slot, 0, lr*decay, false)
	}
	if want := float64(before) * (1 - lr*decay*effective); math.Abs(float64(tr.Weights()[at])-want) > 1e-5*math.Abs(float64(before)) {
		t.Errorf("a weight of no effect goes from %v to %v, want %v", before, tr.Weights()[at], want)
	}
}
