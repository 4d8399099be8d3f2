package sha

import (
	"fmt"
	"slices"

	"github.com/fedfast/fedfast/internal/list"
	"github.com/fedfast/fedfast/tuners"
)

// maxArms bounds eta^eliminations: beyond it a study could not even list its
// trials.
const maxArms = 100_000

// Rungs returns the rounds at which successive halving decides, the last of which
// is m (METHODS: Algorithm 1 of Khodak et al. 2021).
//
// With R = eliminations the study starts eta^R arms and may spend t rounds in all,
// m on one arm. The stage that starts with eta^i arms lasts r_i rounds; the last
// arm runs on to round m. The cost is m + sum over i=1..R of (eta^i - 1) r_i. All
// r_i are at least L = floor((t - m) / sum (eta^i - 1)); among the integers that
// cost at most t those that cost most are taken, and among these the
// lexicographically largest (r_R, ..., r_1).
//
// The error is one line about t, m, eta or eliminations; key names which.
func Rungs(t, m, eta, eliminations int) (rungs []int, key string, err error) {
	switch {
	case eta < 2:
		return nil, "options.eta", fmt.Errorf("eta must be at least 2, not %d", eta)
	case eliminations < 1:
		return nil, "options.eliminations", fmt.Errorf("successive halving needs at least 1 elimination, not %d", eliminations)
	case m < 1:
		return nil, "budget.trial_rounds", fmt.Errorf("a trial needs at least 1 round, not %d", m)
	case t <= m:
		return nil, "budget.rounds", fmt.Errorf("successive halving needs budget.rounds (%d) greater than budget.trial_rounds (%d)", t, m)
	}
	// cost[i] = eta^i - 1 is what a round of the stage with eta^i arms costs beside
	// the survivor's own.
	cost := make([]int, eliminations+1)
	arms, sum := 1, 0
	for i := 1; i <= eliminations; i++ {
		if arms *= eta; arms > maxArms {
			return nil, "options.eliminations", fmt.Errorf("%d eliminations with eta = %d start more than %d trials", eliminations, eta, maxArms)
		}
		cost[i] = arms - 1
		sum += cost[i]
	}
	least := (t - m) / sum
	if least < 1 {
		return nil, "budget.rounds", fmt.Errorf("%d trials of at most %d rounds need at least %d rounds in total, not %d", arms, m, m+sum, t)
	}
	extra := spread(t-m-least*sum, cost)
	round := 0
	for i := eliminations; i >= 1; i-- {
		round += least + extra[i]
		rungs = append(rungs, round)
	}
	if round >= m {
		return nil, "budget.rounds", fmt.Errorf("a total of %d rounds puts the last elimination at round %d, but a trial "+
			"ends at round %d (budget.trial_rounds): lower budget.rounds or raise budget.trial_rounds", t, round, m)
	}
	return append(rungs, m), "", nil
}

// spread distributes rest over the stages: counts x_i >= 0 that maximize sum
// cost[i] x_i <= rest, ties to the largest (x_R, ..., x_1).
func spread(rest int, cost []int) []int {
	// reach[i][v]: v can be written as a sum of cost[1..i].
	reach := make([][]bool, len(cost))
	reach[0] = make([]bool, rest+1)
	reach[0][0] = true
	for i := 1; i < len(cost); i++ {
		reach[i] = make([]bool, rest+1)
		for v := range reach[i] {
			reach[i][v] = reach[i-1][v] || v >= cost[i] && reach[i][v-cost[i]]
		}
	}
	top := len(cost) - 1
	for !reach[top][rest] {
		rest--
	}
	x := make([]int, len(cost))
	for i := top; i >= 1; i-- {
		for x[i] = rest / cost[i]; !reach[i-1][rest-x[i]*cost[i]]; {
			x[i]--
		}
		rest -= x[i] * cost[i]
	}
	return x
}

// Rank returns the indices of scores from the best to the worst. Ties put the lower
// index first. NaN stands for a failed trial and is left out, so the ranking may be
// shorter than scores.
func Rank(o tuners.Objective, scores []float64) []int {
	ranked := list.Places(len(scores), func(i int) bool { return scores[i] == scores[i] })
	slices.SortStableFunc(ranked, func(a, b int) int { return o.Compare(scores[a], scores[b]) })
	return ranked
}

// Keep returns the indices of the n best scores in ascending order: the elimination
// rule of successive halving. Failed trials (NaN) are never kept, so fewer than n
// may be left.
func Keep(o tuners.Objective, scores []float64, n int) []int {
	ranked := Rank(o, scores)
	kept := ranked[:min(n, len(ranked))]
	slices.Sort(kept)
	return kept
}
