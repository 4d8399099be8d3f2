package study

import (
	"context"
	"errors"

	"github.com/fedfast/fedfast/fl"
	"github.com/fedfast/fedfast/fl/study/config"
	"github.com/fedfast/fedfast/fl/study/internal/meter"
	"github.com/fedfast/fedfast/fl/study/internal/trial"
	"github.com/fedfast/fedfast/tuners"
)

// Retrain trains one trial of a set-up with Config.Eval.RecordEvery alone, without a tuner and
// to its last round or until it fails, and returns what is recorded of it: the same bits as in the
// study, since all that a trial draws is keyed by its number.
func Retrain(ctx context.Context, s Setup, number int, params tuners.Params) (*Recording, error) {
	s.Tuner, s.ClientTuner, s.Config.Cohorts = nil, nil, config.CohortsOwn
	engine, err := s.engine()
	if err != nil {
		return nil, err
	}
	defer engine.Close()
	h, err := s.Config.Hyper().With(params, nil)
	if err != nil {
		return nil, err
	}
	m := meter.New(s.measured(), engine)
	plan := fl.Plan{Server: h.Server, Time: h.Time, Sampler: h.Sampler, Update: h.Update, Aggregator: h.Aggregator, Clients: []fl.ClientParams{h.Client}, Probes: s.scoreProbes()}
	r := &Recording{Trial: number, Seed: s.Config.Seed, Params: params, Dropped: map[int][]int{}}
	sum := &RecordedPoint{}
	for tr := engine.NewTrial(number); tr.Rounds() < s.Config.Budget.TrialRounds; {
		rec, err := m.Round(ctx, tr, plan, nil)
		err = trial.Fails(r.Rounds+1, rec, err, s.Config.Nonfinite)
		if failed, ok := errors.AsType[*trial.FailError](err); ok {
			r.fail(failed.Reason)
			return r, nil
		}
		if err != nil {
			return nil, err
		}
		r.take(tr.Rounds(), rec, sum)
	}
	return r, nil
}
