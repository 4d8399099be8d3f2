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
	given := s.Config
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
	e, err := d.evaluate(ctx, &m, "")
	if err != nil {
		return nil, err
	}
	r := &result.RunResult{
		Study: given.Name, TrainLoss: t.losses, Curve: t.curve, Goal: given.Eval.Goal, Patience: given.Eval.Patience, Errors: e,
		WeightsSHA256: s.Model.SHA256(m.Weights), Weights: m.Weights, Rounds: t.Rounds(), Dropped: t.dropped, Examples: t.examples,
		Seconds: time.Since(start).Seconds(), Audit: s.audited(), RoundsPerSecond: float64(t.Rounds()) / trained,
	}
	if !m.Last() {
		r.Returned = m.Round
		if err := m.Save(ctx); err != nil {
			return nil, err
		}
	}
	r.Fleet, r.Traffic = t.fleet, t.trafficOf(&given)
	if p := result.Reached(r.Curve, r.Goal); p != nil && r.Goal > 0 {
		r.SecondsToGoal = p.Clock
	}
	if d.setup.account != nil {
		r.Privacy = d.setup.account.After(t.Rounds())
	}
	if len(d.setup.Config.Eval.Baselines) > 0 {
		all := []settings{{"file", d.study.Hyper.Base.Client, nil}}
		if r.Without, err = d.without(ctx, e.Evaluation, t.Number, m.Round, all); err != nil {
			return nil, err
		}
	}
	if err := d.finish(result.End{Run: r}); err != nil || s.Store == nil {
		return r, err
	}
	return r, trial.RemoveOthers(s.Store, map[string]bool{m.Name(): true})
}

// trained brings the one trial of a plain run to its end, and its model here. The
// caller closes the driver.
func (s *Setup) trained(ctx context.Context) (d *driver, t *entrant, m trial.Model, err error) {
	if d, t, err = s.ended(ctx); err != nil {
		return nil, nil, m, err
	}
	if m = t.TakeBest(); math.IsNaN(m.Score) || m.Round == t.Rounds() {
		m = t.LastModel(math.NaN())
	}
	if err = m.Fill(ctx); err != nil {
		d.close()
	}
	return d, t, m, err
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
		return nil, fmt.Errorf("training failed in %s", t.Reason())
	}
	return t, nil
}
