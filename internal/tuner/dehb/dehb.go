// Package dehb is the built-in tuner `dehb` (Awad et al. 2021): Hyperband's brackets over
// populations, one for each rung, that differential evolution improves. In the first pass of
// brackets the best of a rung go on to the next one, as in `hyperband`; from then on each
// trial is new: a child of the rung's own population and of the best of the rung below.
package dehb

import (
	"github.com/fedfast/fedfast/internal/list"
	"github.com/fedfast/fedfast/internal/tuner/hyperband"
	"github.com/fedfast/fedfast/internal/tuner/internal/options"
	"github.com/fedfast/fedfast/internal/tuner/sha"
	"github.com/fedfast/fedfast/tuners"
)

// maxPopulation bounds the state, which holds all populations.
const maxPopulation = 2000

// Tuner is DEHB.
var Tuner = options.Tuner[*plan]{About: options.About("dehb", hyperband.Options...), Plan: newPlan, Study: open}

// plan is what the options and the budget fix.
type plan struct {
	evolution
	pass     []sha.Bracket
	schedule []stage
}

func newPlan(r *options.Reader, req tuners.ValidateRequest) *plan {
	b := req.Budget
	p := &plan{pass: hyperband.ReadPass(r, b), evolution: evolution{
		factor:    r.Real("factor", "above 0, at most 2", func(x float64) bool { return x > 0 && x <= 2 }),
		crossover: r.Share("crossover"),
	}}
	sum := list.Sum(p.pass, func(bracket sha.Bracket) int { return bracket.Arms[0] })
	if sum > maxPopulation {
		r.Problem("options.brackets", "the populations have %d points; at most %d are possible: lower brackets or eta", sum, maxPopulation)
	}
	p.schedule = schedule(b.Rounds, b.TrialRounds, p.pass)
	return p
}

// stage is one bracket of a study.
type stage struct {
	sha.Bracket
	// evolved says that all trials of all rungs are new.
	evolved bool
}

// schedule returns what a study of t rounds runs: one pass in which trials go on, then passes
// of new trials, each bracket as long as it fits into what is left, then single trials of m rounds.
func schedule(t, m int, pass []sha.Bracket) []stage {
	var out []stage
	left := t
	for _, b := range pass {
		if cost := b.Cost(); cost <= left {
			out, left = append(out, stage{b, false}), left-cost
		}
	}
	for fits := len(pass) > 0; fits; {
		fits = false
		for _, b := range pass {
			cost := 0
			for i, arms := range b.Arms {
				cost += arms * b.Rungs[i]
			}
			if cost <= left {
				out, left, fits = append(out, stage{b, true}), left-cost, true
			}
		}
	}
	if n := left / max(1, m); n > 0 && len(pass) > 0 {
		out = append(out, stage{sha.Bracket{Arms: []int{n}, Rungs: []int{m}}, true})
	}
	return out
}
