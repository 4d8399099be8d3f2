// Package pbt is the built-in tuner `pbt`: population based training (Jaderberg et
// al., 2017). A population of trials trains side by side; every few rounds the
// worst are replaced by exact copies of the best (exploit), whose hyperparameters
// are then changed a little (explore). So the hyperparameters of the surviving line
// are a schedule over the rounds, not one point.
package pbt

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/fedfast/fedfast/internal/list"
	"github.com/fedfast/fedfast/internal/tuner/internal/options"
	"github.com/fedfast/fedfast/internal/tuner/internal/record"
	"github.com/fedfast/fedfast/internal/tuner/sha"
	"github.com/fedfast/fedfast/tuners"
)

// Tuner is population based training.
var Tuner = options.Tuner[plan]{About: options.About("pbt"), Plan: newPlan, Study: newSession}

// plan is what the options and the budget say.
type plan struct {
	population int
	interval   int // rounds
	replaced   int // trials at each comparison
	factor     float64
	resample   float64
}

func newPlan(r *options.Reader, req tuners.ValidateRequest) plan {
	b := req.Budget
	p := plan{
		population: r.Whole("population", 0, 10_000),
		interval:   r.Whole("interval", 0, 1_000_000),
		factor:     r.Real("factor", "greater than 1", func(x float64) bool { return x > 1 && x < 1e6 }),
		resample:   r.Share("resample"),
	}
	quantile := r.Real("quantile", "greater than 0 and at most 0.5", func(x float64) bool { return x > 0 && x <= 0.5 })
	if !r.TrialRounds(b) {
		return p
	}
	affordable := b.Rounds / b.TrialRounds
	switch {
	case affordable < 2:
		r.Problem("budget.rounds", "a population needs at least 2 trials of %d rounds: budget.rounds must be at least %d, not %d", b.TrialRounds, 2*b.TrialRounds, b.Rounds)
	case p.population == 0:
		p.population = affordable
	case p.population < 2 || p.population > affordable:
		r.Problem("options.population", "population must be from 2 to %d, the most that budget.rounds = %d allows, not %d", affordable, b.Rounds, p.population)
	}
	p.interval = cmp.Or(p.interval, max(1, b.TrialRounds/10))
	p.replaced = max(1, int(float64(quantile*float64(p.population))))
	return p
}

// session runs one study.
type session struct {
	tuners.TrialsOnly
	record.Record
	req   tuners.OpenRequest
	plan  plan
	state state
}

// state is everything that calls change. A member's hyperparameters are kept, for
// they are no longer a draw after the first copy.
type state struct {
	Round   int      `json:"round"` // that the population has been sent to
	Trials  int      `json:"trials"`
	Members []member `json:"members"` // in the order of their trials' numbers
}

// member is a trial of the population.
type member struct {
	Trial  int           `json:"trial"`
	Params tuners.Params `json:"params"`
	record.Outcome
}

func newSession(req tuners.OpenRequest, p plan) (tuners.Session, error) {
	s := &session{req: req, plan: p}
	return s, s.Begin("pbt", req.State, &s.state)
}

// Suggest sends the whole population on together. Between two stretches it replaces
// the worst by changed copies of the best.
func (s *session) Suggest(context.Context, int) ([]tuners.Decision, error) {
	st := &s.state
	if slices.ContainsFunc(st.Members, func(m member) bool { return !m.Reported }) {
		return []tuners.Decision{{Kind: tuners.Wait}}, nil
	}
	last := s.req.Budget.TrialRounds
	if st.Round == last {
		best := -1
		if ranked := s.rank(); len(ranked) > 0 {
			best = st.Members[ranked[0]].Trial
		}
		return []tuners.Decision{{Kind: tuners.Done, Best: best}}, nil
	}
	from := st.Round
	st.Round = min(st.Round+s.plan.interval, last)
	if from == 0 {
		return s.start(), s.Save(&s.state)
	}
	ranked := s.rank()
	if len(ranked) == 0 { // nothing is left to copy
		st.Round = last
		return []tuners.Decision{{Kind: tuners.Done, Best: -1}}, s.Save(&s.state)
	}
	out := s.exploit(ranked, from)
	for i, m := range st.Members {
		if m.Reported {
			st.Members[i] = member{Trial: m.Trial, Params: m.Params}
			out = append(out, tuners.Decision{Kind: tuners.Resume, Trial: m.Trial, ToRound: st.Round})
		}
	}
	return out, s.Save(&s.state)
}

// start draws the population.
func (s *session) start() []tuners.Decision {
	var out []tuners.Decision
	for i := range s.plan.population {
		p := s.req.Space.Sample(tuners.NewDraws(s.req.Seed, i, 0, "trial params"))
		s.state.Members = append(s.state.Members, member{Trial: i, Params: p})
		out = append(out, tuners.Decision{Kind: tuners.Start, Trial: i, Params: p, ToRound: s.state.Round})
	}
	s.state.Trials = s.plan.population
	return out
}

// exploit forks a trial of the best for each of the worst, which it stops. Failed
// trials are always among the worst. The copies stand at the end of the members,
// not yet reported.
func (s *session) exploit(ranked []int, round int) []tuners.Decision {
	st := &s.state
	failed := len(st.Members) - len(ranked)
	n := min(max(s.plan.replaced, failed), len(st.Members)-1)
	best := ranked[:min(s.plan.replaced, len(ranked), len(st.Members)-n)]
	stays := ranked[:len(st.Members)-n]
	var forks, stops []tuners.Decision
	var next, copies []member
	for i, m := range st.Members {
		if slices.Contains(stays, i) {
			next = append(next, m)
			continue
		}
		stops = append(stops, tuners.Decision{Kind: tuners.Stop, Trial: m.Trial}, tuners.Decision{Kind: tuners.Release, Trial: m.Trial})
		draws := tuners.NewDraws(s.req.Seed, st.Trials, round, "pbt copy")
		source := st.Members[best[draws.IntN(len(best))]]
		c := member{Trial: st.Trials, Params: explore(s.req.Space, source.Params, s.plan, draws)}
		st.Trials++
		copies = append(copies, c)
		forks = append(forks, tuners.Decision{Kind: tuners.Fork, Trial: c.Trial, Source: source.Trial, Params: c.Params, ToRound: st.Round})
	}
	st.Members = slices.Concat(next, copies)
	return append(forks, stops...)
}

// rank returns the indices of the members from the best to the worst, without those
// that failed.
func (s *session) rank() []int {
	scores := list.Of(s.state.Members, func(m member) float64 { return m.Number() })
	return sha.Rank(s.req.Objective, scores)
}

// Report keeps a member's score.
func (s *session) Report(_ context.Context, r tuners.TrialReport) error {
	i := slices.IndexFunc(s.state.Members, func(m member) bool { return m.Trial == r.Trial })
	if i < 0 || s.state.Members[i].Reported {
		return fmt.Errorf("pbt: report for trial %d, which is not running", r.Trial)
	}
	s.state.Members[i].Outcome = record.OutcomeOf(r)
	return s.Save(&s.state)
}

// explore returns the hyperparameters of a copy: each of the source's is drawn anew
// with probability resample, else changed a little; see change. It takes the same
// number of draws for any outcome.
func explore(space tuners.Space, source tuners.Params, p plan, draws *tuners.Draws) tuners.Params {
	out := make(tuners.Params, len(space))
	for _, d := range space {
		anew, u := draws.Float64() < p.resample, draws.Float64()
		v, ok := source[d.Name]
		if anew || !ok {
			out[d.Name] = d.Sample(u)
		} else {
			out[d.Name] = change(d, v, p.factor, u < 0.5)
		}
	}
	return out
}

// change moves a value up or down and clips it to its dimension: a real one by a
// factor (for 1 - 10^s it is the distance from 1 that is multiplied), a whole one
// by 1, an exponent of two by 1. A choice stays.
func change(d tuners.Dim, v tuners.Value, factor float64, up bool) tuners.Value {
	sign := -1.0
	if up {
		sign = 1
	} else {
		factor = 1 / factor
	}
	x, _ := v.Float()
	switch {
	case d.Kind == tuners.Choice:
		return v
	case d.Whole():
		return d.Value(min(max(d.Scale(v)+sign, d.Lo), d.Hi))
	case d.Kind == tuners.Log10OneMinus:
		x = 1 - float64((1-x)*factor)
	default:
		x = float64(x * factor)
	}
	return d.Value(d.Scale(tuners.Num(x)))
}
