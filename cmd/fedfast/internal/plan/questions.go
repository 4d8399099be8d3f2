package plan

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"slices"

	"github.com/fedfast/fedfast/cmd/fedfast/internal/report"
	"github.com/fedfast/fedfast/fl"
	"github.com/fedfast/fedfast/fl/fleet"
	"github.com/fedfast/fedfast/fl/study/config"
	"github.com/fedfast/fedfast/fl/study/result"
	"github.com/fedfast/fedfast/fl/study/workdir"
	"github.com/fedfast/fedfast/internal/key"
	"github.com/fedfast/fedfast/internal/list"
)

// federate is the first question, whose runs of the tuned values the others are compared with.
const federate = "federate"

// always is how many questions are never left out.
const always = 3

// question is one of those that a plan asks, with what it trains beside the first question's runs.
type question struct {
	id, text, none string // none says why a configuration has no studies for it
	studies        func(*Plan, *Found) []study
	answer         func(*Found, *Plan, *Answer)
}

// questions are all of them; a small budget leaves out the last ones.
var questions = []question{
	{federate, "Federate at all?", "", (*Plan).whether, (*Found).whether},
	{"settings", "Which settings?", "", (*Plan).settings, (*Found).settings},
	{"rounds", "How many rounds?", "", func(*Plan, *Found) []study { return nil }, (*Found).rounds},
	{"rate", "How exact must the learning rate be?", "", (*Plan).rates, (*Found).rates},
	{"epochs", "Local epochs, or rounds?", "client.steps is set", (*Plan).epochs, (*Found).epochs},
	{"clients", "How many clients a round?", "there are too few clients", (*Plan).cohorts, (*Found).cohorts},
	{"slow", "What if a site is slow or away?", "the configuration has a fleet of its own", (*Plan).slow, (*Found).slow},
	{"epsilon", "What does privacy cost?", "", (*Plan).epsilons, (*Found).epsilons},
}

func (p *Plan) whether(f *Found) []study {
	return []study{p.changed(f, federate, 0, func(c *config.Config) {
		if c.Eval.Baselines = []string{config.BaselineLocal}; !p.Lazy {
			c.Eval.Baselines = append(c.Eval.Baselines, config.BaselinePooled)
		}
	})}
}

func (p *Plan) settings(f *Found) []study {
	return []study{{"as-given", 0, p.run(f.given)}}
}

// rates are a third and three times the tuned learning rate.
func (p *Plan) rates(f *Found) []study {
	return list.Of([]float64{1. / 3, 3}, func(by float64) study {
		lr := round2(by * f.tuned.Client.LR)
		return p.changed(f, fmt.Sprintf("rate-%v", lr), lr, func(c *config.Config) { c.Client.LR = lr })
	})
}

// epochs are half and twice the tuned local epochs, or of one twice and four times.
func (p *Plan) epochs(f *Found) []study {
	if f.tuned.Client.Steps > 0 {
		return nil
	}
	e := f.tuned.Client.Epochs
	others := []float64{max(1, math.Floor(e/2)), 2 * e}
	if e <= 1 {
		others = []float64{2 * e, 4 * e}
	}
	return list.Of(others, func(e float64) study {
		return p.changed(f, fmt.Sprintf("epochs-%v", e), e, func(c *config.Config) { c.Client.Epochs = e })
	})
}

// cohorts are half and twice as many clients, or of all clients a half and a quarter.
func (p *Plan) cohorts(f *Found) (all []study) {
	own := f.tuned.Cohort
	for _, n := range []int{own / 4, own / 2, 2 * own} {
		if n >= 1 && n <= p.Clients && (n != own/4 || 2*own > p.Clients) {
			all = append(all, p.changed(f, fmt.Sprintf("clients-%d", n), float64(n), func(c *config.Config) { c.Cohort = n }))
		}
	}
	return all
}

// slower is how many times slower a slow site is, slowShare which share of many clients are, and slack
// is how many times as long as a round of the others a deadline is.
const slower, slowShare, slack = 10, 0.1, 1.5

// slow has a site that is slow: rounds wait for it, end at a deadline, or do not exist.
func (p *Plan) slow(f *Found) []study {
	if p.base.Devices() != nil {
		return nil
	}
	share := p.slowSites() / float64(p.Clients)
	of := func(label string, change func(*config.Config)) study {
		return p.changed(f, label, 0, func(c *config.Config) {
			c.Fleet.Devices, c.Fleet.Shares = "classes", []float64{1 - share, share}
			if s := c.Fleet.SecondsPerSample; s != nil {
				c.Fleet.SecondsPerSample = []float64{s[0], slower * s[0]}
			} else {
				c.Fleet.FLOPS = []float64{usualFLOPS, usualFLOPS / slower}
			}
			link := cmp.Or(1e6*p.MBPerSecond, usualLink)
			c.Fleet.Down, c.Fleet.Up = []float64{link, link / slower}, []float64{link, link / slower}
			change(c)
		})
	}
	return []study{
		of("waiting", func(*config.Config) {}),
		of("deadline", func(c *config.Config) { c.Time.Deadline = slack * f.seconds }),
		of("asynchronous", func(c *config.Config) {
			c.Time.Mode, c.Time.Buffer = fleet.Buffered, (c.Cohort+1)/2
			c.Rounds = c.Rounds * c.Cohort / c.Time.Buffer
			c.Eval.Every = max(1, c.Rounds/measured)
		}),
	}
}

// usualFLOPS and usualLink are the operations and bytes per second of devices of which nothing is known.
const usualFLOPS, usualLink = 1e10, 1.25e6

// slowSites is how many sites are slow.
func (p *Plan) slowSites() float64 { return math.Ceil(slowShare * float64(p.Clients)) }

// fewSites is up to how many clients each sample is protected, not each client.
const fewSites = 100

// epsilons train privately, without devices, on which cohorts are not drawn at random alone: as the configuration has
// it, else each sample where there are few clients, or each client.
func (p *Plan) epsilons(f *Found) []study {
	dp := p.base.DP
	if dp.Noise = 0; !p.base.Private() {
		protected := p.Clients
		dp = config.DP{Quantile: 0.5}
		if p.Clients <= fewSites {
			protected, dp = p.Samples, config.DP{Mechanism: fl.SampleNoise, Clip: 1}
		}
		dp.Delta = math.Pow(10, -math.Ceil(math.Log10(float64(protected))))
	}
	return list.Of([]float64{1, 3, 8}, func(epsilon float64) study {
		return p.changed(f, fmt.Sprintf("epsilon-%v", epsilon), epsilon, func(c *config.Config) {
			c.DP, c.Fleet, c.Time = dp, plain.Fleet, plain.Time
			c.DP.Epsilon = epsilon
		})
	})
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
