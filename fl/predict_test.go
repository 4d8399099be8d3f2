package fl

import (
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/fedfast/fedfast/fl/hyper"
	"github.com/fedfast/fedfast/internal/test/fltest"
)

// TestPredict counts the wrong predictions of every client's test examples, which
// must be the errors that Evaluate finds.
func TestPredict(t *testing.T) {
	fed := fltest.OpenGlyphs(t, 9, 30)
	model := fltest.SmallCNN(t, fed)
	e := newEngine(t, Config{Method: average(), Model: model, Data: fed, Cohort: 3, Seed: 8})
	tr := e.NewTrial(0)
	runRounds(t, tr, Plan{Clients: []ClientParams{hyper.DefaultClient()}, Server: hyper.DefaultServer()}, 3)
	want, err := e.Evaluate(t.Context(), tr.Weights(), EvalConfig{})
	if err != nil {
		t.Fatal(err)
	}
	wrong, all, at := map[string]int{}, map[string]int{}, 0
	splits := []string{"val", "test"}
	err = e.Predict(t.Context(), tr.Weights(), splits, func(p Predictions) error {
		if p.Client != at/2 || p.Split != splits[at%2] || len(p.Labels) != len(p.Best) {
			t.Errorf("call %d is about client %d, split %s, %d labels and %d predictions", at, p.Client,
				p.Split, len(p.Labels), len(p.Best))
		}
		at++
		for i, label := range p.Labels {
			all[p.Split]++
			if p.Best[i].Class != label {
				wrong[p.Split]++
			}
			if x := p.Best[i].Probability; !(x > 1/float32(model.Classes())-1e-6 && x <= 1) {
				t.Errorf("the likeliest class has the probability %v", x)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for split, s := range map[string]Summary{"val": want.GlobalVal, "test": want.GlobalTest} {
		if got := float64(wrong[split]) / float64(all[split]); all[split] != s.Examples || math.Abs(got-s.Error) > 1e-12 {
			t.Errorf("%s: %v of %d are wrong, want %v of %d", split, got, all[split], s.Error, s.Examples)
		}
	}
	stop := errors.New("enough")
	calls := 0
	if err := e.Predict(t.Context(), tr.Weights(), splits,
		func(Predictions) error { calls++; return stop }); !errors.Is(err, stop) || calls != 1 {
		t.Errorf("%v after %d calls", err, calls)
	}
	if err := e.Predict(t.Context(), tr.Weights(), []string{"all"}, nil); err == nil ||
		!strings.Contains(err.Error(), `unknown split "all"`) {
		t.Errorf("a split that no client has: %v", err)
	}
	if _, err := e.EvaluateSplit(t.Context(), tr.Weights(), "train", []int{0}, EvalConfig{}); err == nil ||
		!strings.Contains(err.Error(), `unknown split "train"`) {
		t.Errorf("an evaluation on training samples: %v", err)
	}
	if _, err := e.Evaluate(t.Context(), tr.Weights(), EvalConfig{Noise: ScoreOptions{Clients: 1}}); err == nil {
		t.Error("Evaluate ignores the noise of scores")
	}
}

// TestStart begins trials from the weights of WithStart.
func TestStart(t *testing.T) {
	fed := fltest.OpenGlyphs(t, 3, 30)
	model := fltest.SmallCNN(t, fed)
	w := model.NewParams()
	model.Init(w, 77)
	e := newEngine(t, Config{Method: average(), Model: model.WithStart(w), Data: fed, Cohort: 1, Seed: 8})
	for _, number := range []int{0, 5} {
		if got := e.NewTrial(number).Weights(); model.SHA256(got) != model.SHA256(w) {
			t.Errorf("trial %d does not start from the given weights", number)
		}
	}
	if model.Start() != nil {
		t.Error("the model without a start has one")
	}
}
