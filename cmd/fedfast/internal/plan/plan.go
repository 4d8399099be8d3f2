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
	"strconv"

	"github.com/fedfast/fedfast/fl/study/config"
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

// size is how large the studies of a plan may be: the seeds, how many of the last questions are left out, and tuning
// and rounds as shares of the configuration's.
type size struct {
	seeds, left  int
	tune, rounds float64
}

// sizes are tried in this order: fewer seeds, less tuning, then without the last two questions, with fewer rounds,
// and without more questions, from the last one on.
func sizes() []size {
	all := []size{{5, 0, 4, 1}, {5, 0, 2, 1}, {5, 0, 1, 1}, {3, 0, 1, 1}}
	for rounds := 1.; rounds > 0.05; rounds /= 2 {
		for left := range len(questions) - always + 1 {
			if rounds < 0.5 || left <= 2 {
				all = append(all, size{3, left, 0.5, rounds})
			}
		}
	}
	return all
}

// What an estimate has besides: studySeconds for opening and closing a study, safety as a factor, and alone for
// baselines, as a factor of a run.
const studySeconds, safety, alone = 0.3, 1.25, 2.5

// New plans studies of a configuration that are estimated to fit into a number of minutes. What it
// measures of this machine decides sizes alone.
func New(ctx context.Context, c *config.Config, n Network, minutes float64, o workdir.Options) (_ *Plan, err error) {
	asked, err := config.Encode(c)
	if err == nil && c.ToGoal() {
		err = &key.Error{Key: "objective", Problem: ": a plan tunes in rounds, not to a goal; use \"error\""}
	}
	if err != nil {
		return nil, err
	}
	fed, err := config.OpenData(ctx, c)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, fed.Close()) }()
	p := &Plan{Asked: string(asked), Network: n, Minutes: minutes, base: c, Clients: len(fed.Clients), Lazy: fed.Lazy}
	if p.Clients < 2 {
		return nil, &key.Error{Key: "data", Problem: ": one client; must have two, see data.client_column and data.clients"}
	}
	for i := range fed.Clients {
		n := fed.Clients[i].Train.Len()
		p.Samples, p.Largest = p.Samples+n, max(p.Largest, n)
	}
	c.Cohort = min(c.Cohort, p.Clients)
	if b := c.Budget; !b.InRounds() || b.Rounds == 0 || b.TrialRounds == 0 {
		c.Budget = config.Budget{Rounds: 10 * c.Rounds, TrialRounds: c.Rounds}
	}
	estimate := func(c *config.Config, mode string) (float64, error) {
		own := o
		if own.Data = fed; c.Private() {
			own.Data = nil // it may need statistics, which have no noise
		}
		cost, err := workdir.Estimate(ctx, c, mode, own)
		return cost.Seconds + studySeconds, err
	}
	tune, err := estimate(p.tune(), config.ModeTune)
	f := &Found{tuned: p.tune(), given: p.tune(), seconds: 1}
	_, most := f.tuned.Ends()
	f.tuned.Client.Epochs, f.tuned.Client.Steps = most.Client.Epochs, most.Client.Steps
	var asks []question
	var cost []float64 // of a seed
	for i, q := range questions {
		studies, total, why := q.studies(p, f), 0.0, error(nil)
		if len(studies) == 0 && q.none != "" {
			why = errors.New(q.none)
		}
		for _, s := range studies {
			seconds, bad := estimate(s.config, config.ModeRun)
			total, why = total+seconds, cmp.Or(why, bad)
		}
		if i == 0 {
			total, err = total*(1+alone), errors.Join(err, why)
		}
		if why == nil {
			asks, cost = append(asks, q), append(cost, total)
		} else {
			p.LeftOut = append(p.LeftOut, q.id+": "+why.Error())
		}
	}
	total := 0.0
	for _, s := range sizes() {
		if err != nil {
			return nil, err
		}
		p.Questions, total = nil, 5+s.tune*s.rounds*tune
		left := slices.Clone(p.LeftOut)
		for i, q := range asks {
			if slices.ContainsFunc(questions[:len(questions)-s.left], func(other question) bool { return other.id == q.id }) {
				p.Questions = append(p.Questions, q.id)
				total += float64(s.seeds) * s.rounds * cost[i]
			} else {
				left = append(left, fmt.Sprintf("%s: does not fit into %.3g minutes", q.id, minutes))
			}
		}
		if total *= safety; total > 60*minutes {
			continue
		}
		p.Seeds, p.LeftOut, p.Estimate = s.seeds, left, round2(total/60)
		times := func(n int, by float64) int { return max(1, int(math.Round(float64(n)*by))) }
		c.Rounds, c.Budget.TrialRounds = times(c.Rounds, s.rounds), times(c.Budget.TrialRounds, s.rounds)
		c.Budget.Rounds = max(c.Budget.TrialRounds, times(c.Budget.Rounds, s.rounds*s.tune))
		text, err := config.Encode(c)
		p.Config = string(text)
		return p, err
	}
	return nil, fmt.Errorf("--budget: %.3g minutes; the smallest plan takes about %v here: give more, or train less, "+
		"such as --set rounds=%d", minutes, round2(total/60), max(1, c.Rounds/4))
}

// Describe says what a plan trains.
func (p *Plan) Describe() string {
	return fmt.Sprintf("%d clients; tuning in %d rounds, trainings of %d rounds with %d seeds; estimated: %v of %v min",
		p.Clients, p.base.Budget.Rounds, p.base.Rounds, p.Seeds, p.Estimate, p.Minutes)
}

// round2 leaves two digits of a number.
func round2(x float64) float64 {
	y, _ := strconv.ParseFloat(strconv.FormatFloat(x, 'g', 2, 64), 64) // its own text
	return y
}
