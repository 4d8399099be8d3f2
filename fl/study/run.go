package study

import (
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"gonum.org/v1/gonum/stat"

	"github.com/fedfast/fedfast/fl"
)

// Run trains a federation once, without tuning, for Config.Rounds rounds and
// evaluates the result.
func Run(ctx context.Context, s Setup) (*RunResult, error) {
	c := &s.Config
	if err := c.Check(); err != nil {
		return nil, err
	}
	engine, err := s.engine()
	if err != nil {
		return nil, err
	}
	defer engine.Close()
	method, _ := fl.MethodByName(c.Method) // the engine has it
	if err := method.Check(c.client(), c.server()); err != nil {
		return nil, err
	}
	plan := fl.Plan{Server: c.server(), Clients: []fl.ClientParams{c.client()}}
	t := engine.NewTrial(0)
	r := &RunResult{Study: c.Name, TrainLoss: []float64{}}
	start := time.Now()
	for t.Rounds() < c.Rounds {
		round, err := t.Round(ctx, plan)
		if err != nil {
			return nil, err
		}
		r.TrainLoss = append(r.TrainLoss, round.TrainLoss)
		r.Examples += round.Examples
		r.Dropped += round.Dropped
		s.Observer.Event(Event{Event: "round", Round: t.Rounds(), TrainLoss: &round.TrainLoss, Steps: round.Steps, Examples: round.Examples, Dropped: round.Dropped})
		s.Observer.Progress(Progress{TrialRound: t.Rounds(), ToRound: c.Rounds, Round: t.Rounds(), Rounds: c.Rounds, Loss: round.TrainLoss, Score: math.NaN(), Best: math.NaN()})
	}
	trained := time.Since(start).Seconds()
	e, err := engine.Evaluate(ctx, t.Weights(), c.eval(plan.Clients, s.Observer))
	if err != nil {
		return nil, err
	}
	r.Errors, r.WeightsSHA256, r.weights = errorsOf(e), fl.WeightsSHA256(s.Model, t.Weights()), t.Weights()
	r.Rounds, r.Seconds, r.RoundsPerSecond = t.Rounds(), time.Since(start).Seconds(), float64(t.Rounds())/trained
	return r, nil
}

// Baseline trains n configurations that the tuner of s suggests, each for the
// same number of rounds and without a client tuner, and measures the global
// test error of each. With random search as the tuner it is the yardstick of a
// study.
func Baseline(ctx context.Context, s Setup, n, rounds int) (*BaselineResult, error) {
	s.ClientTuner = nil
	s.Config.ClientTuner = ClientTuner{}
	s.Config.Budget = Budget{Rounds: n * rounds, TrialRounds: rounds}
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
	for _, t := range d.trials {
		if t.train == nil {
			return nil, fmt.Errorf("baseline: the tuner %s stopped trial %d early; use one that runs every trial to its end", s.Config.Tuner.Name, t.number)
		}
		e, err := d.engine.Evaluate(ctx, t.train.Weights(), s.Config.eval(nil, s.Observer))
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
