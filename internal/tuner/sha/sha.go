// Package sha is the built-in tuner `sha`: successive halving. It starts eta^R
// trials, stops all but a share 1/eta of them at each of R rungs, and runs the last
// one on to budget.trial_rounds, spending budget.rounds in all; see Rungs for the
// arithmetic.
package sha

import (
	"context"
	"fmt"
	"slices"

	"github.com/fedfast/fedfast/internal/list"
	"github.com/fedfast/fedfast/internal/tuner/internal/options"
	"github.com/fedfast/fedfast/internal/tuner/internal/points"
	"github.com/fedfast/fedfast/internal/tuner/internal/record"
	"github.com/fedfast/fedfast/tuners"
)

// Tuner is successive halving.
var Tuner = options.Tuner[Bracket]{About: options.About("sha"), Plan: plan, Study: open}

func open(req tuners.OpenRequest, b Bracket) (tuners.Session, error) {
	return Open("sha", req, []Bracket{b}, nil)
}

// plan reads the options and computes the bracket: eta^eliminations arms, of which
// one in eta goes on at each rung.
func plan(r *options.Reader, req tuners.ValidateRequest) Bracket {
	eta, eliminations := r.Whole("eta", 2, maxArms), r.Whole("eliminations", 1, maxArms)
	if len(r.Problems) > 0 {
		return Bracket{}
	}
	rungs, key, err := Rungs(req.Budget.Rounds, req.Budget.TrialRounds, eta, eliminations)
	if err != nil {
		r.Problem(key, "%v", err)
		return Bracket{}
	}
	b := Bracket{Rungs: rungs, Arms: make([]int, len(rungs))}
	arms := 1
	for i := range slices.Backward(rungs) {
		b.Arms[i] = arms
		arms *= eta
	}
	return b
}

// Bracket is one run of successive halving: Arms[i] trials run until they have run
// Rungs[i] rounds, then the best Arms[i+1] go on.
type Bracket struct {
	Arms, Rungs []int
}

// Cost is the number of rounds that the bracket takes when no trial fails.
func (b Bracket) Cost() int {
	cost, at := 0, 0
	for i, r := range b.Rungs {
		cost += b.Arms[i] * (r - at)
		at = r
	}
	return cost
}

// Guide proposes params of new trials and learns from scores. What it proposes must
// depend only on its memory and on keyed draws.
type Guide interface {
	// Propose returns the point of a new trial; nil leaves it to chance.
	Propose(trial int) points.Point
	// Learn tells how a trial at a point did at a rung, or on the way to it.
	Learn(at points.Point, rung int, r tuners.TrialReport)
	// Memory is a pointer to what the guide keeps in the session's state.
	Memory() any
}

// session runs one study. Without a guide its params are keyed draws, so the state
// holds the arms of the running rung only.
type session struct {
	tuners.TrialsOnly
	record.Record
	name     string
	req      tuners.OpenRequest
	schedule []Bracket
	guide    Guide
	state    state
}

// state is everything that calls change.
type state struct {
	Bracket int     `json:"bracket"` // index into the schedule
	Stage   int     `json:"stage"`   // index into the bracket's rungs
	Next    int     `json:"next"`    // number of the next trial
	Running bool    `json:"running"` // the stage's decisions are out
	Arms    []arm   `json:"arms"`    // of the stage, by trial number
	Best    int     `json:"best"`    // the best trial that ended a bracket, -1: none yet
	Score   float64 `json:"score"`   // of Best
	Guide   any     `json:"guide,omitempty"`
}

// arm is one trial of the running stage.
type arm struct {
	Trial int          `json:"trial"`
	Point points.Point `json:"point,omitempty"` // with a guide
	record.Outcome
}

// Open starts or continues the session of the tuner called name, which runs the
// brackets of a schedule one after the other. The guide may be nil.
func Open(name string, req tuners.OpenRequest, schedule []Bracket, g Guide) (tuners.Session, error) {
	s := &session{name: name, req: req, schedule: schedule, guide: g, state: state{Best: -1}}
	if g != nil {
		s.state.Guide = g.Memory()
	}
	if req.State == nil {
		s.draft()
	}
	return s, s.Begin(name, req.State, &s.state)
}

// draft gives the current bracket its new trials.
func (s *session) draft() {
	s.state.Arms = make([]arm, s.schedule[s.state.Bracket].Arms[0])
	for i := range s.state.Arms {
		s.state.Arms[i].Trial = s.state.Next
		s.state.Next++
	}
}

// Suggest returns all trials of a rung together: they depend on no outstanding
// report.
func (s *session) Suggest(context.Context, int) ([]tuners.Decision, error) {
	var out []tuners.Decision
	if s.state.Running {
		if slices.ContainsFunc(s.state.Arms, func(a arm) bool { return !a.Reported }) {
			return []tuners.Decision{{Kind: tuners.Wait}}, nil
		}
		out = s.closeStage()
	}
	if s.state.Bracket == len(s.schedule) {
		return append(out, tuners.Decision{Kind: tuners.Done, Best: s.state.Best}), s.Save(&s.state)
	}
	to := s.schedule[s.state.Bracket].Rungs[s.state.Stage]
	for i := range s.state.Arms {
		d := tuners.Decision{Kind: tuners.Resume, Trial: s.state.Arms[i].Trial, ToRound: to}
		if s.state.Stage == 0 {
			d.Kind, d.Params = tuners.Start, s.params(&s.state.Arms[i])
		}
		out = append(out, d)
	}
	s.state.Running = true
	return out, s.Save(&s.state)
}

// params returns the params of a new arm, and notes its point for the guide.
func (s *session) params(a *arm) tuners.Params {
	if s.guide != nil {
		if a.Point = s.guide.Propose(a.Trial); a.Point != nil {
			return a.Point.Params(s.req.Space)
		}
	}
	p := s.req.Space.Sample(tuners.NewDraws(s.req.Seed, a.Trial, 0, "trial params"))
	if s.guide != nil {
		a.Point = points.Of(s.req.Space, p)
	}
	return p
}

// closeStage lets the best go on, see [Keep]. A bracket that is over, or whose arms
// all failed, is followed by the next.
func (s *session) closeStage() []tuners.Decision {
	b := s.schedule[s.state.Bracket]
	last := s.state.Stage == len(b.Rungs)-1
	keep := 1
	if !last {
		keep = b.Arms[s.state.Stage+1]
	}
	scores := list.Of(s.state.Arms, func(a arm) float64 { return a.Number() })
	kept := Keep(s.req.Objective, scores, keep)
	var out []tuners.Decision
	stop := func(trial int) {
		out = append(out, tuners.Decision{Kind: tuners.Stop, Trial: trial}, tuners.Decision{Kind: tuners.Release, Trial: trial})
	}
	var next []arm
	for i, a := range s.state.Arms {
		switch {
		case !slices.Contains(kept, i):
			stop(a.Trial)
		case !last:
			next = append(next, arm{Trial: a.Trial, Point: a.Point})
		case s.state.Best < 0 || s.req.Objective.Better(a.Score, s.state.Score): // ties keep the earlier bracket's
			if s.state.Best >= 0 {
				stop(s.state.Best)
			}
			s.state.Best, s.state.Score = a.Trial, a.Score
		default:
			stop(a.Trial)
		}
	}
	s.state.Arms, s.state.Running = next, false
	if s.state.Stage++; len(next) == 0 {
		s.state.Stage = 0
		if s.state.Bracket++; s.state.Bracket < len(s.schedule) {
			s.draft()
		}
	}
	return out
}

// Report keeps an arm's score.
func (s *session) Report(_ context.Context, r tuners.TrialReport) error {
	i := slices.IndexFunc(s.state.Arms, func(a arm) bool { return a.Trial == r.Trial })
	if i < 0 || !s.state.Running || s.state.Arms[i].Reported {
		return fmt.Errorf("%s: report for trial %d, which is not running", s.name, r.Trial)
	}
	a := &s.state.Arms[i]
	a.Outcome = record.OutcomeOf(r)
	if s.guide != nil {
		s.guide.Learn(a.Point, s.schedule[s.state.Bracket].Rungs[s.state.Stage], r)
	}
	return s.Save(&s.state)
}
