package study

import (
	"context"
	"fmt"
	"slices"

	"github.com/fedfast/fedfast/fl"
	"github.com/fedfast/fedfast/fl/study/internal/record"
	"github.com/fedfast/fedfast/fl/study/internal/replay"
	"github.com/fedfast/fedfast/fl/study/internal/trial"
	"github.com/fedfast/fedfast/fl/study/result"
	"github.com/fedfast/fedfast/internal/store"
	"github.com/fedfast/fedfast/tuners"
)

// finalists returns the models among which the study chooses, each once: the last
// survivors, of which it describes how many there are, the tuner's choice before all,
// then the best snapshots.
func (d *driver) finalists(survivor *entrant) (all []trial.Model, survivors int) {
	var last []trial.Model
	able := eligible(d.suggested(), d.aims)
	if survivor != nil && !slices.Contains(able, survivor) {
		survivor = nil
	}
	for _, t := range survivorsOf(able, survivor, d.objective, d.setup.Config.Finalists.Snapshots) {
		last = append(last, d.lastOf(t))
	}
	return withBest(last, ofThem(d.best, able, d.aims)), len(last)
}

// ofThem returns the best models of trials that are eligible.
func ofThem[T survivor](best ranking, able []T, aims tuners.Aims) ranking {
	if len(aims.Constraints) == 0 || len(able) == 0 {
		return best
	}
	return slices.DeleteFunc(slices.Clone(best), func(m trial.Model) bool {
		return !slices.ContainsFunc(able, func(t T) bool { return t.number() == m.Trial.Number })
	})
}

// withBest returns models with those of the best that are not among them.
func withBest(models []trial.Model, best ranking) []trial.Model {
	seen := map[replay.Point]bool{}
	for _, m := range models {
		seen[replay.Point{Trial: m.Trial.Number, Round: m.Round}] = true
	}
	for _, m := range best {
		if !seen[replay.Point{Trial: m.Trial.Number, Round: m.Round}] {
			models = append(models, m)
		}
	}
	return models
}

// survivor is a trial that may be a finalist: alive if it was neither stopped nor failed
// after a rung, whose score final returns.
type survivor interface {
	comparable
	alive() bool
	length() int
	final() float64
	valued() map[string]float64 // at its last rung, by metric
	number() int
}

// survivorsOf returns the tuner's choice, unless it is zero, and those that ran the longest of
// the trials that were not stopped, the best last score first; at most n of them.
func survivorsOf[T survivor](trials []T, choice T, aim tuners.Objective, n int) []T {
	var alive []T
	var none T
	longest := 0
	for _, t := range trials {
		if t.alive() {
			alive = append(alive, t)
			longest = max(longest, t.length())
		}
	}
	alive = slices.DeleteFunc(alive, func(t T) bool { return t == choice || t.length() < longest })
	slices.SortStableFunc(alive, func(a, b T) int { return aim.Compare(a.final(), b.final()) })
	if choice != none {
		alive = slices.Insert(alive, 0, choice)
	}
	return alive[:min(len(alive), n)]
}

// alive reports whether the trial was neither stopped nor failed, after a rung.
func (t *entrant) alive() bool {
	if t == nil {
		return false
	}
	p := t.Phase()
	return (p == trial.Waiting || p == trial.Completed) && len(t.rungs) > 0
}

// valued are the values of the trial at its last rung.
func (t *entrant) valued() map[string]float64 { return t.rungs[len(t.rungs)-1].Values }

func (t *entrant) number() int { return t.Number }

// final is the score at the trial's last rung.
func (t *entrant) final() float64 { return t.rungs[len(t.rungs)-1].Score }

// scoreFinalists scores the models, the first of which are survivors, and adds
// them to the result. Each score is recorded before the next model is scored.
func (d *driver) scoreFinalists(ctx context.Context, models []trial.Model, survivors int, r *result.Result) error {
	h := d.past
	for i := range models {
		m := &models[i]
		rec := h.Finalists[replay.Point{Trial: m.Trial.Number, Round: m.Round}]
		if rec == nil {
			v, err := d.judge.finalScore(ctx, m, fmt.Sprintf("finalist %d of %d", i+1, len(models)))
			if err != nil {
				return err
			}
			rec = &record.Finalist{Score: record.Real(v.Metric(d.objective.Metric)), Clients: v.Clients, Examples: v.Examples}
			if err := h.Append(store.KindFinalist, m.Trial.Number, m.Round, rec); err != nil {
				return err
			}
			if err := h.Flush(); err != nil {
				return err
			}
		}
		f := result.Finalist{
			Trial: m.Trial.Number, Round: m.Round, Survivor: i < survivors, CohortScore: m.Score,
			Score: float64(rec.Score), Clients: rec.Clients, Examples: rec.Examples,
		}
		r.Finalists = append(r.Finalists, f)
		d.setup.Observer.Event(finalistEvent(&f))
	}
	return nil
}

// finalistEvent is the line of the metrics about a finalist.
func finalistEvent(f *result.Finalist) Event {
	return Event{Event: "finalist", Trial: f.Trial, Round: f.Round, Score: &f.Score}
}

// finalScore scores a model in the study's objective and under its target, with the
// noise that its rounds' scores have. name is the name of Evaluated.
func (d *trained) finalScore(ctx context.Context, m *trial.Model, name string) (*fl.Summary, error) {
	if err := m.Fill(ctx); err != nil {
		return nil, err
	}
	config := &d.setup.Config
	_, noise := d.setup.account.Scores(config.Score.Options())
	server := m.Trial.Hyper().Server
	v := fl.EvalConfig{
		Server: &server, State: m.Memory, Sample: config.Finalists.Clients,
		Noise: noise, Trial: m.Trial.Number, Round: m.Round, Done: evaluated(d.setup.Observer, name),
	}
	if d.objective.Target == tuners.TargetPersonalized {
		var err error
		if v.Clients, err = m.TestClients(ctx); err != nil {
			return nil, err
		}
	}
	r, err := d.engine.Validate(ctx, m.Weights, v)
	return r, d.crashed(err)
}
