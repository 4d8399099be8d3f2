package study

import (
	"reflect"
	"strings"
	"testing"

	"github.com/fedfast/fedfast/fl"
	"github.com/fedfast/fedfast/fl/study/config"
	"github.com/fedfast/fedfast/fl/study/result"
)

// TestReturnedModelHasTheMemoryOfItsRound compares the scores of a study with those
// of its trials run again: personalized models are made with what the clients kept
// after the returned round, not after later ones.
func TestReturnedModelHasTheMemoryOfItsRound(t *testing.T) {
	for _, method := range []string{"ditto", "scaffold", "feddyn"} {
		s := glyphStudy(t, &script{params: learningRates(1e-4, 0.1, 1e-3), rung: 2, to: 5})
		setMethod(&s.Config, method)
		r, err := Tune(t.Context(), s)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range []*result.Chosen{&r.Best, r.Survivor} {
			engine, err := s.engine()
			if err != nil {
				t.Fatal(err)
			}
			plan := fl.Plan{Server: s.Config.Server, Clients: []fl.ClientParams{s.Config.Client.Client}}
			plan.Clients[0].LR = c.Params.Float("client.lr", 0)
			tr := engine.NewTrial(c.Number)
			for range c.Round {
				if _, err := tr.Round(t.Context(), plan); err != nil {
					t.Fatal(err)
				}
			}
			e, err := engine.Evaluate(t.Context(), tr.Weights(), fl.EvalConfig{
				Clients: plan.Clients, Server: &plan.Server,
				State: tr.State(), Measures: true,
			})
			engine.Close()
			if err != nil {
				t.Fatal(err)
			}
			e.Clients = nil // they have a row of their own
			if !reflect.DeepEqual(c.Evaluation, e) {
				t.Errorf("%s, trial %d after round %d: the study tells %+v, the trial run again %+v", method, c.Number, c.Round,
					*c.Evaluation, *e)
			}
		}
	}
}

func TestPrivateLossIsRefused(t *testing.T) {
	c := config.Default()
	c.Score.Epsilon, c.Score.Uniform = 1, true
	if err := c.Check(); err != nil {
		t.Errorf("a private error: %v", err)
	}
	c.Objective = "loss"
	if err := c.Check(); err == nil || !strings.HasPrefix(err.Error(), "score.epsilon: a loss is unbounded") {
		t.Errorf("a private loss: got error %v", err)
	}
}
