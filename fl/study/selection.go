package study

import (
	"context"
	"errors"
	"fmt"

	"github.com/fedfast/fedfast/fl/study/config"
	"github.com/fedfast/fedfast/fl/study/internal/trial"
	"github.com/fedfast/fedfast/fl/study/result"
	"github.com/fedfast/fedfast/tuners"
)

// result chooses the model that the study returns, and evaluates it, the last
// survivor and the luckiest model.
func (d *driver) result(ctx context.Context, survivor *entrant) (*result.Result, error) {
	c := &d.setup.Config
	if len(d.best) == 0 && d.setup.Control.over() {
		return nil, errors.New("the study was stopped before any trial had run a round: there is no model to return")
	}
	r := &result.Result{
		Study: c.Name, Select: c.Select, Rounds: d.rounds, Sides: d.sides, LocalSearch: d.searched,
		Goal: c.Eval.Goal, Patience: c.Eval.Patience, Stopped: d.setup.Control.over(), WarmStart: warmStart(d.begun),
		Pauses: d.past.Pauses,
	}
	switch {
	case d.budget.Seconds:
		r.SimulatedSeconds = d.units
	case d.budget.Updates:
		r.Updates = d.units
	}
	if a := d.setup.account; a != nil {
		r.Privacy = a.After(a.Rounds) // how many rounds were spent may depend on scores
	}
	for _, t := range d.suggested() {
		r.Trials = append(r.Trials, t.result())
	}
	if t := d.reference; t != nil {
		r.Reference = &result.Reference{Number: t.Number}
		if t.Reference {
			r.Reference.Trial = new(t.result())
		}
	}
	compare(r, d.aims)
	if len(d.best) == 0 {
		return nil, noModel(c.Tuner.Name, r.Trials)
	}
	if c.Select == config.SelectFinalists {
		models, survivors := d.finalists(survivor)
		if d.reference.eligible(d.aims) {
			models = append(models, d.lastOf(d.reference))
		}
		if err := d.scoreFinalists(ctx, models, survivors, r); err != nil {
			return nil, err
		}
		return r, d.returns(ctx, r, models[bestFinalist(r, d.objective)], survivor)
	}
	return r, d.returns(ctx, r, d.best[0], survivor)
}

// ErrAllFailed is the error of a study all of whose trials failed, so that it has no model to return.
var ErrAllFailed = errors.New("all trials failed")

// ErrFailed is wrapped by the error of a run that cannot go on.
var ErrFailed = errors.New("training failed")

// noModel is the error of a study that has no model to return.
func noModel(tuner string, trials []result.TrialResult) error {
	for _, t := range trials {
		if t.Failed != "" {
			return fmt.Errorf("%w: trial %d in %s", ErrAllFailed, t.Number, t.Failed)
		}
	}
	return fmt.Errorf("tuner %s: it finished without running a trial", tuner)
}

// bestFinalist returns the index of the finalist with the best score, of equal ones the first.
func bestFinalist(r *result.Result, o tuners.Objective) int {
	best := 0
	for i := range r.Finalists {
		if o.Better(r.Finalists[i].Score, r.Finalists[best].Score) {
			best = i
		}
	}
	return best
}

// chosenOf describes a model, with the settings of its trial and without its errors, by its score among the finalists
// if it is one.
func chosenOf(r *result.Result, m trial.Model) *result.Chosen {
	c := &result.Chosen{Number: m.Trial.Number, Settings: result.Settings{Params: m.Trial.Params}, Round: m.Round, Score: m.Score, CohortScore: m.Score}
	for _, f := range r.Finalists {
		if f.Trial == c.Number && f.Round == c.Round {
			c.Score = f.Score
		}
	}
	return c
}

// returns fills in the models of a result: the returned one, the last survivor
// and the luckiest.
func (d *driver) returns(ctx context.Context, r *result.Result, returned trial.Model, survivor *entrant) error {
	best, err := d.choose(ctx, r, returned, "returned model")
	if err != nil {
		return err
	}
	r.Best, r.Errors, r.WeightsSHA256 = *best, best.Errors, best.SHA256
	if survivor != nil {
		if r.Survivor, err = d.choose(ctx, r, d.lastOf(survivor), "survivor"); err != nil {
			return err
		}
		r.SurvivorSHA256 = r.Survivor.SHA256
	}
	if r.Select == config.SelectFinalists {
		if r.Luckiest, err = d.choose(ctx, r, d.best[0], "luckiest model"); err != nil {
			return err
		}
	}
	if err := d.compareReference(ctx, r); err != nil || len(d.setup.Config.Eval.Baselines) == 0 {
		return err
	}
	return d.withoutTuned(ctx, r)
}

// lastOf is a trial as it was after its last round.
func (d *driver) lastOf(t *entrant) trial.Model {
	if m, ok := d.find(t.Number, t.Rounds()); ok {
		return m
	}
	return t.LastModel(t.rungs[len(t.rungs)-1].Score)
}

// modelOf finds a model of a result again.
func (d *driver) modelOf(c *result.Chosen) (trial.Model, error) {
	if m, ok := d.find(c.Number, c.Round); ok {
		return m, nil
	}
	t := d.trial(c.Number)
	if t == nil {
		return trial.Model{}, fmt.Errorf("trial %d: returned by the record, which has only %d trials", c.Number, len(d.trials))
	}
	if t.Rounds() != c.Round {
		return trial.Model{}, fmt.Errorf("trial %d: the record returns it after round %d but ends it after round %d; it was written by another version of fedfast", c.Number, c.Round, t.Rounds())
	}
	return d.lastOf(t), nil
}

// choose describes a model with its errors, unless the result has it already. name is the
// name of Evaluated.
func (d *driver) choose(ctx context.Context, r *result.Result, m trial.Model, name string) (*result.Chosen, error) {
	for _, have := range []*result.Chosen{&r.Best, r.Survivor} {
		if have != nil && have.SHA256 != "" && have.Number == m.Trial.Number && have.Round == m.Round {
			return have, nil
		}
	}
	chosen := chosenOf(r, m)
	return chosen, d.judge.evaluate(ctx, chosen, &m, name)
}

// trained judges the models of a study that trains.
type trained struct{ *driver }

// evaluate measures a model on all clients, unless another study has.
func (d *trained) evaluate(ctx context.Context, c *result.Chosen, m *trial.Model, name string) error {
	if err := m.Fill(ctx); err != nil {
		return err
	}
	c.SHA256, c.Weights = d.setup.Model.SHA256(m.Weights), m.Weights
	var err error
	if c.Settings, err = m.Settings(ctx); err != nil {
		return err
	}
	for _, k := range d.setup.Evaluated {
		if k.Number == c.Number && k.Round == c.Round && k.SHA256 == c.SHA256 {
			c.Errors = k.Errors
			return nil
		}
	}
	c.Errors, err = d.driver.evaluate(ctx, m, name)
	return err
}
