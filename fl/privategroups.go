package fl

import (
	"slices"

	"github.com/fedfast/fedfast/internal/list"
	"github.com/fedfast/fedfast/kernels"
)

// The streams of a round's private groups.
const (
	groupDraw uint64 = iota
	groupNoise
)

// PrivateSlots returns, for each client of a round's Cohort, which of slots planned ones it
// takes. Cohorts of a fixed size take their own. Of a Poisson cohort each client draws one by
// itself, so that neither how many came nor who shows in what another one takes.
func (e *Engine) PrivateSlots(trial, round, slots int) []int {
	cohort := e.Cohort(trial, round)
	taken := make([]int, len(cohort))
	for i, client := range cohort {
		if taken[i] = i; e.cfg.Poisson {
			taken[i] = kernels.NewStream(e.groupKey(trial, round, client), groupDraw).IntN(slots)
		}
	}
	return taken
}

// PrivateErrors returns a private error for each planned slot of a round: of slots that
// planned the same, whose numbers in group are equal, the mean error of the clients that took
// one of them, with Gaussian noise on the sum of their errors less 1/2, divided by the number
// of the slots. taken and errors have a client's slot and error, NaN of one that has none.
func (e *Engine) PrivateErrors(trial, round int, group, taken []int, errors []float64, noise float64) []float64 {
	groups := slices.Max(group) + 1
	sums, sizes := make([]float64, groups), make([]int, groups)
	for _, g := range group {
		sizes[g]++
	}
	for i, slot := range taken {
		if errors[i] == errors[i] {
			sums[group[slot]] += centered(errors[i])
		}
	}
	noisy := NewNoise(e.groupKey(trial, round, -1), groupNoise)
	for g, n := range sizes {
		sums[g] = ScoreOptions{Noise: noise, Expected: n}.private(sums[g], noisy).Error
	}
	return list.Of(group, func(g int) float64 { return sums[g] })
}

// groupKey keys the draws of a round's client, or with -1 of the round.
func (e *Engine) groupKey(trial, round, client int) uint64 {
	return kernels.Key(e.cfg.Seed, uint64(trial), uint64(round), uint64(client+1), purposeGroups)
}
