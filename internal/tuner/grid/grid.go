// Package grid is the built-in tuner `grid`: grid search. It crosses all values of
// the choices and of the whole dimensions with evenly spaced points of the real
// ones, and trains each combination for budget.trial_rounds rounds. The order is
// fixed, so it draws nothing.
package grid

import (
	"context"

	"github.com/fedfast/fedfast/internal/tuner/internal/batch"
	"github.com/fedfast/fedfast/internal/tuner/internal/options"
	"github.com/fedfast/fedfast/tuners"
)

// maxPoints bounds the points option: a dimension with more is not searched by a
// grid.
const maxPoints = 1_000_000

// Tuner is grid search. The zero value is ready to use.
type Tuner struct{}

var _ tuners.Tuner = Tuner{}

// Describe says what grid search is.
func (Tuner) Describe(context.Context) (tuners.Description, error) { return description, nil }

var description = tuners.Description{
	Name:    "grid",
	Version: "1.0.0",
	Doc:     "Grid search: trains every combination of choices, integers and evenly spaced points of real dimensions for budget.trial_rounds rounds.",
	Options: []tuners.Option{
		{Name: "points", Default: tuners.Num(3), Doc: "points per real dimension, end to end on its scale; 1: the middle"},
	},
	Trials:  true,
	Seconds: true,
}

// Validate checks the options and that the budget pays for the whole grid.
func (Tuner) Validate(_ context.Context, req tuners.ValidateRequest) ([]tuners.Problem, error) {
	_, _, problems := plan(req.Space, req.Options, req.Budget)
	return problems, nil
}

// Open starts a study's session.
func (Tuner) Open(_ context.Context, req tuners.OpenRequest) (tuners.Session, error) {
	points, trials, problems := plan(req.Space, req.Options, req.Budget)
	if err := options.Open("grid", req.Trial, problems); err != nil {
		return nil, err
	}
	return batch.Open("grid", req, trials, func(trial int) tuners.Params { return Point(req.Space, points, trial) })
}

// plan reads the options and counts the trials.
func plan(space tuners.Space, given tuners.Params, b tuners.Budget) (points, trials int, problems []tuners.Problem) {
	r := options.Read(description, given)
	points = r.Whole("points", 1, maxPoints)
	if b.TrialRounds < 1 {
		r.Problem("budget.trial_rounds", "a trial needs at least 1 round, not %d", b.TrialRounds)
	}
	if len(r.Problems) > 0 {
		return 0, 0, r.Problems
	}
	fit := max(0, b.Rounds/b.TrialRounds)
	trials, all := Count(space, points, fit)
	switch {
	case !all && fit == 0:
		r.Problem("budget.rounds", "budget.rounds = %d is less than one trial of %d rounds (budget.trial_rounds)", b.Rounds, b.TrialRounds)
	case !all:
		r.Problem("budget.rounds", "only %d trials of %d rounds fit into %d rounds, but the grid has %s: raise budget.rounds, lower options.points or narrow the space",
			fit, b.TrialRounds, b.Rounds, size(space, points))
	}
	return points, trials, r.Problems
}
