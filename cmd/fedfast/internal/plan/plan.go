// Package plan answers, before a federation is deployed, what it would else have to try out: whether
// federation pays, which hyperparameters, how many rounds, local epochs and clients, what happens when
// a site is slow, and what privacy costs. The answers come from studies in one directory, whose sizes
// are decided once, by a budget of time.
package plan

import (
	"cmp"
	"context"
	_ "embed" // for the questions
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"text/template"

	"github.com/BurntSushi/toml"

	"github.com/fedfast/fedfast/data"
	"github.com/fedfast/fedfast/fl/study/config"
	"github.com/fedfast/fedfast/fl/study/result"
	"github.com/fedfast/fedfast/fl/study/view"
	"github.com/fedfast/fedfast/fl/study/workdir"
	"github.com/fedfast/fedfast/internal/figure"
	"github.com/fedfast/fedfast/internal/key"
	"github.com/fedfast/fedfast/internal/list"
	"github.com/fedfast/fedfast/internal/stats"
	"github.com/fedfast/fedfast/internal/sys/oneline"
	"github.com/fedfast/fedfast/internal/sys/wholefile"
	"github.com/fedfast/fedfast/tuners"
)

// File has, in the directory of a plan, what was decided before anything was trained.
const File = "plan.json"

// Plan is what File holds. A copy of it in another directory gives the same bits.
type Plan struct {
	// Asked is the configuration as TOML as it was asked for, Config the same with the rounds and the
	// budget that fit; Rounds is how many a training has, of AskedRounds.
	Asked       string `json:"asked"`
	Config      string `json:"config"`
	AskedRounds int    `json:"asked_rounds"`
	Rounds      int    `json:"rounds"`
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
	// Columns are data.columns with what is measured of a table's columns as constants, which private training needs.
	Columns map[string]any `json:"columns,omitempty"`
	// Notes are those about the data, of a new plan.
	Notes []string `json:"-"`

	base   *config.Config
	tuning *result.Result
	// given are the values that were given, and tuned what came of them; best is one of these, and values are its of what
	// was tuned.
	given, tuned, best *config.Config
	values             tuners.Params
	seconds            float64            // simulated, of a round of the best values
	of                 map[string][]study // what was trained, by question
	// name is what errors are called; share says that they are shares.
	name  string
	share bool
	// unsure is the difference of the widest interval that may be chance, and what says which one it is.
	unsure stats.Sample
	what   string
}

// Network is what is known of the real federation.
type Network struct {
	// RoundSeconds is how long a local epoch takes at the largest site, 0 for unknown: then nothing is said in seconds.
	// MBPerSecond is the speed of each site's link beside it, and Dropout the share of a round's trainings that fail.
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
		!slices.Contains(p.Questions, settings) || !slices.Contains(p.Questions, federate)) {
		err = errors.New("seeds, questions or clients")
	}
	if err != nil {
		return nil, fmt.Errorf("%s: damaged (%w); plan anew in another directory", name, err)
	}
	return p, nil
}

// Continue takes over where the files of a configuration are now, which else must be the one that was asked for.
func (p *Plan) Continue(dir string, c *config.Config) error {
	err := config.Match(dir, p.Asked, c)
	if err == nil {
		c.Rounds, c.Cohort, c.Budget, p.base = p.base.Rounds, p.base.Cohort, p.base.Budget, c
	}
	return err
}

// New plans studies of a configuration that are estimated to fit into a number of minutes. What it
// measures of this machine decides sizes alone.
func New(ctx context.Context, c *config.Config, n Network, minutes float64, o workdir.Options) (_ *Plan, err error) {
	asked, err := config.Encode(c)
	if err == nil && c.ToGoal() {
		err = &key.Error{Key: "objective", Problem: ": a plan tunes in rounds, not to a goal; use \"error\""}
	}
	if own := *c; err == nil {
		err = own.CheckFor(config.ModeRun)
	}
	if err != nil {
		return nil, err
	}
	if o.Data, err = config.OpenData(ctx, c); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, o.Data.Close()) }()
	p := &Plan{Asked: string(asked), AskedRounds: c.Rounds, Network: n, Minutes: minutes, base: c}
	if err := p.count(o.Data); err != nil {
		return nil, err
	}
	c.Cohort = min(c.Cohort, p.Clients)
	if b := c.Budget; !b.InRounds() || b.Rounds == 0 || b.TrialRounds == 0 {
		c.Budget = config.Budget{Rounds: 10 * c.Rounds, TrialRounds: c.Rounds}
	}
	all, err := p.price(ctx, o)
	if err == nil {
		err = p.fit(all)
	}
	return p, err
}

// count takes down what the questions need to know of the data.
func (p *Plan) count(fed *data.Federation) error {
	p.Clients, p.Lazy, p.Notes = len(fed.Clients), fed.Lazy, fed.Notes
	p.Columns = map[string]any{}
	val, test := 0, fed.Test.Len()
	for i := range fed.Clients {
		c := &fed.Clients[i]
		p.Samples, p.Largest = p.Samples+c.Train.Len(), max(p.Largest, c.Train.Len())
		val, test = val+c.Val.Len(), test+c.Test.Len()
	}
	for i, in := range fed.Inputs {
		column := &fed.Columns[i]
		text := "category " + strings.Join(column.Values, "|")
		if in.Places == nil {
			text = fmt.Sprintf("number %v %v", in.Mean, min(in.Std, math.MaxFloat32))
		}
		p.Columns[column.Name] = text
	}
	if p.Clients < 2 {
		return &key.Error{Key: "data", Problem: ": one client; must have two, see data.client_column and data.clients"}
	} else if val == 0 || test == 0 {
		const form = ": %d validation and %d test samples; tuning needs validation samples, and errors are measured on " +
			"test samples: give more samples, or others by data.split, such as \"80/10/10\""
		return &key.Error{Key: "data", Problem: fmt.Sprintf(form, val, test)}
	}
	return nil
}

// What an estimate has besides: studySeconds for opening and closing a study, safety as a factor, and alone for
// baselines, as a factor of a run.
const studySeconds, safety, alone = 0.3, 1.25, 2.5

// price estimates the seconds of tuning, and those of each question with one seed. One that cannot be asked says why.
func (p *Plan) price(ctx context.Context, o workdir.Options) (all *questions, err error) {
	estimate := func(c *config.Config, mode string) (float64, error) {
		own := o
		if c.Private() {
			own.Data = nil // it may need statistics, which have no noise
		}
		cost, err := workdir.Estimate(ctx, c, mode, own)
		return cost.Seconds + studySeconds, err
	}
	p.given, p.tuned, p.best, p.seconds = p.tune(), p.tune(), p.tune(), 1
	_, most := p.best.Ends()
	p.best.Client.Epochs, p.best.Client.Steps = most.Client.Epochs, most.Client.Steps
	if all, err = p.questions(); err == nil {
		all.tune, err = estimate(p.given, config.ModeTune)
	}
	for i := 0; err == nil && i < len(all.Question); i++ {
		q := &all.Question[i]
		studies, why := p.studies(q)
		for _, s := range list.Where(studies, func(s study) bool { return s.Name != best }) {
			seconds, bad := estimate(s.config, config.ModeRun)
			q.cost, why = q.cost+seconds, cmp.Or(why, bad)
		}
		if q.ID == federate {
			q.cost *= 1 + alone
		}
		if why != nil && i < always {
			err = why
		} else if why != nil {
			q.None = why.Error()
		}
	}
	return all, err
}

// fit decides on the first of sizes whose estimate is within the minutes.
func (p *Plan) fit(all *questions) error {
	total, c := 0.0, p.base
	for _, s := range all.Size {
		total, p.Questions, p.LeftOut = 5+s.Tune*s.Rounds*all.tune, nil, nil
		for i, q := range all.Question {
			switch {
			case q.None != "":
				p.LeftOut = append(p.LeftOut, q.ID+": "+q.None)
			case i < s.Questions:
				total, p.Questions = total+float64(s.Seeds)*s.Rounds*q.cost, append(p.Questions, q.ID)
			default:
				p.LeftOut = append(p.LeftOut, q.ID+": does not fit into the budget")
			}
		}
		if total *= safety; total > 60*p.Minutes {
			continue
		}
		times := func(n int, by float64) int { return max(1, int(math.Round(float64(n)*by))) }
		c.Rounds, c.Budget.TrialRounds = times(c.Rounds, s.Rounds), times(c.Budget.TrialRounds, s.Rounds)
		c.Budget.Rounds = max(c.Budget.TrialRounds, times(c.Budget.Rounds, s.Rounds*s.Tune))
		text, err := config.Encode(c)
		p.Seeds, p.Estimate, p.Rounds, p.Config = s.Seeds, total/60, c.Rounds, string(text)
		return err
	}
	return fmt.Errorf("--budget: the smallest plan takes about %s here: give more, or train less, such as --set rounds=%d",
		view.Simulated(total), max(1, c.Rounds/4))
}

// Describe says in lines what is known of the data, what a plan trains, and what it leaves out.
func (p *Plan) Describe() []string {
	const form = "%d clients; tuning in %s, trainings of %d of %d rounds with %d seeds; estimated: %s of %s"
	text := fmt.Sprintf(form, p.Clients, oneline.Count(p.base.Budget.Rounds, "round"), p.Rounds, p.AskedRounds, p.Seeds,
		view.Simulated(60*p.Estimate), view.Simulated(60*p.Minutes))
	left := list.Of(p.LeftOut, func(text string) string { return "left out: " + text })
	return slices.Concat(p.Notes, []string{text}, left)
}

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
	cost                float64 // seconds of its studies with one seed
}

// study is a training that is repeated with the plan's seeds, in a directory of its name.
type study struct {
	Name   string
	Sets   []string
	X      float64 // what is tried
	config *config.Config
	runs   []*result.RunResult // by seed
}

// questions are all of them, with the sizes that a plan may have: the number of seeds, of questions, and tuning and
// rounds as shares of the configuration's.
type questions struct {
	Question []question
	Size     []struct {
		Seeds, Questions int
		Tune, Rounds     float64
	}
	tune float64 // seconds of all of it
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

// questions are all of them, with the studies beside the best values.
func (p *Plan) questions() (all *questions, err error) {
	c, run := p.best, p.run(p.best, false)
	slow, buffer := p.slowSites()/float64(p.Clients), (c.Cohort+1)/2
	text, err := render("", questionTable, template.FuncMap{
		"times": func(by, x float64) float64 { return by * x },
		"half":  func(x float64) float64 { return math.Floor(x / 2) },
		"below": func(n int) float64 { return math.Pow(10, -math.Ceil(math.Log10(float64(n)))) },
	}, map[string]any{
		"p": p, "base": p.base, "c": c, "run": run, "always": always,
		"cohort": float64(c.Cohort), "clients": float64(p.Clients), "open": open, "fast": 1 - slow, "slow": slow,
		"deadline": slack * p.seconds, "buffer": buffer, "updates": run.Rounds * c.Cohort / buffer,
	})
	if err == nil {
		all = &questions{}
		_, err = toml.Decode(text, all)
	}
	return all, err
}

// studies are the studies of a question with their configurations.
func (p *Plan) studies(q *question) ([]study, error) {
	all := q.Studies
	for _, x := range q.Values {
		if x == q.Own {
			all = append(all, study{Name: best, X: x})
		} else if x > 0 {
			all = append(all, study{Name: fmt.Sprintf("%s-%v", q.ID, x), X: x, Sets: []string{fmt.Sprintf("%s=%v", q.Key, x)}})
		}
	}
	values := map[string]*config.Config{"given": p.given, "tuned": p.tuned}
	for i := range all {
		c := p.run(cmp.Or(values[all[i].Name], p.best), q.Key == "dp.epsilon")
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

// run is a configuration as it is trained once, on the network's devices; a private one without them, on which cohorts
// are not drawn at random alone.
func (p *Plan) run(c *config.Config, private bool) *config.Config {
	r := *c
	r.Rounds, r.Eval.EveryTarget = p.base.Rounds, r.Judged(config.ModeRun)
	switch {
	case private:
		if r.DP = p.base.DP; len(p.Columns) > 0 {
			r.Data.Columns = p.Columns
		}
	case p.base.Devices() != nil:
		r.Fleet, r.Time = p.base.Fleet, p.base.Time
	default:
		epoch, link := p.RoundSeconds, 1e6*p.MBPerSecond
		if epoch == 0 {
			epoch, link = 1, instant
		}
		r.Fleet.Devices, r.Fleet.Dropout = "equal", p.Dropout
		r.Fleet.SecondsPerSample = []float64{epoch / float64(p.Largest)}
		r.Fleet.Down, r.Fleet.Up = []float64{link}, []float64{link}
	}
	return &r
}
