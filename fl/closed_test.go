package fl_test

import (
	"strings"
	"testing"

	"github.com/fedfast/fedfast/data"
	_ "github.com/fedfast/fedfast/data/sets"
	"github.com/fedfast/fedfast/fl"
	_ "github.com/fedfast/fedfast/fl/methods"
	"github.com/fedfast/fedfast/nn/models"
)

func TestAClosedEngineRefuses(t *testing.T) {
	fed, err := data.Open(t.Context(), data.Config{Name: "glyphs", Clients: 4, Samples: 20, Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	model, err := models.New("logistic", models.Options{Classes: fed.Classes})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"fedavg", "scaffold"} { // without states of clients and with them
		method, err := fl.MethodByName(name)
		if err != nil {
			t.Fatal(err)
		}
		engine, err := fl.New(fl.Config{Model: model, Data: fed, Method: method, Cohort: 2, Seed: 1})
		if err != nil {
			t.Fatal(err)
		}
		client, server := method.Defaults()
		plan := fl.Plan{Server: server, Clients: []fl.ClientParams{client}}
		trial := engine.NewTrial(0)
		if _, err := trial.Round(t.Context(), plan); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			engine.Close()
		}
		if _, err := trial.Round(t.Context(), plan); err == nil || !strings.Contains(err.Error(),
			"the engine is closed") || trial.Rounds() != 1 {
			t.Errorf("%s: a round after Close: %v, at round %d", name, err, trial.Rounds())
		}
		if _, err := engine.Evaluate(t.Context(), trial.Weights(), fl.EvalConfig{}); err == nil ||
			!strings.Contains(err.Error(), "the engine is closed") {
			t.Errorf("%s: an evaluation after Close: %v", name, err)
		}
	}
}
