package methods

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/fedfast/fedfast/fl"
	"github.com/fedfast/fedfast/internal/test/fltest"
	"github.com/fedfast/fedfast/nn"
)

// TestFrozenParametersStay trains parts of a network by every method: what is frozen
// keeps its bits, the rest learns, and personalized models are measured.
func TestFrozenParametersStay(t *testing.T) {
	fed := fltest.OpenGlyphs(t, 12, 30)
	forEachMethod(t, func(t *testing.T, m fl.Method) {
		whole, parts := modelOf(t, m, fed), [][]string{{"*.weight"}, {"conv1.bias", "head.*"}, {"head.*"}}
		if m.Name == "fedtp" {
			parts = [][]string{{"*.in_proj_weight"}, {"residual1.*", "head.*"}}
		}
		if m.Name == "fedbn" {
			parts[1][0] = "batchnorm1.bias"
		}
		if m.Name == "fednas" || m.Name == "directfednas" {
			parts = [][]string{{"*.alpha"}, {"edge.*", "point.*"}, {"*.alpha", "head.*"}}
		}
		for _, patterns := range parts {
			model, err := whole.WithTrainable(patterns, 1)
			if err != nil {
				t.Fatal(err)
			}
			cfg := fl.Config{Model: model, Data: fed, Method: m, Cohort: 4, Seed: 11}
			if headed(m) && !model.Trains(nn.Span{Hi: cfg.Head().Lo}) {
				_, err := fl.New(cfg)
				if err == nil || !strings.Contains(err.Error(), "client.trainable leaves nothing of the body to train") ||
					strings.Contains(err.Error(), "\n") {
					t.Errorf("%s trains %q: error %v", m.Name, patterns, err)
				}
				continue
			}
			e := newEngine(t, cfg)
			tr := e.NewTrial(3)
			start := slices.Clone(tr.Weights())
			runRounds(t, tr, variedPlan(m, 4), 2)
			for _, f := range model.Frozen() {
				for i := f.Lo; i < f.Hi; i++ {
					if math.Float32bits(start[i]) != math.Float32bits(tr.Weights()[i]) {
						t.Fatalf("%s trains %q: frozen weight %d went from %v to %v", m.Name, patterns, i, start[i], tr.Weights()[i])
					}
				}
			}
			if slices.Equal(start, tr.Weights()) {
				t.Errorf("%s trains %q: nothing has changed", m.Name, patterns)
			}
			plan := defaultPlan(m)
			if _, err := e.Evaluate(t.Context(), tr.Weights(), fl.EvalConfig{
				Clients: plan.Clients, Server: &plan.Server,
				State: tr.State(),
			}); err != nil {
				t.Error(err)
			}
		}
	})
}

// headed says whether a method needs a body to train apart from the head; FedALA, which
// mixes heads, trains both together.
func headed(m fl.Method) bool {
	return slices.Contains(m.Settings(), "head_layers") && m.Name != "fedala"
}
