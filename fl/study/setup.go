package study

import (
	"cmp"
	"context"
	"log/slog"
	"slices"
	"time"

	"github.com/fedfast/fedfast/data"
	"github.com/fedfast/fedfast/fl"
	"github.com/fedfast/fedfast/fl/internal/shard"
	"github.com/fedfast/fedfast/fl/study/config"
	"github.com/fedfast/fedfast/fl/study/result"
	"github.com/fedfast/fedfast/internal/list"
	"github.com/fedfast/fedfast/internal/store"
	"github.com/fedfast/fedfast/nn"
	"github.com/fedfast/fedfast/tuners"
)

// Setup is what Run, Tune and Baseline need.
type Setup struct {
	// Config decides the result.
	Config config.Config
	// Data and Model come from Prepare.
	Data  *data.Federation
	Model *nn.Model
	// Tuner is the trial tuner, ClientTuner the client tuner; nil without one. A
	// Tuner that can be both, such as FedEx, is both when ClientTuner is nil.
	Tuner, ClientTuner tuners.Tuner
	// Workers is the number of client tasks that run at once; 0 means one per
	// processor.
	Workers int
	// Observer watches; nil for none.
	Observer Observer
	// Store keeps the study, so that another process can resume it; nil
	// keeps nothing. A study of the same configuration that it holds is resumed;
	// one of another configuration is a *config.DiffError.
	Store *store.Store
	// KeepTrials leaves the last snapshot of every trial in the store, so that
	// studies that Share it need not train its rounds again.
	KeepTrials bool
	// Evaluated are models of a study whose rounds this one shares, with their
	// errors: a model among them is not evaluated again.
	Evaluated []result.Chosen
	// Environment describes where the study runs, as JSON in its record.
	Environment any
	// SnapshotEvery is the least time between two snapshots of a running trial
	// outside of rungs and of the end; 0 is 30 s. A rung whose rounds took less
	// than a thirtieth of it goes without: they are run again faster.
	SnapshotEvery time.Duration
	// Trainer trains trials elsewhere; nil is in this process. It needs a Store.
	Trainer Trainer
	// Unscored leaves the scores of rounds out; Run sets it.
	Unscored bool
	// Control lets users stop trials of a Tune, or all of it; nil disables it.
	Control *Control
	// Log receives messages about failed trials and damaged files; nil discards them.
	Log *slog.Logger

	sealed  bool            // all its rounds are recorded
	again   bool            // what is recorded of proxy federations and sub-networks is measured again
	wall    *wall           // its limit of wall time; nil without
	account *config.Account // of a private run; nil without dp.*
	method  *fl.Method      // nil stands for Config.Method; tests set another one
}

// engine fills in what a set-up leaves out and starts its workers.
func (s *Setup) engine() (*fl.Engine, error) {
	cfg, err := s.training()
	if err != nil {
		return nil, err
	}
	if cfg.Privacy, s.account, err = s.Config.Privacy(s.sizes(), !s.Unscored); err != nil {
		return nil, err
	}
	s.complete()
	return fl.New(cfg)
}

// complete fills in what watches and steers a study.
func (s *Setup) complete() {
	if s.Observer == nil {
		s.Observer = silent{}
	}
	s.Control = cmp.Or(s.Control, &Control{})
	if s.Log == nil {
		s.Log = slog.New(slog.DiscardHandler)
	}
	s.SnapshotEvery = cmp.Or(s.SnapshotEvery, 30*time.Second)
}

// sizes returns the clients' numbers of training samples.
func (s *Setup) sizes() []int {
	sizes := list.Made(len(s.Data.Clients), func(i int) int { return s.Data.Clients[i].Train.Len() })
	return sizes
}

// methodNamed returns the method of the configuration, or the one that a test has set.
func (s *Setup) methodNamed() (fl.Method, error) {
	if s.method != nil {
		return *s.method, nil
	}
	return fl.MethodByName(s.Config.Method)
}

// training returns what the engine of a set-up is to do. Where only the configured values do not fit,
// which the search space replaces in all trials, the study goes without a reference.
func (s *Setup) training() (fl.Config, error) {
	cfg, err := s.whole()
	if err == nil || !s.Config.Tuner.Reference {
		return cfg, err
	}
	s.Config.Tuner.Reference = false
	return s.whole()
}

// whole is training with the reference that the configuration asks for.
func (s *Setup) whole() (fl.Config, error) {
	c := &s.Config
	method, err := s.methodNamed()
	if err != nil {
		return fl.Config{}, err
	}
	if s.Tuner != nil && c.Private() {
		if err := c.CheckFor(config.ModeTune); err != nil {
			return fl.Config{}, err
		}
	}
	trials, kept := 1, min(c.Eval.Patience, 1)
	if s.Tuner != nil {
		trials = max(1, c.Tuner.Parallel)
		kept = trials + 1 // the best weights of each, and of all
		if c.Select == config.SelectFinalists {
			kept = trials + max(1, c.Finalists.Snapshots)
		}
	}
	var elsewhere shard.Engines
	if sharer := s.sharer(); sharer != nil {
		elsewhere = sharer
	}
	least, most := c.Ends()
	least.Time.Partial = most.Time.Partial
	cfg := fl.Config{
		Model: s.Model, Data: s.Data, Method: method, Cohort: c.Cohort,
		Replacement: c.Sampling == "with" || c.Sampling == fl.SamplingSize, BySize: c.Sampling == fl.SamplingSize,
		Poisson: c.Sampling == fl.SamplingPoisson, Shuffle: c.Sampling == "shuffle",
		Shared: c.SharesCohorts(), Digests: c.Digests == config.DigestsAll,
		Seed: c.Seed, Workers: s.Workers, HeadLayers: c.HeadLayers, Widths: c.Client.Widths, Server: &c.Server, StateMemory: int64(c.Data.StateMemory) << 20,
		Statistics: c.Norm.Statistics, Batch: c.LargestBatch(),
		KeepOptimizer: c.KeepsOptimizer(), Adam: c.MayAdapt(), Momentum: c.MayHaveMomentum(),
		Trials: trials, Kept: kept, Elsewhere: elsewhere, Measures: slices.ContainsFunc(c.Aims().Metrics(), tuners.OfAnswers),
		Fleet: c.Devices(), Time: most.Time, Sampler: least.Sampler, Updates: c.Update, Aggregation: c.Aggregation(),
	}
	return cfg, cmp.Or(cfg.CheckTime(least.Time), cfg.CheckSampler(most.Sampler))
}

// RoundsIn returns about how many rounds a trial runs in simulated seconds with the
// hyperparameters that the configuration sets. Nothing is trained.
func (s *Setup) RoundsIn(ctx context.Context, seconds float64) (float64, error) {
	cfg, err := s.training()
	if err != nil {
		return 0, err
	}
	cfg.Trials, cfg.Kept, cfg.Elsewhere = 1, 0, nil
	e, err := fl.New(cfg)
	if err != nil {
		return 0, err
	}
	defer e.Close()
	h := s.Config.Hyper()
	return e.Forecast(ctx, fl.Plan{Server: h.Server, Time: h.Time, Sampler: h.Sampler, Update: h.Update, Aggregator: h.Aggregator, Clients: []fl.ClientParams{h.Client}}, seconds)
}

// untune takes out of the configuration what Run does not follow.
func (s *Setup) untune() { s.Config.Space, s.Config.ClientTuner = nil, config.ClientTuner{} }

// Memory returns how many bytes a study takes at its peak, besides what is in memory
// already, and how many more each trial that waits to go on and is not stored. The error comes from a
// study which does not fit into the memory that there is.
func (s *Setup) Memory() (all, waiting int64, err error) {
	plain := *s
	if s.Tuner == nil {
		plain.untune()
	}
	cfg, err := plain.training()
	if s.Config.Private() {
		cfg.Privacy = &fl.Privacy{Mechanism: s.Config.DP.Mechanism, Bands: s.Config.DP.Bands}
	}
	if err == nil {
		err = cfg.CheckMemory()
	}
	if err != nil {
		return 0, 0, err
	}
	if s.Tuner != nil {
		waiting = cfg.TrialMemory()
	}
	return cfg.Memory(), waiting, nil
}
