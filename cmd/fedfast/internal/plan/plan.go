// Package plan answers, before a federation is deployed, what it would else have to try out: whether
// federation pays, which hyperparameters, how many rounds, local epochs and clients, what happens when
// a site is slow, and what privacy costs. The answers come from studies in one directory, whose sizes
// are decided once, by a budget of time.
package plan

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/fedfast/fedfast/cmd/fedfast/internal/report"
	"github.com/fedfast/fedfast/fl/study/config"
	"github.com/fedfast/fedfast/fl/study/result"
	"github.com/fedfast/fedfast/fl/study/workdir"
	"github.com/fedfast/fedfast/internal/key"
	"github.com/fedfast/fedfast/internal/sys/wholefile"
)

// File has, in the directory of a plan, what was decided before anything was trained.
const File = "plan.json"

// Plan is what File holds. A copy of it in another directory gives the same bits.
type Plan struct {
	// Asked is the configuration as TOML as it was asked for, Config the same with the rounds and the
	// budget that fit.
	Asked  string `json:"asked"`
	Config string `json:"config"`
	Network
	// Minutes is the budget, Estimate what the studies were estimated to take of it.
	Minutes  float64 `json:"budget_minutes"`
	Estimate float64 `json:"estimated_minutes"`
	// Seeds is with how many seeds each training is repeated, Questions what is asked, in order, and LeftOut what is
	// not, and why.
	Seeds     int      `json:"seeds"`
	Questions []string `json:"questions"`
	LeftOut   []string `json:"left_out"`
	// Clients is how many the federation has, Samples how many training samples, Largest those of
	// the client with the most.
	Clients int `json:"clients"`
	Samples int `json:"samples"`
	Largest int `json:"largest_client"`
	// Lazy is set for data that are read client by client, which cannot be pooled.
	Lazy bool `json:"lazy,omitempty"`

	base *config.Config
}

// Network is what is known of the real federation.
type Network struct {
	// RoundSeconds is how long a local epoch takes at the largest site; 0 for devices of 1e10
	// operations per second. MBPerSecond is the speed of each site's link, 0 for 1.25, and Dropout the
	// share of a round's trainings that fail.
	RoundSeconds float64 `json:"round_seconds"`
	MBPerSecond  float64 `json:"mb_per_second"`
	Dropout      float64 `json:"dropout"`
}

// Read reads the plan of a directory. The error of one without is fs.ErrNotExist.
func Read(dir string) (*Plan, error) {
	name := filepath.Join(dir, File)
	text, err := wholefile.Read(name)
	if err != nil {
		return nil, err
	}
	p := &Plan{}
	if err = json.Unmarshal(text, p); err == nil {
		p.base, err = config.Load(config.Source{Text: p.Config})
	}
	if err == nil && (p.Seeds < 2 || p.Seeds > workdir.MaxSeeds || p.Clients < 2 || p.Largest < 1 ||
		!slices.Contains(p.Questions, federate)) {
		err = errors.New("seeds, questions or clients")
	}
	if err != nil {
		return nil, fmt.Errorf("%s: damaged (%w); plan anew in another directory", name, err)
	}
	return p, nil
}

// Write keeps the plan in a directory, which it makes if need be.
func (p *Plan) Write(dir string) error {
	text, err := json.MarshalIndent(p, "", "  ")
	if err == nil {
		err = wholefile.Folder(dir)
	}
	if err == nil {
		err = wholefile.Write(filepath.Join(dir, File), append(text, '\n'), 0o644)
	}
	return err
}

// study is a training that is repeated with the plan's seeds, in a directory of its name.
type study struct {
	name   string
	x      float64 // what is tried
	config *config.Config
}

// trained is a study with its results, by seed.
type trained struct {
	study
	runs []*result.RunResult
}

// Found is all that the studies of a plan came to.
type Found struct {
	study        *report.Study // that tuned
	tuned, given *config.Config
	seconds      float64              // simulated, of a round of the tuned values
	of           map[string][]trained // by question
	left         []string
	// name is what errors are called; share says that they are shares.
	name  string
	share bool
}

// Train brings all studies of a plan in a directory to their ends, one after the other; those that
// have ended are only read. begin is told which one is next.
func (p *Plan) Train(ctx context.Context, dir string, o workdir.Options, begin func(string)) (*Found, error) {
	f := &Found{of: map[string][]trained{}, left: slices.Clone(p.LeftOut), given: p.tune()}
	path := filepath.Join(dir, "tune")
	begin("tuning")
	_, err := workdir.Tune(ctx, path, f.given, o)
	if err == nil {
		f.study, err = report.Read(ctx, path)
	}
	if err == nil {
		f.tuned, _, err = report.Anew(f.study.Text, f.study.Tune)
	}
	for _, q := range questions {
		if err != nil || !slices.Contains(p.Questions, q.id) {
			continue
		}
		var all []trained
		for _, s := range q.studies(p, f) {
			begin(q.id + ": " + s.name)
			t := trained{study: s}
			if t.runs, err = workdir.RunSeeds(ctx, filepath.Join(dir, s.name), s.config, p.Seeds, o); err != nil {
				break
			}
			all = append(all, t)
		}
		if bad, ok := errors.AsType[*key.Error](err); ok && q.id != federate {
			f.left, err = append(f.left, q.id+": "+bad.Error()), nil
			continue
		}
		if f.of[q.id] = all; err == nil && q.id == federate {
			f.seconds = all[0].seconds()
			f.name, f.share = result.MeasureName(all[0].runs[0].Measure)
		}
	}
	return f, err
}

// plain has the defaults.
var plain, _ = config.Load(config.Source{})

// tune is the configuration that is tuned: the plan's without a client tuner, devices and privacy.
func (p *Plan) tune() *config.Config {
	c := *p.base
	c.Tuner.Name, c.Tuner.Options, c.Tuner.From, c.ClientTuner = "halving", nil, nil, config.ClientTuner{}
	c.DP, c.Fleet, c.Time = config.DP{Delta: c.DP.Delta}, plain.Fleet, plain.Time
	c.Eval.Every, c.Eval.EverySeconds, c.Eval.Goal, c.Eval.Patience, c.Eval.Baselines = 0, 0, 0, 0, nil
	c.Eval.EveryTarget, c.Objectives, c.Constraints = config.AutoTarget, nil, nil
	return &c
}

// measured is about how many times a run is measured.
const measured = 20

// run is a configuration as it is trained once, on the network's devices.
func (p *Plan) run(c *config.Config) *config.Config {
	r := *c
	r.Rounds = p.base.Rounds
	r.Eval.Every, r.Eval.EveryTarget = max(1, r.Rounds/measured), r.Judged(config.ModeRun)
	if r.Fleet, r.Time = p.base.Fleet, p.base.Time; p.base.Devices() != nil {
		return &r
	}
	r.Fleet.Devices, r.Fleet.Dropout = "equal", p.Dropout
	if s := p.RoundSeconds; s != 0 {
		r.Fleet.SecondsPerSample = []float64{s / float64(p.Largest)}
	}
	if s := 1e6 * p.MBPerSecond; s != 0 {
		r.Fleet.Down, r.Fleet.Up = []float64{s}, []float64{s}
	}
	return &r
}

// changed is a run of the tuned values with a change.
func (p *Plan) changed(f *Found, name string, x float64, change func(*config.Config)) study {
	c := p.run(f.tuned)
	change(c)
	return study{name, x, c}
}

// round2 leaves two digits of a number.
func round2(x float64) float64 {
	y, _ := strconv.ParseFloat(strconv.FormatFloat(x, 'g', 2, 64), 64) // its own text
	return y
}
