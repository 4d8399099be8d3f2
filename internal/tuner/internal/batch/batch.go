// Package batch is the session of a tuner whose trials depend on nothing: they are
// started at once, each runs to the end, and the best score wins.
package batch

import (
	"context"
	"fmt"

	"github.com/fedfast/fedfast/internal/tuner/internal/record"
	"github.com/fedfast/fedfast/tuners"
)

// Open starts or continues the session of the tuner called name: the given number
// of trials of budget.trial_rounds rounds, with the params that point returns for
// each trial's number.
func Open(name string, req tuners.OpenRequest, trials int, point func(trial int) tuners.Params) (tuners.Session, error) {
	if req.Budget.TrialRounds < 1 {
		return nil, fmt.Errorf("%s: budget.trial_rounds: a trial needs at least 1 round, not %d", name, req.Budget.TrialRounds)
	}
	s := &session{name: name, req: req, trials: trials, point: point, state: state{Best: -1}}
	return s, s.Begin(name, req.State, &s.state)
}

// Lone starts or continues the study session of the client tuner called name
// without a wrapper: one trial, drawn from the space.
func Lone(name string, req tuners.OpenRequest) (tuners.Session, error) {
	return Open(name, req, 1, func(int) tuners.Params {
		return req.Space.Sample(tuners.NewDraws(req.Seed, 0, 0, "trial params"))
	})
}

// state is everything that calls change.
type state struct {
	Started  int     `json:"started"` // trials
	Reported int     `json:"reported"`
	Best     int     `json:"best"` // -1: none yet
	Score    float64 `json:"score"`
	// Violation is what Best exceeds constraints by.
	Violation float64 `json:"violation,omitempty"`
}

type session struct {
	tuners.TrialsOnly
	record.Record
	name   string
	req    tuners.OpenRequest
	trials int
	point  func(trial int) tuners.Params
	state  state
}

// Suggest returns every trial at once, or as many as one answer may hold: none
// depends on another.
func (s *session) Suggest(context.Context, int) ([]tuners.Decision, error) {
	switch first := s.state.Started; {
	case first < s.trials && first == s.state.Reported:
		decisions := make([]tuners.Decision, min(s.trials-first, tuners.MaxDecisions))
		for i := range decisions {
			trial := first + i
			decisions[i] = tuners.Decision{Kind: tuners.Start, Trial: trial, ToRound: s.req.Budget.TrialRounds, Params: s.point(trial)}
		}
		s.state.Started += len(decisions)
		return decisions, s.Save(&s.state)
	case s.state.Reported < s.trials:
		return []tuners.Decision{{Kind: tuners.Wait}}, nil
	}
	return []tuners.Decision{{Kind: tuners.Done, Best: s.state.Best}}, nil
}

// Report keeps the best score; ties keep the lower trial number.
func (s *session) Report(_ context.Context, r tuners.TrialReport) error {
	if r.Trial < 0 || r.Trial >= s.state.Started || s.state.Reported >= s.state.Started {
		return fmt.Errorf("%s: report for trial %d, which is not running", s.name, r.Trial)
	}
	s.state.Reported++
	if o := record.OutcomeIn(s.req.Aims(), r); !o.Failed {
		best := record.Outcome{Score: s.state.Score, Violation: s.state.Violation}
		tie := s.state.Best > r.Trial && o.Score == best.Score && o.Violation == best.Violation
		if s.state.Best < 0 || o.Better(best, s.req.Objective) || tie {
			s.state.Best, s.state.Score, s.state.Violation = r.Trial, o.Score, o.Violation
		}
	}
	return s.Save(&s.state)
}
