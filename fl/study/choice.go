package study

import (
	"context"
	"errors"
	"fmt"

	"github.com/fedfast/fedfast/fl"
	"github.com/fedfast/fedfast/fl/internal/shard"
	"github.com/fedfast/fedfast/fl/study/config"
	"github.com/fedfast/fedfast/tuners"
)

// result chooses the model that the study returns, and evaluates it, the last
// survivor and the luckiest model.
func (d *driver) result(ctx context.Context, survivor *trial) (*Result, error) {
	c := &d.setup.Config
	if len(d.best) == 0 && d.setup.Control.over() {
		return nil, errors.New("the study was stopped before any trial had run a round: there is no model to return")
	}
	if len(d.best) == 0 {
		return nil, fmt.Errorf("tuner %s: it finished without running a trial", c.Tuner.Name)
	}
	r := &Result{Study: c.Name, Select: c.Select, Rounds: d.rounds, Sides: d.sides, Goal: c.Eval.Goal, Patience: c.Eval.Patience, Stopped: d.setup.Control.over()}
	for _, t := range d.trials {
		r.Trials = append(r.Trials, t.result())
	}
	if c.Select == config.SelectFinalists {
		models, survivors := d.finalists(survivor)
		if err := d.scoreFinalists(ctx, models, survivors, r); err != nil {
			return nil, err
		}
		best := 0
		for i := range r.Finalists {
			if d.objective.Better(r.Finalists[i].Score, r.Finalists[best].Score) {
				best = i
			}
		}
		return r, d.returns(ctx, r, models[best], survivor)
	}
	return r, d.returns(ctx, r, d.best[0], survivor)
}

// returns fills in the models of a result: the returned one, the last survivor
// and the luckiest.
func (d *driver) returns(ctx context.Context, r *Result, returned candidate, survivor *trial) error {
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
		r.Luckiest, err = d.choose(ctx, r, d.best[0], "luckiest model")
	}
	return err
}

// lastOf is a trial as it was after its last round.
func (d *driver) lastOf(t *trial) candidate {
	for _, c := range d.best {
		if c.trial == t && c.round == t.rounds {
			return c
		}
	}
	return candidate{score: t.rungs[len(t.rungs)-1].Score, trial: t, round: t.rounds, last: true}
}

// fill fills in the weights of a model.
func (d *driver) fill(ctx context.Context, c *candidate) error {
	if !c.last {
		return d.load(ctx, c)
	}
	if err := c.trial.materialize(ctx); err != nil {
		return err
	}
	c.weights, c.memory = c.trial.train.Weights(), c.trial.train.State()
	return d.complete(ctx, c)
}

// choose evaluates a model on all clients, unless the result or another study
// has it evaluated. name is that of Evaluated.
func (d *driver) choose(ctx context.Context, r *Result, c candidate, name string) (*Chosen, error) {
	for _, have := range []*Chosen{&r.Best, r.Survivor} {
		if have != nil && have.weights != nil && have.Number == c.trial.number && have.Round == c.round {
			return have, nil
		}
	}
	if err := d.fill(ctx, &c); err != nil {
		return nil, err
	}
	chosen := &Chosen{
		Number: c.trial.number, Params: c.trial.params, Round: c.round, Score: c.score, CohortScore: c.score,
		SHA256: fl.WeightsSHA256(d.setup.Model, c.weights), weights: c.weights,
	}
	for _, f := range r.Finalists {
		if f.Trial == chosen.Number && f.Round == chosen.Round {
			chosen.Score = f.Score
		}
	}
	for _, k := range d.setup.Evaluated {
		if k.Number == chosen.Number && k.Round == chosen.Round && k.SHA256 == chosen.SHA256 {
			chosen.Errors = k.Errors
			return chosen, nil
		}
	}
	return chosen, d.evaluate(ctx, chosen, &c, name)
}

// testClients returns the hyperparameters with which every client trains before
// a model's personalized scores are taken.
func (d *driver) testClients(ctx context.Context, c *candidate) ([]fl.ClientParams, error) {
	var session tuners.Session
	if d.setup.ClientTuner != nil {
		s, err := d.openClientSession(ctx, c.trial, c.state)
		if err != nil {
			return nil, err
		}
		defer func() { _ = s.Close(context.WithoutCancel(ctx)) }() // it has answered
		session = s
	}
	return c.trial.testPlan(ctx, session, c.round)
}

// crashed logs the stack of a panic in an evaluation, whose error tells only its
// value.
func (d *driver) crashed(err error) error {
	if p, ok := errors.AsType[*shard.PanicError](err); ok {
		d.setup.log().Error("an evaluation failed", "reason", p, "stack", string(p.Stack))
	}
	return err
}
