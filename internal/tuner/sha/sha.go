// Package sha is the built-in tuner `sha`: successive halving. It starts eta^R
// trials, stops all but a share 1/eta of them at each of R rungs, and runs the last
// one on to budget.trial_rounds, spending budget.rounds in all; see Rungs for the
// arithmetic.
package sha

import (
	"context"
	"slices"

	"github.com/fedfast/fedfast/internal/tuner/internal/options"
	"github.com/fedfast/fedfast/tuners"
)

// Tuner is successive halving. The zero value is ready to use.
type Tuner struct{}

var _ tuners.Tuner = Tuner{}

// Describe says what successive halving is.
func (Tuner) Describe(context.Context) (tuners.Description, error) { return description, nil }

var description = tuners.Description{
	Name:    "sha",
	Version: "1.0.0",
	Doc:     "Successive halving: starts eta^eliminations trials and keeps the best 1/eta at each rung; the last one trains to budget.trial_rounds.",
	Options: []tuners.Option{
		{Name: "eta", Default: tuners.Num(3), Doc: "keep one of eta trials at each rung"},
		{Name: "eliminations", Default: tuners.Num(3), Doc: "number of rungs at which trials are pruned"},
	},
	Trials:        true,
	Seconds:       true,
	Architectures: true,
}

// Validate checks the options and that the budget pays for the rungs.
func (Tuner) Validate(_ context.Context, req tuners.ValidateRequest) ([]tuners.Problem, error) {
	_, problems := plan(req.Options, req.Budget)
	return problems, nil
}

// Open starts a study's session.
func (Tuner) Open(_ context.Context, req tuners.OpenRequest) (tuners.Session, error) {
	b, problems := plan(req.Options, req.Budget)
	if err := options.Open("sha", req.Trial, problems); err != nil {
		return nil, err
	}
	return Open("sha", req, []Bracket{b}, nil)
}

// plan reads the options and computes the bracket: eta^eliminations arms, of which
// one in eta goes on at each rung.
func plan(given tuners.Params, budget tuners.Budget) (Bracket, []tuners.Problem) {
	r := options.Read(description, given)
	eta, eliminations := r.Whole("eta", 2, maxArms), r.Whole("eliminations", 1, maxArms)
	if len(r.Problems) > 0 {
		return Bracket{}, r.Problems
	}
	rungs, key, err := Rungs(budget.Rounds, budget.TrialRounds, eta, eliminations)
	if err != nil {
		r.Problem(key, "%v", err)
		return Bracket{}, r.Problems
	}
	b := Bracket{Rungs: rungs, Arms: make([]int, len(rungs))}
	arms := 1
	for i := range slices.Backward(rungs) {
		b.Arms[i] = arms
		arms *= eta
	}
	return b, nil
}
