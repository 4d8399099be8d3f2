// Package tpe is the built-in tuner `tpe`: the tree-structured Parzen estimator, in
// the multivariate form of Optuna's sampler. It splits the trials into few good ones
// and the others, estimates a density of each (package kde), and of some points drawn
// from the good ones' density takes the one where it exceeds the others' most.
// Trials in flight count among the others, so that points proposed together differ.
package tpe

import (
	"context"

	"github.com/fedfast/fedfast/internal/tuner/internal/guided"
	"github.com/fedfast/fedfast/internal/tuner/internal/options"
	"github.com/fedfast/fedfast/tuners"
)

// The ends of the options.
const (
	maxTrials     = 2000 // their points are sent with every answer
	maxCandidates = 1024
)

// Tuner is the tree-structured Parzen estimator. The zero value is ready to use.
type Tuner struct{}

var _ tuners.Tuner = Tuner{}

// Describe says what the estimator is.
func (Tuner) Describe(context.Context) (tuners.Description, error) { return description, nil }

var description = tuners.Description{
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
}

// Validate checks the options and that the budget pays for a trial that the model
// proposes.
func (Tuner) Validate(_ context.Context, req tuners.ValidateRequest) ([]tuners.Problem, error) {
	_, _, problems := plan(req.Options, req.Budget)
	return problems, nil
}

// Open starts a study's session.
func (Tuner) Open(_ context.Context, req tuners.OpenRequest) (tuners.Session, error) {
	p, candidates, problems := plan(req.Options, req.Budget)
	if err := options.Open("tpe", req.Trial, problems); err != nil {
		return nil, err
	}
	return guided.Open("tpe", req, p, &model{req: req, initial: p.Initial, candidates: candidates})
}

// plan reads the options.
func plan(given tuners.Params, b tuners.Budget) (guided.Plan, int, []tuners.Problem) {
	r := options.Read(description, given)
	candidates := r.Whole("candidates", 1, maxCandidates)
	return guided.ReadPlan(r, b, 0, maxTrials), candidates, r.Problems
}
