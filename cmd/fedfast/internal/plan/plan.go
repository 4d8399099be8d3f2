// Package plan answers, before a federation is deployed, what it would else have to try out: whether
// federation pays, which hyperparameters, how many rounds, local epochs and clients, what happens when
// a site is slow, and what privacy costs. The answers come from studies in one directory, whose sizes
// are decided once, by a budget of time.
package plan

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"

	"github.com/fedfast/fedfast/data"
	"github.com/fedfast/fedfast/fl/study/config"
	"github.com/fedfast/fedfast/fl/study/workdir"
	"github.com/fedfast/fedfast/internal/key"
	"github.com/fedfast/fedfast/internal/list"
	"github.com/fedfast/fedfast/internal/sys/oneline"
	"github.com/fedfast/fedfast/internal/sys/wholefile"
)

// File has, in the directory of a plan, what was decided before anything was trained.
const File = "plan.json"

// Plan is what File holds. A copy of it in another directory gives the same bits.
type Plan struct {
	// Asked is the configuration as TOML as it was asked for, Config the same with the rounds and the
	// budget that fit; Rounds is how many were asked for.
	Asked  string `json:"asked"`
	Config string `json:"config"`
	Rounds int    `json:"rounds"`
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

	base  *config.Config
	sizes []size
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

// Write keeps the plan in a directory, which it makes if need be.
func (p *Plan) Write(dir string) error { return wholefile.WriteJSON(filepath.Join(dir, File), p) }

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
	p := &Plan{Asked: string(asked), Rounds: c.Rounds, Network: n, Minutes: minutes, base: c}
	if err := p.count(o.Data); err != nil {
		return nil, err
	}
	c.Cohort = min(c.Cohort, p.Clients)
	if b := c.Budget; !b.InRounds() || b.Rounds == 0 || b.TrialRounds == 0 {
		c.Budget = config.Budget{Rounds: 10 * c.Rounds, TrialRounds: c.Rounds}
	}
	tune, costs, err := p.price(ctx, o)
	if err == nil {
		err = p.fit(tune, costs)
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
	const both = ": tuning needs validation samples, and errors are measured on test samples; such as \"80/10/10\""
	switch {
	case p.Clients < 2:
		return &key.Error{Key: "data", Problem: ": one client; must have two, see data.client_column and data.clients"}
	case val == 0 || test == 0:
		return &key.Error{Key: "data.split", Problem: fmt.Sprintf(" = %q", p.base.Data.Split) + both}
	}
	return nil
}

// What an estimate has besides: studySeconds for opening and closing a study, safety as a factor, and alone for
// baselines, as a factor of a run.
const studySeconds, safety, alone = 0.3, 1.25, 2.5

// price estimates the seconds of tuning, and those of each question with one seed. A question that cannot be asked
// has none.
func (p *Plan) price(ctx context.Context, o workdir.Options) (tune float64, costs map[string]float64, err error) {
	estimate := func(c *config.Config, mode string) (float64, error) {
		own := o
		if c.Private() {
			own.Data = nil // it may need statistics, which have no noise
		}
		cost, err := workdir.Estimate(ctx, c, mode, own)
		return cost.Seconds + studySeconds, err
	}
	costs = map[string]float64{}
	f := &Found{plan: p, best: p.tune(), tuned: p.tune(), given: p.tune(), seconds: 1}
	tune, err = estimate(f.given, config.ModeTune)
	_, most := f.best.Ends()
	f.best.Client.Epochs, f.best.Client.Steps = most.Client.Epochs, most.Client.Steps
	all, sizes, bad := f.questions()
	p.sizes = sizes
	for i := range all {
		studies, why := f.studies(&all[i])
		if all[i].None != "" {
			why = errors.New(all[i].None)
		}
		total := 0.0
		for _, s := range list.Where(studies, func(s study) bool { return s.Name != best }) {
			seconds, bad := estimate(s.config, config.ModeRun)
			total, why = total+seconds, cmp.Or(why, bad)
		}
		if all[i].ID == federate {
			total *= 1 + alone
		}
		p.Questions = append(p.Questions, all[i].ID)
		if why == nil {
			costs[all[i].ID] = total
		} else if p.LeftOut = append(p.LeftOut, all[i].ID+": "+why.Error()); i < always {
			bad = cmp.Or(bad, why)
		}
	}
	return tune, costs, cmp.Or(err, bad)
}

// fit decides on the first of sizes whose estimate is within the minutes.
func (p *Plan) fit(tune float64, costs map[string]float64) error {
	total, c, all, left := 0.0, p.base, p.Questions, p.LeftOut
	for _, s := range p.sizes {
		total, p.Questions, p.LeftOut = 5+s.Tune*s.Rounds*tune, nil, slices.Clone(left)
		for i, id := range all {
			if cost, ok := costs[id]; ok && i < s.Questions {
				total, p.Questions = total+float64(s.Seeds)*s.Rounds*cost, append(p.Questions, id)
			} else if ok {
				p.LeftOut = append(p.LeftOut, fmt.Sprintf("%s: does not fit into %.3g minutes", id, p.Minutes))
			}
		}
		if total *= safety; total > 60*p.Minutes {
			continue
		}
		p.Seeds, p.Estimate = s.Seeds, total/60
		times := func(n int, by float64) int { return max(1, int(math.Round(float64(n)*by))) }
		c.Rounds, c.Budget.TrialRounds = times(c.Rounds, s.Rounds), times(c.Budget.TrialRounds, s.Rounds)
		c.Budget.Rounds = max(c.Budget.TrialRounds, times(c.Budget.Rounds, s.Rounds*s.Tune))
		text, err := config.Encode(c)
		p.Config = string(text)
		return err
	}
	return fmt.Errorf("--budget: %.3g minutes; the smallest plan takes about %.3g here: give more, or train less, "+
		"such as --set rounds=%d", p.Minutes, total/60, max(1, c.Rounds/4))
}

// Describe says in lines what is known of the data, what a plan trains, and what it leaves out.
func (p *Plan) Describe() []string {
	text := fmt.Sprintf("%d clients; tuning in %s, trainings of %s with %d seeds; estimated: %.3g of %v min", p.Clients,
		oneline.Count(p.base.Budget.Rounds, "round"), p.trained(), p.Seeds, p.Estimate, math.Round(1000*p.Minutes)/1000)
	left := list.Of(p.LeftOut, func(text string) string { return "left out: " + text })
	return slices.Concat(p.Notes, []string{text}, left)
}

// trained says how many rounds a training has, and of how many that were asked for.
func (p *Plan) trained() string {
	if p.Rounds > p.base.Rounds {
		return fmt.Sprintf("%d of your %d rounds", p.base.Rounds, p.Rounds)
	}
	return oneline.Count(p.base.Rounds, "round")
}
