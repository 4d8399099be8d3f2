package study

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/fedfast/fedfast/fl/study/config"
	"github.com/fedfast/fedfast/fl/study/internal/record"
	"github.com/fedfast/fedfast/fl/study/internal/replay"
	"github.com/fedfast/fedfast/fl/study/internal/trial"
	"github.com/fedfast/fedfast/fl/study/result"
	"github.com/fedfast/fedfast/internal/store"
)

// Remeasure evaluates a model of the finished study in s.Store as the study did: with
// what the method kept of its trial, and with the hyperparameters that a client tuner has
// set for each client. sha256 describes which of the models that the study saved it is. eval
// takes the place of the study's; with the same one the errors are the study's. For a
// study of Tune the set-up has the same tuners. Rounds whose snapshots are lost are
// trained again.
func Remeasure(ctx context.Context, s Setup, eval config.Eval, sha256 string) (*result.Chosen, error) {
	if s.Store == nil {
		return nil, errors.New("no store with the study")
	}
	var d *driver
	var m trial.Model // of a run
	var err error
	if s.Tuner == nil {
		d, _, m, err = s.trained(ctx)
	} else {
		d, _, err = follow(ctx, &s)
	}
	if err != nil {
		return nil, err
	}
	defer d.close()
	if err := CheckData(ctx, s); err != nil {
		return nil, err
	}
	rec, err := d.finished()
	if err != nil {
		return nil, err
	}
	again := result.Chosen{Round: m.Round}
	if rec.Run != nil {
		again.SHA256 = rec.Run.WeightsSHA256
	} else if i := slices.IndexFunc(rec.Tune.Models(), func(c *result.Chosen) bool { return c.SHA256 == sha256 }); i >= 0 {
		again = *rec.Tune.Models()[i]
		if m, err = d.modelOf(&again); err == nil {
			err = m.Fill(ctx)
		}
	}
	switch {
	case err != nil:
		return nil, err
	case again.SHA256 != sha256:
		return nil, fmt.Errorf("the study has no model with the weights %s", sha256)
	}
	s.Config.Eval, again.Weights = eval, m.Weights
	again.Errors, err = d.evaluate(ctx, &m, "")
	return &again, err
}

// OtherDataError is the error of CheckData if only the data differ.
type OtherDataError = replay.OtherDataError

// CheckData returns an error if the study in s.Store began on other data.
func CheckData(ctx context.Context, s Setup) error {
	return replay.CheckData(ctx, s.Store, &s.Config, s.Data, s.Model)
}

// finished returns the recorded end of the study.
func (d *driver) finished() (*result.End, error) {
	if d.past.Result == nil {
		return nil, fmt.Errorf("%s: the study has not finished", d.past.Store.Dir())
	}
	return record.Decode[result.End](store.KindResult, d.past.Result)
}

// stored returns the recorded end of a study with the weights of its models, to
// which the record has led the driver.
func (d *driver) stored(ctx context.Context) (*result.Result, error) {
	rec, err := d.finished()
	if err != nil {
		return nil, err
	}
	r := rec.Tune
	for _, f := range r.Finalists {
		d.setup.Observer.Event(finalistEvent(&f))
	}
	for _, c := range r.Models() {
		m, err := d.modelOf(c)
		if err == nil {
			err = m.Fill(ctx)
		}
		if err != nil {
			return nil, err
		}
		c.Weights = m.Weights
	}
	return r, nil
}
