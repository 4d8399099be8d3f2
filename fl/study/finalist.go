package study

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/fedfast/fedfast/fl"
	"github.com/fedfast/fedfast/fl/study/config"
	"github.com/fedfast/fedfast/fl/study/internal/record"
	"github.com/fedfast/fedfast/fl/study/internal/replay"
	"github.com/fedfast/fedfast/fl/study/internal/trial"
	"github.com/fedfast/fedfast/fl/study/result"
	"github.com/fedfast/fedfast/internal/store"
	"github.com/fedfast/fedfast/tuners"
)

// finalists returns the models among which the study chooses, each once: the last ones of
// survivors, of which it describes how many there are, the tuner's choice before all,
// then the best snapshots.
func (d *driver) finalists(survivor *entrant) (all []trial.Model, survivors int) {
	var last []trial.Model
	able := eligible(d.suggested(), d.aims)
	if survivor != nil && !slices.Contains(able, survivor) {
		survivor = nil
	}
	for _, t := range survivorsOf(able, survivor, d.objective, d.setup.Config.Finalists.Survivors) {
		last = append(last, d.lastOf(t))
	}
	best, most := ofThem(d.best, able, d.aims), d.setup.Config.Finalists.Snapshots
	if len(last) == 0 { // users have ended all trials
		most = max(1, most)
	}
	return withBest(last, best[:min(len(best), most)]), len(last)
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

// survivor is a trial that may be a finalist: alive if neither it failed nor a user ended it,
// after a rung, whose score final returns.
type survivor interface {
	comparable
	alive() bool
	length() int
	final() float64
	valued() map[string]float64 // at its last rung, by metric
	number() int
}

// survivorsOf returns the tuner's choice, unless it is zero, and the other trials that are alive,
// those that ran longest first, of equally long ones the best last score, ties by number; at most
// n of them.
func survivorsOf[T survivor](trials []T, choice T, aim tuners.Objective, n int) []T {
	var none T
	alive := slices.DeleteFunc(slices.Clone(trials), func(t T) bool { return t == choice || !t.alive() })
	slices.SortStableFunc(alive, func(a, b T) int {
		return cmp.Or(cmp.Compare(b.length(), a.length()), aim.Compare(a.final(), b.final()), cmp.Compare(a.number(), b.number()))
	})
	if choice != none {
		alive = slices.Insert(alive, 0, choice)
	}
	return alive[:min(len(alive), n)]
}

// stop ends a trial's rounds as the tuner decided. What may be a finalist keeps its weights: of
// the trials that were stopped the first, as survivorsOf ranks them.
func (d *driver) stop(t *entrant) error {
	c := &d.setup.Config
	t.Spared = c.Select == config.SelectFinalists
	if err := t.Stop(); err != nil || !t.Spared || !t.alive() {
		return err
	}
	d.spared = survivorsOf(append(d.spared, t), nil, d.objective, len(d.trials))
	for n := len(d.spared) - 1; n >= c.Finalists.Survivors; n-- {
		if err := d.spared[n].Forgo(); err != nil {
			return err
		}
		d.spared = d.spared[:n]
	}
	return nil
}

// alive reports whether the trial has not failed, nor been ended by a user, after a rung.
func (t *entrant) alive() bool {
	if t == nil {
		return false
	}
	p := t.Phase()
	return (p == trial.Waiting || p == trial.Completed || p == trial.Stopped) && len(t.rungs) > 0
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
