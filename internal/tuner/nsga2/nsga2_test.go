package nsga2_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/fedfast/fedfast/internal/pareto"
	"github.com/fedfast/fedfast/internal/test/playtest"
	"github.com/fedfast/fedfast/internal/tuner/nsga2"
	"github.com/fedfast/fedfast/tuners"
)

func space(t *testing.T) tuners.Space {
	t.Helper()
	s, err := tuners.ParseSpace(map[string]any{
		"client.lr": map[string]any{"uniform": []any{0.0, 1.0}}, "server.lr": map[string]any{"uniform": []any{0.0, 1.0}},
		"client.optimizer": map[string]any{"choice": []any{"sgd", "adam"}},
		"client.momentum": map[string]any{
			"uniform": []any{0.0, 0.9},
			"when":    map[string]any{"client.optimizer": []any{"sgd"}},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// schaffer are two losses whose front is where client.lr is between 0.3 and 0.7 and
// server.lr is 0.
func schaffer(p tuners.Params) (a, b float64) {
	x, y := p.Float("client.lr", -1), p.Float("server.lr", -1)
	return (x-0.3)*(x-0.3) + y, (x-0.7)*(x-0.7) + y
}

func study(t *testing.T, options tuners.Params, constraints ...tuners.Constraint) playtest.Study {
	return playtest.Study{
		Tuner: nsga2.Tuner,
		Request: tuners.OpenRequest{
			Space: space(t), Options: options, Budget: tuners.Budget{Rounds: 600, TrialRounds: 3}, Seed: 5,
			Trial:     tuners.StudySession,
			Objective: tuners.Objective{Metric: tuners.MetricError}, Extra: []tuners.Objective{{Metric: tuners.MetricBytesUp}},
			Constraints: constraints,
		},
		Score: func(_ int, p tuners.Params, _ int) float64 { a, _ := schaffer(p); return a },
		Values: func(p tuners.Params) map[string]float64 {
			a, b := schaffer(p)
			return map[string]float64{
				tuners.MetricError: a, tuners.MetricBytesUp: b,
				tuners.MetricBytesDown: p.Float("client.lr", 0),
			}
		},
	}
}

// volume is the hypervolume of some trials.
func volume(all []tuners.Params) float64 {
	var points [][]float64
	for _, p := range all {
		a, b := schaffer(p)
		points = append(points, []float64{a, b})
	}
	return pareto.Volume(points, []float64{1, 1})
}

// TestFindsTheFront evolves 200 trials: the last 40 dominate more of the unit square than the
// first 40, which are mostly at random.
func TestFindsTheFront(t *testing.T) {
	all := study(t, nil).Play(t).Ordered()
	if len(all) != 200 {
		t.Fatalf("%d trials", len(all))
	}
	if first, last := volume(all[:40]), volume(all[160:]); last < 0.9 || last < first+0.05 {
		t.Errorf("volume %v at first and %v at last", first, last)
	}
	for _, p := range all {
		_, has := p["client.momentum"]
		if name, _ := p["client.optimizer"].Text(); has != (name == "sgd") {
			t.Fatalf("%s has a momentum: %t", p, has)
		}
	}
}

// TestFeasibleFirst keeps to a bound that cuts the front off, and chooses within it.
func TestFeasibleFirst(t *testing.T) {
	r := study(t, nil, tuners.Constraint{Metric: tuners.MetricBytesDown, Bound: 0.6, Least: true}).Play(t)
	all := r.Ordered()
	beyond := 0
	for _, p := range all[160:] {
		if p.Float("client.lr", 0) < 0.6 {
			beyond++
		}
	}
	if beyond > 10 {
		t.Errorf("%d of the last 40 trials are beyond the bound", beyond)
	}
	if x := r.Params[r.Best].Float("client.lr", 0); x < 0.6 || x > 0.65 {
		t.Errorf("chose client.lr = %v, want the feasible end at 0.6", x)
	}
}

func TestGoesOnFromItsState(t *testing.T) {
	s := study(t, tuners.Params{"population": tuners.Num(6)})
	s.Request.Budget.Rounds = 60
	s.Reopened(t, 1, 5)
	s.Score = func(trial int, p tuners.Params, _ int) float64 {
		if trial < 6 {
			return playtest.Failure
		}
		a, _ := schaffer(p)
		return a
	}
	s.Reopened(t, 3)
}

func TestOptions(t *testing.T) {
	for _, c := range []struct {
		options tuners.Params
		want    string
	}{
		{tuners.Params{"population": tuners.Num(1)}, "a generation needs 2 trials or more, not 1"},
		{tuners.Params{"population": tuners.Num(200)}, "a generation of 200 trials leaves none of 200 for the next"},
		{tuners.Params{"swap": tuners.Num(2)}, "swap must be from 0 to 1, not 2"},
	} {
		problems, err := nsga2.Tuner.Validate(t.Context(), tuners.ValidateRequest{
			Space: space(t), Options: c.options,
			Budget: tuners.Budget{Rounds: 600, TrialRounds: 3},
		})
		if err != nil || !strings.Contains(fmt.Sprint(problems), c.want) {
			t.Errorf("%v: %v %v, want %q", c.options, problems, err, c.want)
		}
	}
}
