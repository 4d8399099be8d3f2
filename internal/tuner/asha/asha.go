// Package asha is the built-in tuner `asha`: asynchronous successive halving (Li et
// al. 2020). A trial goes on as soon as it is among the best 1/eta of its rung,
// without waiting for the rung to fill; otherwise a new trial starts.
package asha

import (
	"cmp"

	"github.com/fedfast/fedfast/internal/tuner/internal/options"
	"github.com/fedfast/fedfast/tuners"
)

// The ends of the options.
const (
	maxEta          = 1000
	maxEliminations = 64
	maxTrials       = 100_000
)

// Tuner is asynchronous successive halving.
var Tuner = options.Tuner[plan]{About: tuners.Description{
	Name:    "asha",
	Version: "1.0.0",
	Doc:     "Asynchronous successive halving (ASHA): promotes a trial as soon as it is among the best 1/eta of its rung, otherwise starts a new one.",
	Options: []tuners.Option{
		{Name: "eta", Default: tuners.Num(3), Doc: "promote one of eta trials at each rung; rungs are a factor of eta rounds apart"},
		{Name: "eliminations", Default: tuners.Num(2), Doc: "number of rungs before the last one, which is at budget.trial_rounds"},
		{Name: "trials", Default: tuners.Num(0), Doc: "maximum number of trials; 0: as many as budget.rounds allows"},
	},
	Trials:        true,
	Seconds:       true,
	Architectures: true,
}, Plan: newPlan, Study: newSession}

// plan is what the options and the budget fix.
type plan struct {
	eta    int
	rungs  []int // rounds, ascending; the last is budget.trial_rounds
	trials int   // most trials to start
	rounds int   // most rounds to spend
}

// newPlan reads the options and places the rungs at M eta^-R, ..., M/eta, M,
// rounded down.
func newPlan(r *options.Reader, req tuners.ValidateRequest) plan {
	b := req.Budget
	p := plan{
		eta: r.Whole("eta", 2, maxEta), trials: r.Whole("trials", 0, maxTrials), rounds: b.Rounds,
	}
	eliminations := r.Whole("eliminations", 1, maxEliminations)
	r.TrialRounds(b)
	if len(r.Problems) > 0 {
		return plan{}
	}
	p.trials = cmp.Or(p.trials, maxTrials)
	p.rungs = []int{b.TrialRounds}
	least := 0 // rounds of a synchronous halving that ends with one trial
	arms := 1
	for share := b.TrialRounds; len(p.rungs) <= eliminations; {
		// floor(floor(M/eta^k)/eta) = floor(M/eta^(k+1))
		if share /= p.eta; share < 1 {
			r.Problem("options.eliminations", "%d eliminations with eta = %d put the first rung below 1 of %d rounds (budget.trial_rounds); at most %d are possible",
				eliminations, p.eta, b.TrialRounds, len(p.rungs)-1)
			return plan{}
		}
		least += arms * (p.rungs[0] - share)
		p.rungs = append([]int{share}, p.rungs...)
		arms *= p.eta
	}
	least += arms * p.rungs[0]
	if p.rounds < least {
		r.Problem("budget.rounds", "halving %d trials with eta = %d up to %d rounds (budget.trial_rounds) takes %d rounds, but budget.rounds is %d: raise it or lower options.eliminations",
			arms, p.eta, b.TrialRounds, least, p.rounds)
	}
	return p
}
