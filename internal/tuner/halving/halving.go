// Package halving is the built-in tuner `halving`: one bracket of successive halving that is
// planned from the budget, with rungs at a ninth and a third of budget.trial_rounds.
package halving

import (
	"slices"
	"sort"

	"github.com/fedfast/fedfast/internal/tuner/internal/options"
	"github.com/fedfast/fedfast/internal/tuner/sha"
	"github.com/fedfast/fedfast/tuners"
)

const (
	eta          = 3 // one of eta trials goes on
	eliminations = 2
	maxTrials    = 100_000
)

// Tuner is planned successive halving.
var Tuner = options.Tuner[sha.Bracket]{About: options.About("halving"), Plan: plan, Study: open}

func open(req tuners.OpenRequest, b sha.Bracket) (tuners.Session, error) {
	return sha.Open("halving", req, []sha.Bracket{b}, nil)
}

// plan reads the options and returns the bracket of the most trials that the budget pays for.
func plan(r *options.Reader, req tuners.ValidateRequest) sha.Bracket {
	budget := req.Budget
	first := r.Whole("first_rung", 1, max(2, min(maxTrials, budget.TrialRounds)))
	r.TrialRounds(budget)
	if len(r.Problems) > 0 {
		return sha.Bracket{}
	}
	var rungs []int
	for share := budget.TrialRounds; len(rungs) <= eliminations && (share >= first || rungs == nil); share /= eta {
		rungs = append([]int{share}, rungs...)
	}
	most := min(maxTrials, budget.Rounds/rungs[0])
	n := sort.Search(most, func(i int) bool { return bracket(rungs, i+1).Cost() > budget.Rounds })
	if n == 0 {
		r.Problem("budget.rounds",
			"budget.rounds = %d is less than one trial of %d rounds (budget.trial_rounds)", budget.Rounds, budget.TrialRounds)
	}
	return bracket(rungs, n)
}

// bracket starts n trials, of which one in eta, at least one, goes on at each rung.
func bracket(rungs []int, n int) sha.Bracket {
	b := sha.Bracket{Rungs: slices.Clone(rungs)}
	for range rungs {
		b.Arms = append(b.Arms, n)
		n = max(1, n/eta)
	}
	return b
}
