package methods

import (
	"math"
	"slices"
	"testing"

	"github.com/fedfast/fedfast/fl"
	"github.com/fedfast/fedfast/fl/hyper"
)

// TestProbesOfRounds follows FATHOM's cosines and the agreement of signs on
// quadratics, in float64.
func TestProbesOfRounds(t *testing.T) {
	const steps, lr, alpha = 4, 0.2, 0.3
	q := newQuadratics(t, FedAvg(), 6, 6)
	tr := q.engine.NewTrial(0)
	plan := fl.Plan{
		Server: hyper.DefaultServer(), Clients: []fl.ClientParams{fullBatch(hyper.DefaultClient(), lr, steps)},
		Probes: []string{
			"cos_delta_smoothed{alpha=0.3}", "dot_delta_previous", "sign_agreement",
			"min_cos_grad_displacement", "steps",
		},
	}
	smooth, previous := make([]float64, dims), make([]float64, dims)
	for round := range 3 {
		w := slices.Clone(tr.Weights())
		r := runRounds(t, tr, plan, 1)[0]
		g, signs := make([]float64, dims), make([]float64, dims)
		for j := range dims {
			for i, a := range q.alpha {
				delta := (1 - math.Pow(1-lr*a, steps)) * (float64(w[j]) - q.c[i][j])
				g[j] += q.share[i] * delta
				signs[j] += q.share[i] * math.Copysign(1, delta)
			}
		}
		var sg, ss, gg, dot, agree float64
		for j := range dims {
			sg += smooth[j] * g[j]
			ss += smooth[j] * smooth[j]
			gg += g[j] * g[j]
			dot += previous[j] * g[j]
			agree += math.Abs(signs[j]) / dims
			smooth[j] = alpha*smooth[j] + (1-alpha)*g[j]
		}
		previous = g
		if got, ok := r.Probe("dot_delta_previous"); !ok || math.Abs(got-dot) > 1e-4*gg || round > 0 && dot == 0 {
			t.Errorf("round %d: inner product %v (%v), want %v", round, got, ok, dot)
		}
		want := 0.0
		if round > 0 {
			want = sg / math.Sqrt(ss*gg)
		}
		if got, ok := r.Probe("cos_delta_smoothed{alpha=0.3}"); !ok || math.Abs(got-want) > 1e-4 {
			t.Errorf("round %d: smoothed cosine %v (%v), want %v", round, got, ok, want)
		}
		if got, ok := r.Probe("sign_agreement"); !ok || math.Abs(got-agree) > 1e-3 {
			t.Errorf("round %d: agreement %v (%v), want %v", round, got, ok, agree)
		}
		if got, ok := r.Probe("steps"); !ok || got != steps {
			t.Errorf("round %d: %v steps (%v), want %d", round, got, ok, steps)
		}
		if _, ok := r.Probe("cos_delta_smoothed"); ok {
			t.Errorf("round %d: a probe that nobody asked for", round)
		}
		if _, ok := r.Slots[0].Probe("sign_agreement"); ok {
			t.Errorf("round %d: a slot has an agreement", round)
		}
	}
}
