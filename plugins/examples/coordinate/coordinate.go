package main

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/fedfast/fedfast/tuners"
)

// coordinate is random coordinate search: the first trial is drawn from the space;
// each later one changes one dimension of the best point so far, in turn, and
// replaces it when it scores better.
type coordinate struct{}

var description = tuners.Description{
	Name:    "coordinate",
	Version: "0.1.0",
	Doc:     "Coordinate search: changes one dimension of the best trial at a time.",
	Options: []tuners.Option{{Name: "reach", Default: tuners.Num(0.3), Doc: "step of a dimension, as a fraction of its range, 0..1"}},
	Trials:  true,
}

// Describe says what the tuner is.
func (coordinate) Describe(context.Context) (tuners.Description, error) { return description, nil }

// Validate checks the option and the budget.
func (coordinate) Validate(_ context.Context, req tuners.ValidateRequest) ([]tuners.Problem, error) {
	problems := description.CheckOptions(req.Options)
	if reach := req.Options.Float("reach", 0.3); !(reach > 0 && reach <= 1) {
		problems = append(problems, tuners.Problem{Key: "options.reach", Message: fmt.Sprintf("reach must be greater than 0 and at most 1, not %v", reach)})
	}
	if req.Budget.TrialRounds < 1 || req.Budget.Rounds < req.Budget.TrialRounds {
		problems = append(problems, tuners.Problem{Key: "budget.rounds", Message: "the budget is less than one trial"})
	}
	return problems, nil
}

// Open starts a study, or continues one.
func (coordinate) Open(_ context.Context, req tuners.OpenRequest) (tuners.Session, error) {
	s := &session{req: req, state: state{Best: -1}}
	if req.State != nil {
		return s, json.Unmarshal(req.State, &s.state)
	}
	return s, nil
}

// state is all that a session knows; draws are keyed by the trial, so no generator
// is part of it.
type state struct {
	Next    int           // number of the next trial
	Running bool          // trial Next-1 has not reported
	Trial   tuners.Params // of trial Next-1
	Best    int
	Score   float64
	Point   tuners.Params // of the best trial
}

type session struct {
	tuners.TrialsOnly
	req   tuners.OpenRequest
	state state
}

// Suggest starts one trial at a time, as each depends on the one before.
func (s *session) Suggest(context.Context, int) ([]tuners.Decision, error) {
	st := &s.state
	if st.Running {
		return []tuners.Decision{{Kind: tuners.Wait}}, nil
	}
	if st.Next == s.req.Budget.Rounds/s.req.Budget.TrialRounds {
		return []tuners.Decision{{Kind: tuners.Done, Best: st.Best}}, nil
	}
	draws := tuners.NewDraws(s.req.Seed, st.Next, 0, "coordinate")
	point := s.req.Space.Sample(draws)
	if st.Best >= 0 {
		point = st.Point.Clone()
		dim := s.req.Space[st.Next%len(s.req.Space)]
		point[dim.Name] = dim.Perturb(point[dim.Name], s.req.Options.Float("reach", 0.3), draws.Float64())
	}
	d := tuners.Decision{Kind: tuners.Start, Trial: st.Next, Params: point, ToRound: s.req.Budget.TrialRounds}
	st.Next, st.Running, st.Trial = st.Next+1, true, point
	return []tuners.Decision{d}, nil
}

// Report keeps the better point.
func (s *session) Report(_ context.Context, r tuners.TrialReport) error {
	st := &s.state
	st.Running = false
	if !r.Failed && (st.Best < 0 || s.req.Objective.Better(r.Score, st.Score)) {
		st.Best, st.Score, st.Point = r.Trial, r.Score, st.Trial
	}
	return nil
}

// State returns everything that Open needs to go on.
func (s *session) State() []byte {
	b, err := json.Marshal(s.state)
	if err != nil {
		panic(err) // the host starts a crashed tuner again from the state before
	}
	return b
}
