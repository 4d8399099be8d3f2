// Package random is the built-in tuner `random`: random search. It draws floor(T/M)
// points from the search space, runs each for M rounds and takes the best (T =
// budget.rounds, M = budget.trial_rounds).
package random

import (
	"context"

	"github.com/fedfast/fedfast/internal/tuner/internal/batch"
	"github.com/fedfast/fedfast/internal/tuner/internal/options"
	"github.com/fedfast/fedfast/tuners"
)

// Tuner is random search. The zero value is ready to use.
type Tuner struct{}

var _ tuners.Tuner = Tuner{}

// Describe says what random search is.
func (Tuner) Describe(context.Context) (tuners.Description, error) { return description, nil }

var description = tuners.Description{
	Name:    "random",
	Version: "1.0.0",
	Doc:     "Random search: draws points from the space, trains each for budget.trial_rounds rounds and returns the best.",
	Options: []tuners.Option{
		{Name: "trials", Default: tuners.Num(0), Doc: "number of trials; 0: floor(budget.rounds / budget.trial_rounds)"},
	},
	Trials:        true,
	Seconds:       true,
	Architectures: true,
	Multi:         true,
	Constraints:   true,
	Conditions:    true,
}

// maxTrials bounds the option trials.
const maxTrials = 10_000_000

// Validate checks the options and that the budget pays for the trials.
func (Tuner) Validate(_ context.Context, req tuners.ValidateRequest) ([]tuners.Problem, error) {
	_, problems := plan(req.Options, req.Budget)
	return problems, nil
}

// Open starts a study's session.
func (Tuner) Open(_ context.Context, req tuners.OpenRequest) (tuners.Session, error) {
	trials, problems := plan(req.Options, req.Budget)
	if err := options.Open("random", req.Trial, problems); err != nil {
		return nil, err
	}
	return batch.Open("random", req, trials, func(trial int) tuners.Params {
		return req.Space.Sample(tuners.NewDraws(req.Seed, trial, 0, "trial params"))
	})
}

// plan reads the options.
func plan(given tuners.Params, b tuners.Budget) (trials int, problems []tuners.Problem) {
	r := options.Read(description, given)
	return r.Trials(b, maxTrials), r.Problems
}
