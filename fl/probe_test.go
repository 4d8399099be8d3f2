package fl

import (
	"math"
	"slices"
	"testing"

	"github.com/fedfast/fedfast/nn"
)

func TestScores(t *testing.T) {
	for _, tt := range []struct {
		sum  nn.Result
		want Score
	}{
		{nn.Result{Loss: 6, Correct: 1, Count: 4}, Score{0.75, 1.5}},
		{nn.Result{Loss: math.NaN(), Count: 4}, Score{1, DivergedLoss}},
		{nn.Result{Loss: math.NaN(), Correct: 3, Count: 4}, Score{1, DivergedLoss}},
		{nn.Result{Loss: math.Inf(1), Correct: 4, Count: 4}, Score{0, DivergedLoss}},
		// No worse than one that is not finite.
		{nn.Result{Loss: 1e30, Count: 4}, Score{1, DivergedLoss}},
	} {
		if got := scoreOf(tt.sum); got != tt.want {
			t.Errorf("%+v scores %+v, want %+v", tt.sum, got, tt.want)
		}
	}
	if s := scoreOf(nn.Result{}); !math.IsNaN(s.Error) || !math.IsNaN(s.Loss) {
		t.Errorf("no examples score %+v, want NaN", s)
	}
}

// TestLeastCosines takes clients' steps again by gradients of all their examples,
// and compares the cosines in float64: with the displacement after a step, and with
// the one before it, which the first step has not.
func TestLeastCosines(t *testing.T) {
	const lr = 0.5
	fed := openGlyphs(t, 12, 40)
	model := smallCNN(t, fed)
	e := newEngine(t, Config{Model: model, Data: fed, Cohort: 4, Seed: 1})
	wk := &worker{ws: model.NewWorkspace(), inputs: inputSize(model.Input()), labels: 1}
	for _, steps := range []int{1, 4} {
		tr := e.NewTrial(0)
		start := slices.Clone(tr.Weights())
		plan := Plan{Server: DefaultServerParams(), Clients: []ClientParams{fullBatch(DefaultClientParams(), lr, steps)}, Probes: []string{minCosine, minPriorCosine}}
		for _, s := range runRounds(t, tr, plan, 1)[0].Slots {
			train := fed.Clients[s.Client].Train
			all := make([]int32, train.Len())
			for i := range all {
				all[i] = int32(i)
			}
			b := wk.fill(train, all, nil)
			w, after, prior := slices.Clone(start), math.Inf(1), math.Inf(1)
			for k := range steps {
				wk.ws.Gradient(w, b, nn.TrainOpts{})
				g := wk.ws.Grad()
				if k > 0 {
					prior = min(prior, cosineTo(start, w, g))
				}
				for j, x := range g {
					w[j] -= lr * x
				}
				after = min(after, cosineTo(start, w, g))
			}
			if steps == 1 {
				prior = 0
			}
			if math.Abs(s.MinCosine-after) > 1e-3 || math.Abs(s.MinPriorCosine-prior) > 1e-3 {
				t.Errorf("%d steps, client %d: %v and %v, want %v and %v", steps, s.Client, s.MinCosine, s.MinPriorCosine, after, prior)
			}
		}
	}
}

// cosineTo is the cosine of g and start - w.
func cosineTo(start, w, g []float32) float64 {
	var gg, gd, dd float64
	for j, x := range g {
		d := float64(start[j]) - float64(w[j])
		gg, gd, dd = gg+float64(x)*float64(x), gd+float64(x)*d, dd+d*d
	}
	return gd / math.Sqrt(gg*dd)
}

// TestProbesOfRounds follows FATHOM's cosines and the agreement of signs on
// quadratics, in float64.
func TestProbesOfRounds(t *testing.T) {
	const steps, lr, alpha = 4, 0.2, 0.3
	q := newQuadratics(t, fedAvg{}, 6, 6)
	tr := q.engine.NewTrial(0)
	plan := Plan{Server: DefaultServerParams(), Clients: []ClientParams{fullBatch(DefaultClientParams(), lr, steps)}, Probes: []string{"cos_delta_smoothed{alpha=0.3}", "sign_agreement", "min_cos_grad_displacement", "steps"}}
	smooth := make([]float64, dims)
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
		var sg, ss, gg, agree float64
		for j := range dims {
			sg += smooth[j] * g[j]
			ss += smooth[j] * smooth[j]
			gg += g[j] * g[j]
			agree += math.Abs(signs[j]) / dims
			smooth[j] = alpha*smooth[j] + (1-alpha)*g[j]
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
