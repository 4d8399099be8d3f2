package fl

import (
	"math"
	"reflect"
	"slices"
	"testing"

	"github.com/fedfast/fedfast/fl/hyper"
	"github.com/fedfast/fedfast/fl/internal/limit"
	"github.com/fedfast/fedfast/internal/test/fltest"
	"github.com/fedfast/fedfast/nn"
)

func TestScores(t *testing.T) {
	for _, tt := range []struct {
		sum  nn.Result
		want Score
	}{
		{nn.Result{Loss: 6, Correct: 1, Count: 4}, Score{Error: 0.75, Loss: 1.5}},
		{nn.Result{Loss: math.NaN(), Count: 4}, Score{Error: 1, Loss: limit.DivergedLoss}},
		{nn.Result{Loss: math.NaN(), Correct: 3, Count: 4}, Score{Error: 1, Loss: limit.DivergedLoss}},
		{nn.Result{Loss: math.Inf(1), Correct: 4, Count: 4}, Score{Error: 0, Loss: limit.DivergedLoss}},
		// No worse than one that is not finite.
		{nn.Result{Loss: 1e30, Count: 4}, Score{Error: 1, Loss: limit.DivergedLoss}},
	} {
		if got := scoreOf(outcome{Result: tt.sum}); !reflect.DeepEqual(got, tt.want) {
			t.Errorf("%+v scores %+v, want %+v", tt.sum, got, tt.want)
		}
	}
	if s := scoreOf(outcome{}); !math.IsNaN(s.Error) || !math.IsNaN(s.Loss) {
		t.Errorf("no examples score %+v, want NaN", s)
	}
}

// TestLeastCosines takes clients' steps again by gradients of all their examples,
// and compares the cosines in float64: with the displacement after a step, and with
// the one before it, which the first step has not.
func TestLeastCosines(t *testing.T) {
	const lr = 0.5
	fed := fltest.OpenGlyphs(t, 12, 40)
	model := fltest.SmallCNN(t, fed)
	e := newEngine(t, Config{Method: average(), Model: model, Data: fed, Cohort: 4, Seed: 1})
	ws := model.NewWorkspace()
	for _, steps := range []int{1, 4} {
		tr := e.NewTrial(0)
		start := slices.Clone(tr.Weights())
		c := hyper.DefaultClient()
		c.LR, c.Steps, c.Batch, c.Dropout = lr, steps, 1000, 0
		plan := Plan{Server: hyper.DefaultServer(), Clients: []ClientParams{c}, Probes: []string{minCosine, minPriorCosine}}
		for _, s := range runRounds(t, tr, plan, 1)[0].Slots {
			train := fed.Clients[s.Client].Train
			b := fltest.Batch(t, model, train)
			w, after, prior := slices.Clone(start), math.Inf(1), math.Inf(1)
			for k := range steps {
				ws.Gradient(w, b, nn.TrainOpts{})
				g := ws.Grad()
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
				t.Errorf("%d steps, client %d: %v and %v, want %v and %v", steps, s.Client, s.MinCosine,
					s.MinPriorCosine, after, prior)
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
