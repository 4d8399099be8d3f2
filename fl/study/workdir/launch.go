package workdir

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/fedfast/fedfast/fl/study"
	"github.com/fedfast/fedfast/fl/study/config"
	"github.com/fedfast/fedfast/fl/study/result"
	"github.com/fedfast/fedfast/tuners"
	"github.com/fedfast/fedfast/tuners/host"
)

// Tuner is a tuner that was launched for a study.
type Tuner interface {
	tuners.Tuner
	// Pin returns what the study records about the tuner.
	Pin() host.Pin
	// Close ends it.
	Close()
}

// Launch describes which tuner to launch.
type Launch struct {
	// Key is the key that names it, "tuner.name" or "client_tuner.name", for
	// errors.
	Key, Name string
	// Study is the directory of the study, and Pin what that recorded about the
	// tuner, nil when it recorded nothing.
	Study string
	Pin   *host.Pin
	// Start is how long its process may take to start, 0 for the default.
	Start time.Duration
}

// Launcher launches the tuners that studies name. It may be called from several
// goroutines.
type Launcher func(ctx context.Context, l Launch) (Tuner, error)

// InProcess launches tuners that are part of this program, such as those of
// plugins.Builtin. Their answers are checked as those of a process are, but one
// that crashes takes the program along. A study resumes with whatever has the name.
func InProcess(known map[string]tuners.Tuner) Launcher {
	return func(ctx context.Context, l Launch) (Tuner, error) {
		t, ok := known[l.Name]
		if !ok {
			return nil, fmt.Errorf("%s: unknown tuner %q; available: %s", l.Key, l.Name, strings.Join(slices.Sorted(maps.Keys(known)), ", "))
		}
		about, err := t.Describe(ctx)
		if err != nil {
			return nil, fmt.Errorf("tuner %s: %w", l.Name, err)
		}
		return &inProcess{host.Local(t), t, host.Pin{Name: l.Name, Version: about.Version, Builtin: true}}, nil
	}
}

// inProcess is a tuner of this program.
type inProcess struct {
	tuners.Tuner // its answers are checked
	bare         tuners.Tuner
	pin          host.Pin
}

// Work passes the tuner's own answer on.
func (p *inProcess) Work(ctx context.Context, req tuners.ValidateRequest) (tuners.Work, error) {
	return tuners.WorkOf(ctx, p.bare, req)
}

// Pin returns the tuner's name and version.
func (p *inProcess) Pin() host.Pin { return p.pin }

// Close does nothing.
func (*inProcess) Close() {}

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
