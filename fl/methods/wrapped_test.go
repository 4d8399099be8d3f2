package methods

import (
	"reflect"
	"sync/atomic"
	"testing"

	"github.com/fedfast/fedfast/fl"
	"github.com/fedfast/fedfast/internal/test/fltest"
)

// TestWrappedMethods: a copy of a method with a local training around its own is the
// method in all else, bit for bit: its server, states, memories, sub-networks,
// personalized models and bounds of memory.
func TestWrappedMethods(t *testing.T) {
	fed := fltest.OpenGlyphs(t, 12, 30)
	forEachMethod(t, func(t *testing.T, m fl.Method) {
		var trained, personalized atomic.Int64
		wrapped := m
		wrapped.Local = func(l *fl.Local) error {
			trained.Add(1)
			return m.Local(l)
		}
		if m.Personalize != nil {
			wrapped.Personalize = func(l *fl.Local) error {
				personalized.Add(1)
				return m.Personalize(l)
			}
		}
		const rounds, cohort, sample = 2, 4, 2
		plan := variedPlan(m, cohort)
		plan.Probes = everyProbe
		if keeps(m) {
			for i := range plan.Clients {
				plan.Clients[i].OptimizerState = "keep"
			}
		}
		type outcome struct {
			slots [][]fl.Slot
			sha   string
			eval  *fl.Evaluation
			most  int64
			shard string
		}
		run := func(m fl.Method) outcome {
			e := newEngine(t, fl.Config{
				Model: modelOf(t, m, fed), Data: fed, Method: m, Cohort: cohort,
				Seed: 11, KeepOptimizer: keeps(m),
			})
			tr := e.NewTrial(3)
			o := outcome{most: e.MostBytes()}
			for _, r := range runRounds(t, tr, plan, rounds) {
				o.slots = append(o.slots, r.Slots)
			}
			o.sha = e.Model().SHA256(tr.Weights())
			var err error
			if o.eval, err = e.Evaluate(t.Context(), tr.Weights(), fl.EvalConfig{
				Clients: plan.Clients[:1], Server: &plan.Server,
				Round: rounds, State: tr.State(), Sample: sample,
			}); err != nil {
				t.Fatal(err)
			}
			if err := m.CheckShards(plan.Clients[0], fl.Updates{}); err != nil {
				o.shard = err.Error()
			}
			return o
		}
		if got, want := run(wrapped), run(m); !reflect.DeepEqual(got, want) {
			t.Errorf("wrapped it comes to %s, %d bytes, %q and other measurements, else to %s, %d, %q", got.sha, got.most,
				got.shard, want.sha, want.most, want.shard)
		}
		tasks := int64(rounds * cohort)
		if m.Personalize == nil {
			tasks += sample
		} else if personalized.Load() < sample {
			t.Errorf("%d models are personalized by the wrapper, want %d or more", personalized.Load(), sample)
		}
		if trained.Load() != tasks {
			t.Errorf("%d local trainings are wrapped, want %d", trained.Load(), tasks)
		}
	})
}
