package main

import (
	"context"
	"encoding/json"

	"github.com/fedfast/fedfast/plugins"
	"github.com/fedfast/fedfast/tuners"
)

func init() { must(plugins.Register(enough{})) }

// enough draws trials, one after the other, until one is good enough or the rounds are
// spent.
type enough struct{}

var about = tuners.Description{
	Name: "enough", Version: "1", Doc: "Draws trials one after the other until one scores better than goal.", Trials: true,
	Options: []tuners.Option{{Name: "goal", Default: tuners.Num(0.1), Doc: "score that is good enough"}},
}

func (enough) Describe(context.Context) (tuners.Description, error) { return about, nil }

func (enough) Validate(_ context.Context, r tuners.ValidateRequest) ([]tuners.Problem, error) {
	return about.CheckOptions(r.Options), nil
}

// Open begins a session, or continues one from its state.
func (enough) Open(_ context.Context, r tuners.OpenRequest) (tuners.Session, error) {
	s := &search{Best: -1, req: r, goal: about.WithDefaults(r.Options).Float("goal", 0)}
	if r.State != nil {
		return s, json.Unmarshal(r.State, s)
	}
	return s, nil
}

// search is a session. Its exported fields are all that it must know to go on.
type search struct {
	tuners.TrialsOnly `json:"-"`
	req               tuners.OpenRequest
	goal              float64

	Next    int // number of the next trial
	Running bool
	Best    int // -1 before any has a score
	Score   float64
}

func (s *search) Suggest(context.Context, int) ([]tuners.Decision, error) {
	if s.Running {
		return []tuners.Decision{{Kind: tuners.Wait}}, nil
	}
	most := s.req.Budget.Rounds / s.req.Budget.TrialRounds
	if s.Next == most || s.Best >= 0 && s.req.Objective.Better(s.Score, s.goal) {
		return []tuners.Decision{{Kind: tuners.Done, Best: s.Best}}, nil
	}
	params := s.req.Space.Sample(tuners.NewDraws(s.req.Seed, s.Next, 0, "enough"))
	d := tuners.Decision{Kind: tuners.Start, Trial: s.Next, Params: params, ToRound: s.req.Budget.TrialRounds}
	s.Next, s.Running = s.Next+1, true
	return []tuners.Decision{d}, nil
}

func (s *search) Report(_ context.Context, r tuners.TrialReport) error {
	if s.Running = false; !r.Failed && (s.Best < 0 || s.req.Objective.Better(r.Score, s.Score)) {
		s.Best, s.Score = r.Trial, r.Score
	}
	return nil
}

// State returns everything that Open needs to go on.
func (s *search) State() []byte {
	state, err := json.Marshal(s)
	if err != nil {
		panic(err) // the host starts a crashed tuner again from the state before
	}
	return state
}
