package study

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"gonum.org/v1/gonum/stat"

	"github.com/fedfast/fedfast/data"
	"github.com/fedfast/fedfast/fl"
	"github.com/fedfast/fedfast/fl/study/config"
)

// Run trains a federation once, without tuning, for Config.Rounds rounds and
// evaluates the result.
func Run(ctx context.Context, s Setup) (*RunResult, error) {
	given := s.Config
	start := time.Now()
	d, t, err := s.trained(ctx)
	if err != nil {
		return nil, err
	}
	defer d.close()
	if d.history.result != nil {
		r, err := d.finished()
		if err != nil {
			return nil, err
		}
		r.Run.weights = t.train.Weights()
		return r.Run, nil
	}
	start = start.Add(-d.history.elapsed)
	trained := time.Since(start).Seconds()
	weights := t.train.Weights()
	e, err := d.evaluateRun(ctx, t)
	if err != nil {
		return nil, err
	}
	r := &RunResult{
		Study: given.Name, TrainLoss: t.losses, Curve: t.curve, Goal: given.Eval.Goal, Patience: given.Eval.Patience, Errors: *e, WeightsSHA256: fl.WeightsSHA256(s.Model, weights), weights: weights,
		Rounds: t.rounds, Dropped: t.dropped, Examples: t.examples,
		Seconds: time.Since(start).Seconds(), RoundsPerSecond: float64(t.rounds) / trained,
	}
	return r, d.finish(resultRecord{Run: r})
}

// trained brings the one trial of a plain run to its end, and its weights here. The
// caller closes the driver.
func (s *Setup) trained(ctx context.Context) (*driver, *trial, error) {
	given := s.Config // as it was given, for the record
	if s.Trainer != nil && s.Store == nil {
		return nil, nil, errNoStore
	}
	s.Tuner, s.ClientTuner, s.Control, s.Unscored = nil, nil, nil, true
	s.Config.Space, s.Config.ClientTuner = nil, config.ClientTuner{}
	s.Config.Budget = config.Budget{Rounds: given.Rounds, TrialRounds: given.Rounds}
	d, err := newDriver(ctx, s)
	if err != nil {
		return nil, nil, err
	}
	t, err := d.train(ctx, &given)
	if err == nil {
		err = t.materialize(ctx)
	}
	if err != nil {
		d.close()
		return nil, nil, err
	}
	return d, t, nil
}

// train runs the one trial of a plain run to its end.
func (d *driver) train(ctx context.Context, given *config.Config) (*trial, error) {
	if err := fl.CheckParams(d.method, d.base.Client, d.base.Server); err != nil {
		return nil, err
	}
	if err := d.history.begin(given, config.ModeRun, d.setup.Data, d.setup.Model, d.setup.Environment); err != nil {
		return nil, err
	}
	t, err := d.open(ctx, 0, nil, nil)
	if err != nil {
		return nil, err
	}
	d.trials = append(d.trials, t)
	t.floor = math.NaN()
	if err := t.segment(ctx, given.Rounds, func(int) {}, d.setup.Observer.Event); err != nil {
		return nil, err
	}
	if t.fail != nil {
		return nil, fmt.Errorf("the training failed in %s", t.fail.Reason)
	}
	return t, nil
}

// CheckBaseline returns an error for data on which Baseline has nothing to measure.
func CheckBaseline(fed *data.Federation) error {
	if fed.Test.Len() > 0 || slices.ContainsFunc(fed.Clients, func(c data.Client) bool { return c.Test.Len() > 0 }) {
		return nil
	}
	return errors.New("no client has test examples to compare on; give them some with data.split")
}

// Baseline trains n configurations that the tuner of s suggests, each for the
// same number of rounds and without a client tuner, and measures the global
// test error of each. With random search as the tuner it is the yardstick of a
// study. The clients have test examples, see CheckBaseline.
func Baseline(ctx context.Context, s Setup, n, rounds int) (*BaselineResult, error) {
	s.ClientTuner, s.Store, s.Trainer, s.Control = nil, nil, nil, nil
	s.Config.ClientTuner = config.ClientTuner{}
	s.Config.Eval.Every, s.Config.Eval.EveryClients, s.Config.Eval.Goal, s.Config.Eval.Patience = 0, 0, 0, 0
	s.Config.Budget = config.Budget{Rounds: n * rounds, TrialRounds: rounds}
	s.Config.Tuner.Options = nil
	d, err := newDriver(ctx, &s)
	if err != nil {
		return nil, err
	}
	defer d.close()
	start := time.Now()
	session, err := d.openStudySession(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { _ = session.Close(context.WithoutCancel(ctx)) }() // it has decided
	r := &BaselineResult{Rounds: rounds}
	if _, err := d.follow(ctx, session); err != nil {
		return nil, err
	}
	for i, t := range d.trials {
		if t.fail != nil {
			return nil, fmt.Errorf("baseline: trial %d failed in %s", t.number, t.fail.Reason)
		}
		if t.stopped {
			return nil, fmt.Errorf("baseline: the tuner %s stopped trial %d early; use one that runs every trial to its end", s.Config.Tuner.Name, t.number)
		}
		e, err := d.engine.Evaluate(ctx, t.train.Weights(), evaluation(&s.Config, t.rounds, nil, t.hyper.Server, nil, s.Observer, fmt.Sprintf("configuration %d of %d", i+1, len(d.trials))))
		if err != nil {
			return nil, err
		}
		r.Trials = append(r.Trials, BaselineTrial{Params: t.params, GlobalTestError: e.GlobalTest.Error})
	}
	r.Median = r.median()
	r.Seconds = time.Since(start).Seconds()
	return r, nil
}

// median returns the median of the global test errors.
func (r *BaselineResult) median() float64 {
	var errs []float64
	for _, t := range r.Trials {
		errs = append(errs, t.GlobalTestError)
	}
	slices.Sort(errs)
	if n := len(errs); n%2 == 0 {
		return (errs[n/2-1] + errs[n/2]) / 2
	}
	return stat.Quantile(0.5, stat.Empirical, errs, nil)
}
