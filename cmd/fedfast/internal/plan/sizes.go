package plan

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/fedfast/fedfast/fl/study/config"
	"github.com/fedfast/fedfast/fl/study/workdir"
	"github.com/fedfast/fedfast/internal/key"
)

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
				left = append(left, fmt.Sprintf("%s: does not fit into %v minutes", q.id, minutes))
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
	return nil, fmt.Errorf("--budget: %v minutes; the smallest plan takes about %v here: give more, or train less, "+
		"such as --set rounds=%d", minutes, round2(total/60), max(1, c.Rounds/4))
}

// Describe says what a plan trains.
func (p *Plan) Describe() string {
	return fmt.Sprintf("%d clients; tuning in %d rounds, trainings of %d rounds with %d seeds; estimated: %v of %v min",
		p.Clients, p.base.Budget.Rounds, p.base.Rounds, p.Seeds, p.Estimate, p.Minutes)
}
