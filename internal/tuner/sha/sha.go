// Package sha is the built-in tuner `sha`: successive halving. It starts eta^R
// trials, stops all but a share 1/eta of them at each of R rungs, and runs the last
// one on to budget.trial_rounds, spending budget.rounds in all; see Rungs for the
// arithmetic.
package sha

import (
	"slices"

	"github.com/fedfast/fedfast/internal/tuner/internal/options"
	"github.com/fedfast/fedfast/tuners"
)

// Tuner is successive halving.
var Tuner = options.Tuner[Bracket]{About: tuners.Description{
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
}, Plan: plan, Study: open}

func open(req tuners.OpenRequest, b Bracket) (tuners.Session, error) {
	return Open("sha", req, []Bracket{b}, nil)
}

// plan reads the options and computes the bracket: eta^eliminations arms, of which
// one in eta goes on at each rung.
func plan(r *options.Reader, req tuners.ValidateRequest) Bracket {
	eta, eliminations := r.Whole("eta", 2, maxArms), r.Whole("eliminations", 1, maxArms)
	if len(r.Problems) > 0 {
		return Bracket{}
	}
	rungs, key, err := Rungs(req.Budget.Rounds, req.Budget.TrialRounds, eta, eliminations)
	if err != nil {
		r.Problem(key, "%v", err)
		return Bracket{}
	}
	b := Bracket{Rungs: rungs, Arms: make([]int, len(rungs))}
	arms := 1
	for i := range slices.Backward(rungs) {
		b.Arms[i] = arms
		arms *= eta
	}
	return b
}
