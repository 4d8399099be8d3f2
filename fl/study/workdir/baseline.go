package workdir

import (
	"context"

	"github.com/fedfast/fedfast/fl/study"
	"github.com/fedfast/fedfast/fl/study/config"
	"github.com/fedfast/fedfast/fl/study/result"
)

// EqualRounds is the Options.Baseline with as many random configurations as the rounds of
// the study pay for.
const EqualRounds = -1

// baselineTuner is the tuner of the comparison.
const baselineTuner = "random"

// length is how many rounds each configuration of a baseline trains: as many as the trial
// that the tuner kept.
func length(c *config.Config, r *result.Result) int {
	if r.Survivor != nil {
		return r.Survivor.Round
	}
	return c.Budget.TrialRounds
}

// configurations is how many a finished study is compared with, 0 for none: where nobody
// asks, those with which a comparison was begun.
func (s *Study) configurations(asked int, r *result.Result) int {
	switch begun := s.Stored.Baseline; {
	case asked == EqualRounds:
		rounds := length(s.Config, r)
		return max(1, (r.Rounds+rounds/2)/rounds)
	case asked == 0 && begun != nil:
		return begun.Configurations
	}
	return asked
}

// planned is about how many there will be, before the study has run.
func planned(asked int, c *config.Config) int {
	if asked == EqualRounds {
		return max(1, c.Budget.Rounds/max(1, c.Budget.TrialRounds))
	}
	return asked
}

// compare trains the baseline of a study that has ended with r, if one is asked for or was
// begun, unless it is recorded.
func (s *Study) compare(ctx context.Context, o Options, setup study.Setup, r *result.Result) (*result.BaselineResult, error) {
	n := s.configurations(o.Baseline, r)
	if done := s.Stored.Tune; done != nil && done.Baseline != nil && n == len(done.Baseline.Trials) {
		return done.Baseline, nil
	}
	if n == 0 {
		return nil, nil
	}
	tuner, err := s.launch(ctx, o, "baseline", baselineTuner, nil)
	if err != nil {
		return nil, err
	}
	defer tuner.Close()
	rounds := length(s.Config, r)
	setup.Tuner, setup.ClientTuner, setup.Config.Tuner.Name = tuner, nil, baselineTuner
	setup.Observer = nil
	if o.Comparing != nil {
		setup.Observer = o.Comparing(n, rounds)
	}
	return study.Baseline(ctx, setup, r, n, rounds)
}
