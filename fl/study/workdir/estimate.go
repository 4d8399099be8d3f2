package workdir

import (
	"context"

	"github.com/fedfast/fedfast/data"
	"github.com/fedfast/fedfast/fl/fleet"
	"github.com/fedfast/fedfast/fl/study"
	"github.com/fedfast/fedfast/fl/study/config"
	"github.com/fedfast/fedfast/fl/study/internal/estimate"
	"github.com/fedfast/fedfast/fl/study/result"
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
// says why a study cannot begin, such as one that does not fit into memory.
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

// Rest returns how much work comes after the rounds of a study that is about to begin or to
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

// Counts are the numbers of clients and samples on which an estimate depends.
type Counts = estimate.Counts

// Jobs returns what a client's local training of the whole network takes on its device, by
// the client's number in the federation, with the hyperparameters of a configuration; and
// the bytes of memory that it takes there.
func Jobs(c *config.Config, fed *data.Federation, m *nn.Model) (job func(client int) fleet.Job, memory int64, err error) {
	return estimate.Jobs(c, fed, m)
}

// Appraiser estimates studies whose data need not be at hand. It times each kind of step once,
// and must not be used by several goroutines at a time.
type Appraiser struct {
	probe   *estimate.Probe
	workers int
}

// Price is what work takes: seconds of wall-clock time and operations.
type Price struct{ Seconds, FLOP float64 }

// NewAppraiser returns one for a number of workers; 0 means one per processor.
func NewAppraiser(workers int) *Appraiser { return &Appraiser{estimate.New(), workers} }

// Appraise estimates the trials on proxy federations of a study of a mode, which needs neither
// Data nor a Store, and its rounds with the evaluation at the end.
func (a *Appraiser) Appraise(ctx context.Context, s *study.Setup, mode string, n Counts) (sides, rounds Price, err error) {
	plan, err := estimate.OfCounts(ctx, s, mode, n)
	if err != nil {
		return sides, rounds, err
	}
	if sides, err = a.price(ctx, plan.SideWork); err == nil {
		rounds, err = a.price(ctx, plan.Work)
	}
	return sides, rounds, err
}

// price estimates work.
func (a *Appraiser) price(ctx context.Context, work estimate.Work) (Price, error) {
	took, err := a.probe.Seconds(ctx, a.workers, work)
	if err != nil || work.Model == nil {
		return Price{}, err
	}
	_, train := work.Model.FLOPs()
	return Price{took.Seconds, work.Examples * float64(train)}, nil
}
