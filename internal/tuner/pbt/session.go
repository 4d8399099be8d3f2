package pbt

import (
	"context"
	"fmt"
	"slices"

	"github.com/fedfast/fedfast/internal/list"
	"github.com/fedfast/fedfast/internal/tuner/internal/record"
	"github.com/fedfast/fedfast/internal/tuner/sha"
	"github.com/fedfast/fedfast/tuners"
)

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
