package workdir

import (
	"context"

	"github.com/fedfast/fedfast/fl/study"
	"github.com/fedfast/fedfast/fl/study/config"
	"github.com/fedfast/fedfast/fl/study/result"
	"github.com/fedfast/fedfast/internal/estimate"
	"github.com/fedfast/fedfast/nn"
)

// Cost is what a study is estimated to take on this machine. It is for people to read.
type Cost struct {
	// Plan says what is trained, at most: "264 trials on proxy federations and 500 rounds".
	Plan string `json:"plan"`
	// Seconds is how long that takes with the given number of workers, of which each
	// trains SamplesPerSecond. They are 0 where no step could be measured.
	Seconds          float64 `json:"seconds"`
	Workers          int     `json:"workers"`
	SamplesPerSecond float64 `json:"samples_per_second"`
	// Memory is the peak in bytes, besides what the program has already, and Waiting how
	// many bytes more each trial takes that waits to go on: in memory up to 256 MiB of all
	// together, else in its snapshot.
	Memory  int64 `json:"memory_bytes"`
	Waiting int64 `json:"waiting_bytes"`
	// BF16Share is, for a study in bf16, how many operations of bf16 products the processor
	// does in the time of one of float32.
	BF16Share float64 `json:"bf16_share,omitempty"`
}

// Estimate returns what a new study of a mode, config.ModeTune or config.ModeRun, would
// take: it opens the data and the tuners, and measures a few steps of training. The error
// is that of a study which cannot begin, such as one that does not fit into memory.
func Estimate(ctx context.Context, c *config.Config, mode string, o Options) (Cost, error) {
	own := *c
	if err := own.CheckFor(mode); err != nil {
		return Cost{}, err
	}
	s := &Study{Config: &own, Stored: &result.Stored{}, log: o.Log}
	var setup *study.Setup
	var err error
	if mode == config.ModeTune {
		var closeTuners func()
		if setup, _, closeTuners, err = s.launched(ctx, o); err == nil {
			defer closeTuners()
			_, _, err = setup.Memory()
		}
		if err == nil {
			err = study.Check(ctx, *setup)
		}
	} else {
		setup, err = s.prepare(ctx, o)
	}
	if err != nil {
		return Cost{}, err
	}
	return EstimateSetup(ctx, setup, mode, o.Baseline)
}

// EstimateSetup is Estimate for a study that is about to begin, see Options.Ready, with a
// baseline as Options has one.
func EstimateSetup(ctx context.Context, s *study.Setup, mode string, baseline int) (c Cost, err error) {
	if c.Memory, c.Waiting, err = s.Memory(); err != nil {
		return c, err
	}
	plan, err := planOf(ctx, s, mode, baseline)
	if err != nil {
		return c, err
	}
	probe := estimate.New()
	e, err := probe.Seconds(ctx, s.Workers, plan.All()...)
	if err != nil {
		return c, err
	}
	if s.Config.Precision == nn.BF16.String() {
		c.BF16Share = probe.BF16Share()
	}
	c.Plan, c.Seconds, c.Workers, c.SamplesPerSecond = plan.String(), e.Seconds, e.Workers, e.Rate
	return c, nil
}

// Rest returns how much work comes behind the rounds of a study that is about to begin or to
// be resumed, in multiples of that of the rounds: evaluations of models, and the
// configurations of a baseline. Both are 0 where that cannot be estimated.
func Rest(ctx context.Context, s *study.Setup, mode string, baseline int) (evaluations, configurations float64) {
	plan, err := planOf(ctx, s, mode, baseline)
	if err != nil {
		return 0, 0
	}
	return plan.Rest()
}

// planOf plans a study with its baseline.
func planOf(ctx context.Context, s *study.Setup, mode string, baseline int) (estimate.Plan, error) {
	plan, err := estimate.Of(ctx, s, mode)
	if n := planned(baseline, &s.Config); err == nil && n > 0 {
		err = plan.Compare(s, n)
	}
	return plan, err
}
