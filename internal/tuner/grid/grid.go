// Package grid is the built-in tuner `grid`: grid search. It crosses all values of
// the choices and of the whole dimensions with evenly spaced points of the real
// ones, and trains each combination for budget.trial_rounds rounds. The order is
// fixed, so it draws nothing.
package grid

import (
	"github.com/fedfast/fedfast/internal/tuner/internal/batch"
	"github.com/fedfast/fedfast/internal/tuner/internal/options"
	"github.com/fedfast/fedfast/tuners"
)

// maxPoints bounds the points option: a dimension with more is not searched by a
// grid.
const maxPoints = 1_000_000

// Tuner is grid search.
var Tuner = options.Tuner[plan]{About: tuners.Description{
	Name:    "grid",
	Version: "1.0.0",
	Doc:     "Grid search: trains every combination of choices, integers and evenly spaced points of real dimensions for budget.trial_rounds rounds.",
	Options: []tuners.Option{
		{Name: "points", Default: tuners.Num(3), Doc: "points per real dimension, end to end on its scale; 1: the middle"},
	},
	Trials:  true,
	Seconds: true,
}, Plan: newPlan, Study: open}

// plan is the number of points per real dimension, and of all trials.
type plan struct{ points, trials int }

func newPlan(r *options.Reader, req tuners.ValidateRequest) plan {
	b, points := req.Budget, r.Whole("points", 1, maxPoints)
	r.TrialRounds(b)
	if len(r.Problems) > 0 {
		return plan{}
	}
	fit := max(0, b.Rounds/b.TrialRounds)
	trials, all := Count(req.Space, points, fit)
	switch {
	case !all && fit == 0:
		r.Problem("budget.rounds", "budget.rounds = %d is less than one trial of %d rounds (budget.trial_rounds)", b.Rounds, b.TrialRounds)
	case !all:
		r.Problem("budget.rounds", "only %d trials of %d rounds fit into %d rounds, but the grid has %s: raise budget.rounds, lower options.points or narrow the space",
			fit, b.TrialRounds, b.Rounds, size(req.Space, points))
	}
	return plan{points, trials}
}

func open(req tuners.OpenRequest, p plan) (tuners.Session, error) {
	return batch.Open("grid", req, p.trials, func(trial int) tuners.Params { return Point(req.Space, p.points, trial) })
}
