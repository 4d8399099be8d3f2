// Package grid is the built-in tuner `grid`: grid search. It crosses all values of
// the choices and of the whole dimensions with evenly spaced points of the real
// ones, and trains each combination for budget.trial_rounds rounds. The order is
// fixed, so it draws nothing.
package grid

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/fedfast/fedfast/internal/tuner/internal/batch"
	"github.com/fedfast/fedfast/internal/tuner/internal/options"
	"github.com/fedfast/fedfast/tuners"
)

// maxPoints bounds the points option: a dimension with more is not searched by a
// grid.
const maxPoints = 1_000_000

// Tuner is grid search.
var Tuner = options.Tuner[plan]{About: options.About("grid"), Plan: newPlan, Study: open}

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

// Count returns how many points the grid has, with the given number of points per
// real dimension. When there are more than limit it says so with all = false and
// returns limit.
func Count(space tuners.Space, points, limit int) (n int, all bool) {
	n = 1
	for _, d := range space {
		k := axis(d, points)
		if k > float64(limit) || n > limit/int(k) {
			return limit, false
		}
		n *= int(k)
	}
	return n, n <= limit
}

// Point returns point i of the grid, from 0. Dimensions stand in the order of their
// names and the last one changes fastest; real dimensions go from Lo to Hi in equal
// steps of the drawn scale, a single point is the middle.
func Point(space tuners.Space, points, i int) tuners.Params {
	p := make(tuners.Params, len(space))
	for _, d := range slices.Backward(space) {
		k := int(axis(d, points))
		p[d.Name] = value(d, k, i%k)
		i /= k
	}
	return p
}

// axis is the number of grid points of a dimension; whole dimensions may have more
// than an int holds.
func axis(d tuners.Dim, points int) float64 {
	switch {
	case d.Kind == tuners.Choice:
		return float64(len(d.Choices))
	case d.Whole():
		return d.Hi - d.Lo + 1
	case d.Lo == d.Hi:
		return 1
	}
	return float64(points)
}

// value returns point i of k of a dimension.
func value(d tuners.Dim, k, i int) tuners.Value {
	switch {
	case d.Kind == tuners.Choice:
		return d.Choices[i]
	case d.Whole():
		return d.Value(d.Lo + float64(i))
	case d.Lo == d.Hi:
		return d.Value(d.Lo)
	case k == 1:
		return d.Value(float64(d.Lo/2) + float64(d.Hi/2))
	case i == k-1:
		return d.Value(d.Hi)
	}
	return d.Value(d.Lo + float64(float64(d.Hi-d.Lo)*float64(i))/float64(k-1))
}

// size describes the number of points of a grid, however large.
func size(space tuners.Space, points int) string {
	n := 1.0
	for _, d := range space {
		n = float64(n * axis(d, points))
	}
	if n < 1e6 {
		return strconv.Itoa(int(n))
	}
	return fmt.Sprintf("%.3g", n)
}
