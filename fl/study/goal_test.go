package study

import (
	"strings"
	"testing"

	"github.com/fedfast/fedfast/fl/study/config"
	"github.com/fedfast/fedfast/fl/study/result"
	"github.com/fedfast/fedfast/plugins"
)

func TestReached(t *testing.T) {
	curve := []result.CurvePoint{{Round: 5, TestError: 0.5}, {Round: 10, TestError: 0.2}, {Round: 15, TestError: 0.1}}
	if p := result.Reached(curve, 0.8); p == nil || p.Round != 10 {
		t.Errorf("80 %% is reached at %+v, want round 10", p)
	}
	if p := result.Reached(curve, 0.95); p != nil {
		t.Errorf("95 %% is reached at %+v", p)
	}
}

func TestBroke(t *testing.T) {
	for _, c := range []struct {
		errors     []float64
		best, from int // rounds, 0 for none
	}{
		{nil, 0, 0},
		{[]float64{0.9, 0.5, 0.2, 0.25}, 0, 0},
		{[]float64{0.5, 0.2, 0.9, 0.9}, 2, 3},
		{[]float64{0.2, 0.9, 0.5, 0.3}, 0, 0}, // it comes back
		{[]float64{0.2, 0.9, 0.1, 0.6}, 3, 4},
	} {
		var curve []result.CurvePoint
		for i, e := range c.errors {
			curve = append(curve, result.CurvePoint{Round: i + 1, TestError: e})
		}
		best, from := result.Broke(curve)
		if c.from == 0 && from == nil && best == nil {
			continue
		}
		if best == nil || from == nil || best.Round != c.best || from.Round != c.from {
			t.Errorf("%v: %+v, %+v", c.errors, best, from)
		}
	}
}

// TestRunsEndAtTheirGoal trains with and without a goal.
func TestRunsEndAtTheirGoal(t *testing.T) {
	s := glyphStudy(t, nil)
	s.Config.Rounds, s.Config.Eval.Every, s.Config.Client.LR = 60, 10, 0.3
	whole, err := Run(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	if len(whole.Curve) != 6 || whole.Rounds != 60 || whole.Curve[5].Examples != whole.Examples {
		t.Fatalf("curve %+v of %d rounds, %d examples", whole.Curve, whole.Rounds, whole.Examples)
	}
	first, last := whole.Curve[0], whole.Curve[5]
	if last.TestError >= first.TestError {
		t.Fatalf("the test error goes from %v to %v", first.TestError, last.TestError)
	}
	goal := 1 - last.TestError
	point := result.Reached(whole.Curve, goal)
	s.Config.Eval.Goal = goal
	short, err := Run(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	if short.Rounds != point.Round || *short.GlobalTest != point.TestError {
		t.Errorf("it ends after round %d with error %v, want round %d and %v", short.Rounds, *short.GlobalTest, point.Round,
			point.TestError)
	}
	s.Config.Eval.Every = 0
	if _, err := Run(t.Context(), s); err == nil || !strings.Contains(err.Error(), "eval.goal: requires eval.every") {
		t.Errorf("a goal that nobody looks at: %v", err)
	}
}

// TestCurveOnOtherClientsEachTime measures on four clients on the way, and at the
// end on all.
func TestCurveOnOtherClientsEachTime(t *testing.T) {
	s := glyphStudy(t, nil)
	s.Config.Rounds, s.Config.Eval.Every, s.Config.Client.LR = 12, 1, 0.3
	whole, err := Run(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	s.Config.Eval.EveryClients = 4
	some, err := Run(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	if *some.GlobalTest != *whole.GlobalTest || some.WeightsSHA256 != whole.WeightsSHA256 {
		t.Errorf("the end result is %v, with all clients on the way %v", *some.GlobalTest, *whole.GlobalTest)
	}
	above, below := 0, 0
	for i, p := range some.Curve {
		if p.TestError > whole.Curve[i].TestError {
			above++
		}
		if p.TestError < whole.Curve[i].TestError {
			below++
		}
	}
	if above == 0 || below == 0 {
		t.Errorf("of four clients the error is %d times above and %d times below that of all", above, below)
	}
	s.Config.Eval.Every = 0
	if _, err := Run(t.Context(), s); err == nil || !strings.Contains(err.Error(),
		"eval.every_clients: requires eval.every") {
		t.Errorf("clients that nobody looks at: %v", err)
	}
}

// TestFathomAlone runs FATHOM without a wrapper and looks at what it set.
func TestFathomAlone(t *testing.T) {
	var results []*result.Result
	for _, workers := range []int{1, 2} {
		s := glyphStudy(t, plugins.Builtin()["fathom"])
		s.Config.Space, s.Config.Tuner.Name, s.Config.Method = nil, "fathom", "fedavg"
		s.Config.Client.LR, s.Config.Client.Batch, s.Config.Client.Epochs, s.Config.Client.Wrap = 0.1, 64, 1, true
		s.Config.Client.Momentum = 0
		s.Config.Eval.Every, s.Config.Budget, s.Workers = 1, config.Budget{Rounds: 8, TrialRounds: 8}, workers
		r, err := Tune(t.Context(), s)
		if err != nil {
			t.Fatal(err)
		}
		results = append(results, r)
	}
	curve := results[0].Trials[0].Curve
	if len(curve) != 8 {
		t.Fatalf("%d points", len(curve))
	}
	if p := curve[0].Params; p.Float("client.batch", 0) != 64 || len(p) != 3 {
		t.Errorf("it starts with %v, want what the study sets", p)
	}
	if a, b := curve[7].Params, results[1].Trials[0].Curve[7].Params; a.Equal(curve[0].Params) || !a.Equal(b) {
		t.Errorf("it ends with %v; with two workers with %v", a, b)
	}
}
