package study

import (
	"context"
	"fmt"
	"math"
	"time"

	"github.com/fedfast/fedfast/fl/study/config"
	"github.com/fedfast/fedfast/fl/study/internal/trial"
	"github.com/fedfast/fedfast/fl/study/result"
)

// Run trains a federation once, without tuning, for Config.Rounds rounds and
// evaluates the result: the model after the last round, or with Config.Eval.Patience that
// of the lowest validation error.
func Run(ctx context.Context, s Setup) (*result.RunResult, error) {
	start := time.Now()
	d, t, m, err := s.trained(ctx)
	if err != nil {
		return nil, err
	}
	defer d.close()
	if d.past.Result != nil {
		r, err := d.finished()
		if err != nil {
			return nil, err
		}
		r.Run.Weights = m.Weights
		return r.Run, nil
	}
	start = start.Add(-d.past.Elapsed)
	trained := time.Since(start).Seconds()
	r, err := d.runResult(ctx, t, &m)
	if err != nil {
		return nil, err
	}
	r.Seconds, r.Audit, r.RoundsPerSecond = time.Since(start).Seconds(), s.audited(), float64(t.Rounds())/trained
	if s.Config.Digests == config.DigestsAll {
		r.DigestShare = d.engine.Digested(0).Seconds() / trained
	}
	if !m.Last() {
		if err := m.Save(ctx); err != nil {
			return nil, err
		}
	}
	if err := d.finish(result.End{Run: r}); err != nil || s.Store == nil {
		return r, err
	}
	return r, trial.RemoveOthers(s.Store, map[string]bool{m.Name(): true})
}

// runResult evaluates the model of a plain run.
func (d *driver) runResult(ctx context.Context, t *entrant, m *trial.Model) (*result.RunResult, error) {
	c, given := &result.Chosen{}, &d.setup.Config
	if err := d.judge.evaluate(ctx, c, m, ""); err != nil {
		return nil, err
	}
	r := &result.RunResult{
		Study: given.Name, TrainLoss: t.losses, Curve: t.curve, Goal: given.Eval.Goal, Patience: given.Eval.Patience,
		Errors: c.Errors, WeightsSHA256: c.SHA256, Weights: c.Weights, Rounds: t.Rounds(), Dropped: t.dropped,
		Examples: t.examples, Fleet: t.fleet, Traffic: t.trafficOf(given),
	}
	if !m.Last() {
		r.Returned = m.Round
	}
	if p := result.Reached(r.Curve, r.Goal); p != nil && r.Goal > 0 {
		r.SecondsToGoal = p.Clock
	}
	if d.setup.account != nil {
		r.Privacy = d.setup.account.After(t.Rounds())
	}
	if len(given.Eval.Baselines) > 0 {
		all := []settings{{"file", d.study.Hyper.Base.Client, nil}}
		var err error
		if r.Without, err = d.without(ctx, r.Evaluation, t.Number, m.Round, all); err != nil {
			return nil, err
		}
	}
	return r, nil
}

// trained brings the one trial of a plain run to its end, and its model here. The
// caller closes the driver.
func (s *Setup) trained(ctx context.Context) (d *driver, t *entrant, m trial.Model, err error) {
	if d, t, err = s.ended(ctx); err != nil {
		return nil, nil, m, err
	}
	m = t.ended()
	if err = m.Fill(ctx); err != nil {
		d.close()
	}
	return d, t, m, err
}

// ended is the model of a plain run.
func (t *entrant) ended() trial.Model {
	if m := t.TakeBest(); !math.IsNaN(m.Score) && m.Round != t.Rounds() {
		return m
	}
	return t.LastModel(math.NaN())
}

// ended is trained without the model.
func (s *Setup) ended(ctx context.Context) (d *driver, t *entrant, err error) {
	given := s.Config // as it was given, for the record
	if s.Trainer != nil && s.Store == nil {
		return nil, nil, errNoStore
	}
	s.Tuner, s.ClientTuner, s.Control, s.Unscored = nil, nil, nil, true
	s.untune()
	s.Config.Budget = config.Budget{Rounds: given.Rounds, TrialRounds: given.Rounds}
	if d, err = newDriver(ctx, s); err != nil {
		return nil, nil, err
	}
	if t, err = d.train(ctx, &given); err != nil {
		d.close()
	}
	return d, t, err
}

// train runs the one trial of a plain run to its end.
func (d *driver) train(ctx context.Context, given *config.Config) (*entrant, error) {
	if err := d.study.Hyper.Method.CheckParams(d.study.Hyper.Base.Client, d.study.Hyper.Base.Server); err != nil {
		return nil, err
	}
	if err := d.past.Begin(given, config.ModeRun, d.setup.Data, d.setup.Model, d.setup.Environment); err != nil {
		return nil, err
	}
	t, err := d.open(ctx, trial.Spec{})
	if err != nil {
		return nil, err
	}
	t.floor = math.NaN()
	if err := t.segment(ctx, given.Rounds, func(int) {}, d.setup.Observer.Event); err != nil {
		return nil, err
	}
	if t.Phase() == trial.Failed {
		return nil, fmt.Errorf("%w in %s", ErrFailed, t.Reason())
	}
	return t, nil
}
