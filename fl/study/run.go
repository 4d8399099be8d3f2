package study

import (
	"context"
	"fmt"
	"math"
	"time"

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
	s.untune()
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
	if err := d.method.CheckParams(d.base.Client, d.base.Server); err != nil {
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
		return nil, fmt.Errorf("training failed in %s", t.fail.Reason)
	}
	return t, nil
}
