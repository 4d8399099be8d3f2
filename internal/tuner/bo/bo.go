// Package bo is the built-in tuner `bo`: Bayesian optimization. After some random
// trials it models the score as a Gaussian process over the search space (package
// gp) and runs the point of largest expected improvement next.
//
// Given the scores, decisions are the same on every amd64 CPU, whatever its level.
// Between architectures that is not promised: gonum finds the model's
// hyperparameters, its last bits differ between amd64 and arm64, and where the
// likelihood is flat the search may then stop at another point. Everything else is
// the same everywhere: given the hyperparameters, the posterior and the expected
// improvement are plain Go with written-out roundings, and the maximum is taken
// over a finite list, ties to its first.
package bo

import (
	"github.com/fedfast/fedfast/internal/tuner/internal/guided"
	"github.com/fedfast/fedfast/internal/tuner/internal/options"
	"github.com/fedfast/fedfast/internal/tuner/internal/points"
	"github.com/fedfast/fedfast/tuners"
)

// The ends of the options.
const (
	maxTrials     = 500 // each proposal takes time that grows with the square of the trials before it, each fit with the cube
	maxCandidates = 16384
)

// Tuner is Bayesian optimization.
var Tuner = options.Tuner[plan]{About: tuners.Description{
	Name:    "bo",
	Version: "1.0.0",
	Doc:     "Bayesian optimization: proposes the point of largest expected improvement under a Gaussian process; trains each trial for budget.trial_rounds rounds.",
	Options: []tuners.Option{
		{Name: "init", Default: tuners.Num(5), Doc: "number of random trials before the model proposes"},
		{Name: "trials", Default: tuners.Num(0), Doc: "number of trials; 0: floor(budget.rounds / budget.trial_rounds), at most 500"},
		{Name: "candidates", Default: tuners.Num(1024), Doc: "number of points at which expected improvement is evaluated; smaller spaces are evaluated completely"},
	},
	Trials:        true,
	Seconds:       true,
	Architectures: true,
	Priors:        true,
}, Plan: newPlan, Study: open}

// plan is what the options and the budget fix.
type plan struct {
	guided.Plan
	candidates int
}

// newPlan reads the options.
func newPlan(r *options.Reader, req tuners.ValidateRequest) plan {
	return plan{candidates: r.Whole("candidates", 1, maxCandidates), Plan: guided.ReadPlan(r, req.Budget, 1, maxTrials)}
}

func open(req tuners.OpenRequest, p plan) (tuners.Session, error) {
	return guided.Open("bo", req, p.Plan, &model{req: req, scale: points.Scale{Space: req.Space}, candidates: p.candidates})
}
