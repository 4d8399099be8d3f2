// Package tpe is the built-in tuner `tpe`: the tree-structured Parzen estimator, in
// the multivariate form of Optuna's sampler. It splits the trials into few good ones
// and the others, estimates a density of each (package kde), and of some points drawn
// from the good ones' density takes the one where it exceeds the others' most.
// Trials in flight count among the others, so that points proposed together differ.
package tpe

import (
	"github.com/fedfast/fedfast/internal/tuner/internal/guided"
	"github.com/fedfast/fedfast/internal/tuner/internal/options"
	"github.com/fedfast/fedfast/tuners"
)

// The ends of the options.
const (
	maxTrials     = 2000 // their points are sent with every answer
	maxCandidates = 1024
)

// Tuner is the tree-structured Parzen estimator.
var Tuner = options.Tuner[plan]{About: tuners.Description{
	Name:    "tpe",
	Version: "1.0.0",
	Doc: "Tree-structured Parzen estimator (TPE), multivariate: proposes points that are likely among the best trials and unlikely among the others; " +
		"trains each trial for budget.trial_rounds rounds.",
	Options: []tuners.Option{
		{Name: "init", Default: tuners.Num(0), Doc: "number of random trials before the model proposes; 0: 10, or half of fewer than 20"},
		{Name: "trials", Default: tuners.Num(0), Doc: "number of trials; 0: floor(budget.rounds / budget.trial_rounds), at most 2000"},
		{Name: "candidates", Default: tuners.Num(24), Doc: "number of points that are drawn and compared for each trial"},
	},
	Trials:        true,
	Seconds:       true,
	Architectures: true,
	Multi:         true,
	Constraints:   true,
	Conditions:    true,
	Priors:        true,
}, Plan: newPlan, Study: open}

// plan is what the options and the budget fix.
type plan struct {
	guided.Plan
	candidates int
}

func newPlan(r *options.Reader, req tuners.ValidateRequest) plan {
	return plan{candidates: r.Whole("candidates", 1, maxCandidates), Plan: guided.ReadPlan(r, req.Budget, 0, maxTrials)}
}

func open(req tuners.OpenRequest, p plan) (tuners.Session, error) {
	return guided.Open("tpe", req, p.Plan, &model{req: req, initial: p.Initial, candidates: p.candidates})
}
