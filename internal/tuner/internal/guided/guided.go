// Package guided is the session of a tuner that starts with random trials and then
// lets a model of their scores choose the point of each further one. Every trial
// runs to the end.
package guided

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/fedfast/fedfast/internal/list"
	"github.com/fedfast/fedfast/internal/tuner/internal/options"
	"github.com/fedfast/fedfast/internal/tuner/internal/points"
	"github.com/fedfast/fedfast/internal/tuner/internal/record"
	"github.com/fedfast/fedfast/tuners"
)

// Plan is what options and budget say.
type Plan struct {
	Initial, Trials int // random trials, and trials in all
}

// ReadPlan reads the options init, at least the given number, and trials, at most the
// given number. If init is 0 it is 10, or half of the trials where those are fewer
// than 20.
func ReadPlan(r *options.Reader, b tuners.Budget, least, most int) Plan {
	p := Plan{Initial: r.Whole("init", least, most), Trials: r.Trials(b, most)}
	p.Initial = cmp.Or(p.Initial, max(1, min(10, p.Trials/2)))
	if len(r.Problems) == 0 && p.Initial >= p.Trials {
		r.Problem("options.init", "%d random trials leave none of %d for the model: lower options.init or raise budget.rounds",
			p.Initial, p.Trials)
	}
	return p
}

// Model chooses points. What it chooses must depend only on the trials, on its
// memory and on keyed draws.
type Model interface {
	// Propose returns the points of the next n trials, fewer when the trials, the first
	// of which may be of finished studies, do not say enough yet: random points take their
	// place.
	Propose(trials []Trial, n int) ([]points.Point, error)
	// Memory is a pointer to what the model keeps in the session's state, nil for
	// none.
	Memory() any
}

// Trial is what became of one trial.
type Trial struct {
	Point points.Point `json:"point"`
	record.Outcome
}

// Value returns the score of a trial that has reported, turned so that lower is
// better; NaN when it failed.
func (t Trial) Value(o tuners.Objective) float64 {
	if o.Direction == tuners.Maximize {
		return -t.Number()
	}
	return t.Number()
}

// session runs one study. What it decides depends on the reports so far, in any
// order in which they came, and on the trials in flight.
type session struct {
	tuners.TrialsOnly
	record.Record
	Plan
	name   string
	req    tuners.OpenRequest
	model  Model
	priors []Trial // of finished studies
	state  state
}

// state is everything that calls change.
type state struct {
	Trials []Trial `json:"trials"` // by number
	Model  any     `json:"model,omitempty"`
}

// Open starts or continues the session of the tuner called name.
func Open(name string, req tuners.OpenRequest, p Plan, m Model) (tuners.Session, error) {
	s := &session{Plan: p, name: name, req: req, model: m, state: state{Model: m.Memory()}}
	for _, prior := range req.Priors {
		if prior.Whole {
			s.priors = append(s.priors, Trial{points.Of(req.Space, prior.Params), record.PriorOf(req.Aims(), prior)})
		}
	}
	s.Initial = max(0, s.Initial-len(s.priors))
	if err := s.Begin(name, req.State, &s.state); err != nil {
		return nil, err
	}
	for i, t := range s.state.Trials {
		if err := t.Point.Check(req.Space); err != nil {
			return nil, fmt.Errorf("%s: recorded state is damaged: trial %d has %w", name, i, err)
		}
	}
	return s, nil
}

// Suggest returns the random trials together, then fills the places in flight with
// proposals.
func (s *session) Suggest(_ context.Context, n int) ([]tuners.Decision, error) {
	first := len(s.state.Trials)
	flying := list.Count(s.state.Trials, func(t Trial) bool { return !t.Reported })
	free := min(max(1, n)-flying, s.Trials-first)
	var proposed []points.Point
	if first == 0 && s.Initial > 0 {
		free = s.Initial
	} else if free > 0 {
		var err error
		if proposed, err = s.model.Propose(slices.Concat(s.priors, s.state.Trials), free); err != nil {
			return nil, fmt.Errorf("%s: %w", s.name, err)
		}
	}
	out := list.Made(max(free, 0), func(i int) tuners.Decision { return s.start(first+i, proposed, i) })
	switch {
	case flying == 0 && len(out) == 0:
		return []tuners.Decision{{Kind: tuners.Done, Best: s.best()}}, nil
	case len(out) == 0:
		return []tuners.Decision{{Kind: tuners.Wait}}, nil
	}
	return out, s.Save(&s.state)
}

// start records a new trial at point i of those that were proposed, at a random one
// where they end.
func (s *session) start(trial int, proposed []points.Point, i int) tuners.Decision {
	var at points.Point
	var params tuners.Params
	if i < len(proposed) {
		at = proposed[i]
		params = at.Params(s.req.Space)
	} else {
		params = s.req.Space.Sample(tuners.NewDraws(s.req.Seed, trial, 0, "trial params"))
		at = points.Of(s.req.Space, params)
	}
	s.state.Trials = append(s.state.Trials, Trial{Point: at})
	return tuners.Decision{Kind: tuners.Start, Trial: trial, Params: params, ToRound: s.req.Budget.TrialRounds}
}

// best returns the trial of the best score, the lower number of a tie, -1 when all
// failed.
func (s *session) best() int {
	best := -1
	for i, t := range s.state.Trials {
		if t.Reported && !t.Failed && (best < 0 || t.Better(s.state.Trials[best].Outcome, s.req.Objective)) {
			best = i
		}
	}
	return best
}

// Report keeps a trial's score.
func (s *session) Report(_ context.Context, r tuners.TrialReport) error {
	if r.Trial < 0 || r.Trial >= len(s.state.Trials) || s.state.Trials[r.Trial].Reported {
		return fmt.Errorf("%s: report for trial %d, which is not running", s.name, r.Trial)
	}
	s.state.Trials[r.Trial].Outcome = record.OutcomeIn(s.req.Aims(), r)
	return s.Save(&s.state)
}
