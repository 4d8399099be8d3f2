package plan

import (
	"cmp"
	"context"
	_ "embed" // for the questions
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"text/template"

	"github.com/BurntSushi/toml"

	"github.com/fedfast/fedfast/cmd/fedfast/internal/report"
	"github.com/fedfast/fedfast/fl/study/config"
	"github.com/fedfast/fedfast/fl/study/result"
	"github.com/fedfast/fedfast/fl/study/view"
	"github.com/fedfast/fedfast/fl/study/workdir"
	"github.com/fedfast/fedfast/internal/figure"
	"github.com/fedfast/fedfast/internal/key"
	"github.com/fedfast/fedfast/tuners"
)

// The first questions: whether the tuned or the given values are the better ones, with which all else is trained, and
// whether these beat training alone. always is how many questions are never left out.
const (
	settings = "settings"
	federate = "federate"
	always   = 3
)

// questionTable is text of a template, which says what the fields of a question are.
//
//go:embed questions.tmpl
var questionTable string

type question struct {
	ID, Text, None, Key string
	Axis                figure.Axis
	Own                 float64
	Values              []float64
	Sets                []string
	Studies             []study
}

// study is a training that is repeated with the plan's seeds, in a directory of its name.
type study struct {
	Name   string
	Sets   []string
	X      float64 // what is tried
	config *config.Config
}

// size is how large the studies of a plan may be: the number of seeds, of questions, and tuning and rounds as shares of
// the configuration's.
type size struct {
	Seeds, Questions int
	Tune, Rounds     float64
}

// trained is a study with its results, by seed.
type trained struct {
	study
	runs []*result.RunResult
}

// Found is all that the studies of a plan came to.
type Found struct {
	plan               *Plan
	tuning             *result.Result
	best, tuned, given *config.Config       // best is one of the others
	values             tuners.Params        // the best ones of what was tuned
	seconds            float64              // simulated, of a round of the best values
	of                 map[string][]trained // by question
	// name is what errors are called; share says that they are shares.
	name  string
	share bool
}

// best is what the study of the best values is called in other questions.
const best = "best"

// slack is how many times as long as a round of the others a deadline is, slowShare which share of the clients is slow,
// and open stands for no privacy among values of epsilon, behind all others.
const slack, slowShare, open = 1.5, 0.1, 1000

// slowSites is how many sites are slow.
func (p *Plan) slowSites() float64 { return math.Ceil(slowShare * float64(p.Clients)) }

// render executes the template of a name, or the text itself for none.
func render(name, text string, functions template.FuncMap, data map[string]any) (string, error) {
	var b strings.Builder
	t, err := template.New("").Funcs(functions).Parse(text)
	if err == nil {
		err = t.ExecuteTemplate(&b, name, data)
	}
	return strings.TrimSpace(b.String()), err
}

// questions are all of them, with the studies beside the best values, and the sizes that a plan may have.
func (f *Found) questions() ([]question, []size, error) {
	p, c, run := f.plan, f.best, f.plan.run(f.best)
	slow, buffer := p.slowSites()/float64(p.Clients), (c.Cohort+1)/2
	text, err := render("", questionTable, template.FuncMap{
		"times": func(by, x float64) float64 { return by * x },
		"half":  func(x float64) float64 { return math.Floor(x / 2) },
		"below": func(n int) float64 { return math.Pow(10, -math.Ceil(math.Log10(float64(n)))) },
	}, map[string]any{
		"p": p, "base": p.base, "c": c, "run": run, "always": always,
		"cohort": float64(c.Cohort), "clients": float64(p.Clients), "open": open, "fast": 1 - slow, "slow": slow,
		"deadline": slack * f.seconds, "buffer": buffer, "updates": run.Rounds * c.Cohort / buffer,
	})
	var all struct {
		Question []question
		Size     []size
	}
	if err == nil {
		_, err = toml.Decode(text, &all)
	}
	return all.Question, all.Size, err
}

// studies are the studies of a question with their configurations.
func (f *Found) studies(q *question) ([]study, error) {
	all := q.Studies
	for _, x := range q.Values {
		if x == q.Own {
			all = append(all, study{Name: best, X: x})
		} else if x > 0 {
			all = append(all, study{Name: fmt.Sprintf("%s-%v", q.ID, x), X: x, Sets: []string{fmt.Sprintf("%s=%v", q.Key, x)}})
		}
	}
	values := map[string]*config.Config{"given": f.given, "tuned": f.tuned}
	for i := range all {
		c := f.plan.run(cmp.Or(values[all[i].Name], f.best))
		if q.Key == "dp.epsilon" { // without devices, on which cohorts are not drawn at random alone
			c.DP, c.Fleet, c.Time = f.plan.base.DP, plain.Fleet, plain.Time
			if len(f.plan.Columns) > 0 {
				c.Data.Columns = f.plan.Columns
			}
		}
		text, err := config.Encode(c)
		if err == nil {
			sets := slices.Concat(q.Sets, all[i].Sets)
			all[i].config, err = config.Load(config.Source{Text: string(text), Sets: sets})
		}
		if err != nil {
			return nil, err
		}
		all[i].config.Eval.Every = max(1, all[i].config.Rounds/measured)
	}
	return all, nil
}

// Train brings all studies of a plan in a directory to their ends, one after the other; those that
// have ended are only read. begin is told which one is next.
func (p *Plan) Train(ctx context.Context, dir string, o workdir.Options, begin func(string)) (_ *Found, err error) {
	f := &Found{plan: p, of: map[string][]trained{}, given: p.tune(), best: p.tune()}
	begin("tuning")
	text, err := config.Encode(f.given)
	if err == nil {
		f.tuning, err = workdir.Tune(ctx, filepath.Join(dir, "tune"), f.given, o)
	}
	if err == nil {
		f.tuned, _, err = report.Anew(string(text), f.tuning)
	}
	all, _, bad := f.questions()
	for i := 0; i < len(all) && cmp.Or(err, bad) == nil; i++ {
		if slices.Contains(p.Questions, all[i].ID) {
			err = f.ask(ctx, i, dir, o, begin)
		}
		if bad, ok := errors.AsType[*key.Error](err); ok && i >= always {
			p.LeftOut, err = append(p.LeftOut, all[i].ID+": "+bad.Error()), nil
		}
	}
	return f, cmp.Or(err, bad)
}

// ask trains the studies of the question at a place.
func (f *Found) ask(ctx context.Context, i int, dir string, o workdir.Options, begin func(string)) error {
	all, _, err := f.questions() // with the best values as they are known now
	if err != nil {
		return err
	}
	id := all[i].ID
	studies, err := f.studies(&all[i])
	done := make([]trained, len(studies))
	for i, s := range studies {
		if done[i].study = s; s.Name == best {
			done[i].runs = f.of[federate][0].runs
			continue
		}
		begin(id + ": " + s.Name)
		if done[i].runs, err = workdir.RunSeeds(ctx, filepath.Join(dir, s.Name), s.config, f.plan.Seeds, o); err != nil {
			return err
		}
	}
	if f.of[id] = done; id == settings {
		f.choose(done[0], done[1])
	}
	return err
}

// choose takes the values whose error is lower on validation samples, as a study chooses among finalists.
func (f *Found) choose(given, tuned trained) {
	part, of := view.Parts[0], given
	if f.given.Judged(config.ModeRun) == tuners.TargetPersonalized {
		part = view.Parts[2]
	}
	score := func(t trained) float64 {
		return t.mean(func(r *result.RunResult) float64 { return result.Defined(part.Of(&r.Rates)) }).Mean
	}
	if r := f.tuning.Reference.Model; r != nil && !(score(tuned) < score(given)) {
		f.best, f.values = f.given, r.Params
	} else {
		f.best, f.values, of = f.tuned, f.tuning.Best.Params, tuned
	}
	f.seconds = of.seconds()
	f.name, f.share = result.MeasureName(of.runs[0].Measure)
}

// plain has the defaults.
var plain, _ = config.Load(config.Source{})

// tune is the configuration that is tuned: the plan's without a client tuner, devices and privacy.
func (p *Plan) tune() *config.Config {
	c := *p.base
	c.Tuner.Name, c.Tuner.Options, c.Tuner.From, c.ClientTuner = "halving", nil, nil, config.ClientTuner{}
	c.Tuner.Reference = true
	c.DP, c.Fleet, c.Time = config.DP{Delta: c.DP.Delta}, plain.Fleet, plain.Time
	c.Eval.Every, c.Eval.EverySeconds, c.Eval.Goal, c.Eval.Patience, c.Eval.Baselines = 0, 0, 0, 0, nil
	c.Eval.EveryTarget, c.Objectives, c.Constraints = config.AutoTarget, nil, nil
	return &c
}

// measured is about how many times a run is measured.
const measured = 20

// instant is how many bytes a second a site sends and receives where time is counted in local epochs.
const instant = 1e15

// run is a configuration as it is trained once, on the network's devices.
func (p *Plan) run(c *config.Config) *config.Config {
	r := *c
	r.Rounds, r.Eval.EveryTarget = p.base.Rounds, r.Judged(config.ModeRun)
	if r.Fleet, r.Time = p.base.Fleet, p.base.Time; p.base.Devices() != nil {
		return &r
	}
	epoch, link := p.RoundSeconds, 1e6*p.MBPerSecond
	if epoch == 0 {
		epoch, link = 1, instant
	}
	r.Fleet.Devices, r.Fleet.Dropout = "equal", p.Dropout
	r.Fleet.SecondsPerSample = []float64{epoch / float64(p.Largest)}
	r.Fleet.Down, r.Fleet.Up = []float64{link}, []float64{link}
	return &r
}
