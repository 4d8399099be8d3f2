package methods

import (
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/fedfast/fedfast/fl"
	"github.com/fedfast/fedfast/fl/hyper"
	"github.com/fedfast/fedfast/internal/test/fltest"
	"github.com/fedfast/fedfast/kernels"
)

// keeping returns a method's plan with a rule whose memory clients keep.
func keeping(m fl.Method, rule string) fl.Plan {
	p := defaultPlan(m)
	c := &p.Clients[0]
	if c.Optimizer, c.OptimizerState = rule, "keep"; rule == "sgd" {
		c.Momentum = 0.9
	} else {
		c.LR = 0.002
	}
	return p
}

// keeps says whether a method lets clients keep what their optimizers remember.
func keeps(m fl.Method) bool {
	return slices.ContainsFunc(m.Uses, func(u hyper.Use) bool { return u.Key == "client.optimizer_state" && !u.Fixed() })
}

// TestKeptOptimizersKeepThePromises: the same bits for any number of workers, with states
// in a file, and after a snapshot that went through one, when rules change between the
// rounds, too; other bits than without.
func TestKeptOptimizersKeepThePromises(t *testing.T) {
	fed := fltest.OpenGlyphs(t, 8, 30)
	model := fltest.SmallCNN(t, fed)
	forEachMethod(t, func(t *testing.T, m fl.Method) {
		if !keeps(m) {
			c, s := m.Defaults()
			c.OptimizerState = "keep"
			if err := m.CheckParams(c, s); err == nil || !strings.HasPrefix(err.Error(),
				`client.optimizer_state = "keep": method "`+m.Name+`" needs "reset"; `) {
				t.Errorf("it gives no reason: %v", err)
			}
			return
		}
		rounds := func(tr *fl.Trial, from, to int) string {
			for r := from; r < to; r++ {
				runRounds(t, tr, keeping(m, []string{"sgd", "sgd", "adam", "adamw", "sgd"}[r]), 1)
			}
			return model.SHA256(tr.Weights())
		}
		cfg := fl.Config{Model: model, Data: fed, Method: m, Cohort: 6, Seed: 5, Workers: 1, KeepOptimizer: true}
		e := newEngine(t, cfg)
		tr := e.NewTrial(1)
		rounds(tr, 0, 3)
		snap := tr.Snapshot()
		want := rounds(tr, 3, 5)
		eval := fl.EvalConfig{Clients: keeping(m, "sgd").Clients, State: tr.State(), Sample: 3}
		before, err := e.Evaluate(t.Context(), tr.Weights(), eval)
		if err != nil {
			t.Fatal(err)
		}
		if after, err := e.Evaluate(t.Context(), tr.Weights(), eval); err != nil || !reflect.DeepEqual(before, after) {
			t.Errorf("an evaluation changes what is kept: %v", err)
		}

		cfg.Workers, cfg.StateMemory = 3, 1
		e3 := newEngine(t, cfg)
		if got := rounds(e3.NewTrial(1), 0, 5); got != want {
			t.Errorf("3 workers, states in a file: weights %s, want %s", got, want)
		}
		again, err := e3.Restore(written(t, snap))
		if err != nil {
			t.Fatal(err)
		}
		if got := rounds(again, 3, 5); got != want {
			t.Errorf("restored: weights %s, want %s", got, want)
		}
		plan := keeping(m, "sgd")
		plan.Clients[0].OptimizerState = "reset"
		kept, reset := e.NewTrial(2), e.NewTrial(2)
		runRounds(t, kept, keeping(m, "sgd"), 2)
		runRounds(t, reset, plan, 2)
		if slices.Equal(kept.Weights(), reset.Weights()) {
			t.Error("keeping changes nothing")
		}
		cfg.KeepOptimizer = false
		if _, err := newEngine(t, cfg).NewTrial(1).Round(t.Context(), keeping(m, "sgd")); err == nil ||
			!strings.Contains(err.Error(), "set Config.KeepOptimizer") {
			t.Errorf("an engine that keeps nothing: %v", err)
		}
	})
}

// TestKeptOptimizersGoOn: with one client and all of its examples in a batch, rounds of one
// step are the steps of one round, of the client's own models too.
func TestKeptOptimizersGoOn(t *testing.T) {
	fed := fltest.OpenGlyphs(t, 1, 40)
	model := fltest.SmallCNN(t, fed)
	const steps = 5
	for _, m := range []fl.Method{FedAvg(), ditto(), fedProx(), fedPer()} {
		for _, rule := range []string{"sgd", "adam", "adamw"} {
			trained := func(rounds int, state string) []float32 {
				plan := keeping(m, rule)
				c := &plan.Clients[0]
				*c = fullBatch(*c, c.LR, steps/rounds)
				c.OptimizerState, c.Lambda, c.PersonalEpochs, c.WeightDecay = state, 0, 0, 0.01
				if m.Name == "fedprox" {
					c.Mu = 1e-12
				}
				tr := newEngine(t, fl.Config{
					Model: model, Data: fed, Method: m, Cohort: 1, Seed: 5, Workers: 1,
					KeepOptimizer: true,
				}).NewTrial(1)
				runRounds(t, tr, plan, rounds)
				w := slices.Clone(tr.Weights())
				for _, c := range tr.Snapshot().Clients {
					own, err := c.Values()
					if err != nil {
						t.Fatal(err)
					}
					if m.Name == "ditto" {
						w = append(w, own[:model.Size()]...)
					}
				}
				return w
			}
			far := func(a, b []float32) float64 {
				d := slices.Clone(a)
				kernels.Sub(d, a, b)
				return kernels.Norm(d) / math.Sqrt(float64(len(d)))
			}
			one := trained(1, "keep")
			if d := far(trained(steps, "keep"), one); d > 1e-6 {
				t.Errorf("%s, %s: rounds that go on are %g from one round", m.Name, rule, d)
			}
			if d := far(trained(steps, "reset"), one); d < 1e-4 {
				t.Errorf("%s, %s: rounds that start afresh are %g from one round", m.Name, rule, d)
			}
		}
	}
}
