package study

import (
	"context"
	"errors"
	"fmt"

	"github.com/fedfast/fedfast/fl/study/config"
	"github.com/fedfast/fedfast/fl/study/internal/record"
	"github.com/fedfast/fedfast/fl/study/store"
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
	for _, c := range rec.Tune.models() {
		if c.SHA256 != sha256 {
			continue
		}
		m, err := d.modelOf(c)
		if err == nil {
			err = m.Fill(ctx)
		}
		if err != nil {
			return nil, err
		}
		s.Config.Eval = eval
		again := &Chosen{Number: c.Number, Settings: c.Settings, Round: c.Round, Score: c.Score, CohortScore: c.CohortScore, SHA256: sha256, weights: m.Weights}
		again.Errors, err = d.evaluate(ctx, &m, "")
		return again, err
	}
	return nil, otherModel(sha256)
}

func remeasureRun(ctx context.Context, s Setup, eval config.Eval, sha256 string) (*Chosen, error) {
	d, _, m, err := s.trained(ctx)
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
	again := &Chosen{Round: m.Round, SHA256: sha256, weights: m.Weights}
	again.Errors, err = d.evaluate(ctx, &m, "")
	return again, err
}

// finishedHere is finished on the data of the study alone.
func (d *driver) finishedHere() (*resultRecord, error) {
	if d.past.HasData() {
		if err := d.past.CheckData(&d.setup.Config, d.setup.Data, d.setup.Model); err != nil {
			return nil, err
		}
	}
	return d.finished()
}

// finished returns the recorded end of the study.
func (d *driver) finished() (*resultRecord, error) {
	if d.past.Result == nil {
		return nil, fmt.Errorf("%s: the study has not finished", d.past.Store.Dir())
	}
	return record.Decode[resultRecord](store.KindResult, d.past.Result)
}

func otherModel(sha256 string) error {
	return fmt.Errorf("the study has no model with the weights %s", sha256)
}

// stored returns the recorded end of a study with the weights of its models, to
// which the record has led the driver.
func (d *driver) stored(ctx context.Context) (*Result, error) {
	rec, err := d.finished()
	if err != nil {
		return nil, err
	}
	r := rec.Tune
	for _, f := range r.Finalists {
		d.setup.Observer.Event(f.event())
	}
	for _, c := range r.models() {
		m, err := d.modelOf(c)
		if err == nil {
			err = m.Fill(ctx)
		}
		if err != nil {
			return nil, err
		}
		c.weights = m.Weights
	}
	return r, nil
}
