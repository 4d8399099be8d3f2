package study

import (
	"context"
	"errors"
	"fmt"

	"github.com/fedfast/fedfast/fl/study/config"
)

// Remeasure evaluates a model of the finished study in s.Store as the study did: with
// what the method kept of its trial, and with the hyperparameters that a client tuner has
// set for each client. sha256 describes which of the models that the study saved it is. eval
// takes the place of the study's; with the same one the errors are the study's. For a
// study of Tune the set-up has the same tuners. Rounds whose snapshots are lost are
// trained again.
func Remeasure(ctx context.Context, s Setup, eval config.Eval, sha256 string) (*Chosen, error) {
	if s.Store == nil {
		return nil, errors.New("no store with the study")
	}
	if s.Tuner == nil {
		return remeasureRun(ctx, s, eval, sha256)
	}
	d, _, err := follow(ctx, &s)
	if err != nil {
		return nil, err
	}
	defer d.close()
	rec, err := d.finishedHere()
	if err != nil {
		return nil, err
	}
	for _, m := range rec.Tune.models() {
		if m.SHA256 != sha256 {
			continue
		}
		c, err := d.candidateOf(m)
		if err == nil {
			err = d.fill(ctx, &c)
		}
		if err != nil {
			return nil, err
		}
		s.Config.Eval = eval
		again := &Chosen{Number: m.Number, Params: c.trial.params, Round: m.Round, Score: m.Score, CohortScore: m.CohortScore, SHA256: sha256, weights: c.weights}
		return again, d.evaluate(ctx, again, &c, "")
	}
	return nil, otherModel(sha256)
}

func remeasureRun(ctx context.Context, s Setup, eval config.Eval, sha256 string) (*Chosen, error) {
	d, t, err := s.trained(ctx)
	if err != nil {
		return nil, err
	}
	defer d.close()
	rec, err := d.finishedHere()
	if err != nil {
		return nil, err
	}
	if rec.Run.WeightsSHA256 != sha256 {
		return nil, otherModel(sha256)
	}
	s.Config.Eval = eval
	e, err := d.evaluateRun(ctx, t)
	if err != nil {
		return nil, err
	}
	return &Chosen{Round: t.rounds, SHA256: sha256, Errors: *e, weights: t.train.Weights()}, nil
}

// finishedHere is finished on the data of the study alone.
func (d *driver) finishedHere() (*resultRecord, error) {
	if h := d.history; h.data != nil {
		if err := h.on(d.setup.Data, d.setup.Model); err != nil {
			return nil, err
		}
	}
	return d.finished()
}

// finished returns the recorded end of the study.
func (d *driver) finished() (*resultRecord, error) {
	h := d.history
	if h.result == nil {
		return nil, fmt.Errorf("%s: the study has not finished", h.store.Dir())
	}
	return decode[resultRecord](KindResult, d.history.result)
}

func otherModel(sha256 string) error {
	return fmt.Errorf("the study has no model with the weights %s", sha256)
}

// evaluate fills in the errors of a model on the clients that Config.Eval says. name is
// that of Evaluated.
func (d *driver) evaluate(ctx context.Context, m *Chosen, c *candidate, name string) error {
	clients, err := d.testClients(ctx, c)
	if err != nil {
		return err
	}
	e, err := d.engine.Evaluate(ctx, c.weights, evaluation(&d.setup.Config, c.round, clients, c.trial.hyper.Server, c.memory, d.setup.Observer, name))
	if err != nil {
		return d.crashed(err)
	}
	m.Errors, err = errorsOf(d.setup, d.engine, e)
	return err
}

// evaluateRun measures what a plain run has trained.
func (d *driver) evaluateRun(ctx context.Context, t *trial) (*Errors, error) {
	s := d.setup
	e, err := d.engine.Evaluate(ctx, t.train.Weights(), evaluation(&s.Config, t.rounds, t.own().Clients, s.Config.Server, t.train.State(), s.Observer, ""))
	if err != nil {
		return nil, d.crashed(err)
	}
	r, err := errorsOf(s, d.engine, e)
	return &r, err
}
