package study

import (
	"context"
	"fmt"
	"slices"

	"github.com/fedfast/fedfast/fl"
	"github.com/fedfast/fedfast/tuners"
)

// finalistRecord is a finalist's score.
type finalistRecord struct {
	Score    real `json:"score"`
	Clients  int  `json:"clients"`
	Examples int  `json:"examples"`
}

// place is a trial after a round.
type place struct{ trial, round int }

// finalists returns the models among which the study chooses, each once: the last
// survivors, of which it describes how many there are, the tuner's choice before all,
// then the best snapshots.
func (d *driver) finalists(survivor *trial) (all []candidate, survivors int) {
	last := d.survivors(survivor)
	seen := map[place]bool{}
	for _, t := range last {
		c := d.lastOf(t)
		all, seen[place{t.number, t.rounds}] = append(all, c), true
	}
	for _, c := range d.best {
		if !seen[place{c.trial.number, c.round}] {
			all = append(all, c)
		}
	}
	return all, len(last)
}

// survivors returns the tuner's choice and those that ran the longest of the
// trials that were not stopped, the best last score first; at most
// finalists.snapshots of them.
func (d *driver) survivors(choice *trial) []*trial {
	var alive []*trial
	longest := 0
	for _, t := range d.trials {
		if !t.stopped && t.fail == nil && t.act == nil && len(t.rungs) > 0 {
			alive = append(alive, t)
			longest = max(longest, t.rounds)
		}
	}
	alive = slices.DeleteFunc(alive, func(t *trial) bool { return t == choice || t.rounds < longest })
	slices.SortStableFunc(alive, func(a, b *trial) int {
		return d.objective.Compare(a.rungs[len(a.rungs)-1].Score, b.rungs[len(b.rungs)-1].Score)
	})
	if choice != nil {
		alive = slices.Insert(alive, 0, choice)
	}
	return alive[:min(len(alive), d.setup.Config.Finalists.Snapshots)]
}

// scoreFinalists scores the models, the first of which are survivors, and adds
// them to the result. Each score is recorded before the next model is scored.
func (d *driver) scoreFinalists(ctx context.Context, models []candidate, survivors int, r *Result) error {
	h := d.history
	for i := range models {
		c := &models[i]
		rec := h.finalists[place{c.trial.number, c.round}]
		if rec == nil {
			v, err := d.finalScore(ctx, c, fmt.Sprintf("finalist %d of %d", i+1, len(models)))
			if err != nil {
				return err
			}
			rec = &finalistRecord{Score: real(v.Metric(d.objective.Metric)), Clients: v.Clients, Examples: v.Examples}
			if err := h.append(KindFinalist, c.trial.number, c.round, rec); err != nil {
				return err
			}
			if err := h.flush(); err != nil {
				return err
			}
		}
		f := Finalist{
			Trial: c.trial.number, Round: c.round, Survivor: i < survivors, CohortScore: c.score,
			Score: float64(rec.Score), Clients: rec.Clients, Examples: rec.Examples,
		}
		r.Finalists = append(r.Finalists, f)
		d.setup.Observer.Event(f.event())
	}
	return nil
}

// finalScore scores a model in the study's objective and under its target, with the
// noise that its rounds' scores have. name is that of Evaluated.
func (d *driver) finalScore(ctx context.Context, c *candidate, name string) (*fl.Summary, error) {
	if err := d.fill(ctx, c); err != nil {
		return nil, err
	}
	config := &d.setup.Config
	v := fl.Validation{
		Server: &c.trial.hyper.Server, State: c.memory, Most: config.Finalists.Clients,
		Score: config.Score.Options(), Trial: c.trial.number, Round: c.round, Done: evaluated(d.setup.Observer, name),
	}
	if d.objective.Target == tuners.TargetPersonalized {
		var err error
		if v.Clients, err = d.testClients(ctx, c); err != nil {
			return nil, err
		}
	}
	r, err := d.engine.Validate(ctx, c.weights, v)
	return r, d.crashed(err)
}
