package repro

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/stat/combin"
	"gonum.org/v1/gonum/stat/sampleuv"

	"github.com/fedfast/fedfast/bench/stats"
	"github.com/fedfast/fedfast/plugins/sha"
	"github.com/fedfast/fedfast/tuners"
)

// Recorded is an arm that was run to its end.
type Recorded struct {
	// Scores are the validation errors of its rounds, infinite where one is missing.
	Scores []float64
	// Test is the test error, in percent, of the model at its end.
	Test float64
}

// last is the score of the last round.
func (r Recorded) last() float64 { return r.Scores[len(r.Scores)-1] }

// Wrapper is what draws arms from those that are recorded.
type Wrapper struct {
	// Arms is how many it starts, Rounds how many it spends in all.
	Arms   int `json:"arms"`
	Rounds int `json:"rounds"`
	// Rungs are those of successive halving, after which a third of the arms stays;
	// none in random search, which runs all arms to their ends.
	Rungs []int `json:"rungs,omitempty"`
}

// halving is the factor of the papers' successive halving.
const halving = 3

// returned is the expected test error of the arm that the wrapper keeps to the end, the
// best by its last score, over all draws of arms from those recorded, none twice; and
// the same without each of them.
//
// Random search has a closed form: the arm of rank k of N is the best of n with the
// probability C(N-k, n-1) / C(N, n). Successive halving is played on all draws where
// these are few, else on mostDraws of them, the same for all pools of one size.
func (w Wrapper) returned(pool []Recorded) (all float64, without []float64) {
	if w.Rungs == nil {
		return w.bestOf(pool)
	}
	sums, counts := make([]float64, len(pool)), make([]int, len(pool))
	var sum float64
	draws := 0
	w.draws(len(pool), func(draw []int) {
		test := pool[w.survivor(pool, draw)].Test
		sum += test
		draws++
		for _, i := range draw {
			sums[i] += test
			counts[i]++
		}
	})
	without = make([]float64, len(pool))
	for i := range pool {
		without[i] = (sum - sums[i]) / float64(draws-counts[i])
	}
	return sum / float64(draws), without
}

// bestOf is returned for random search.
func (w Wrapper) bestOf(pool []Recorded) (all float64, without []float64) {
	ranked := make([]int, len(pool))
	for i := range ranked {
		ranked[i] = i
	}
	slices.SortStableFunc(ranked, func(a, b int) int { return cmp.Compare(pool[a].last(), pool[b].last()) })
	of := func(leave int) float64 {
		n := float64(len(pool))
		if leave >= 0 {
			n--
		}
		share, mean := float64(w.Arms)/n, 0.0
		k := 0.0 // arms that were passed
		for _, i := range ranked {
			if i == leave {
				continue
			}
			mean += float64(share * pool[i].Test)
			share *= max(0, n-1-k-float64(w.Arms-1)) / (n - 1 - k)
			if k++; k == n {
				break
			}
		}
		return mean
	}
	without = make([]float64, len(pool))
	for i := range pool {
		without[i] = of(i)
	}
	return of(-1), without
}

// survivor plays successive halving on some arms of a pool, with the rule of the tuner
// sha, and returns the one that is left.
func (w Wrapper) survivor(pool []Recorded, draw []int) int {
	left := draw
	scores := make([]float64, 0, len(draw))
	for _, rung := range w.Rungs {
		scores = scores[:0]
		for _, i := range left {
			scores = append(scores, pool[i].Scores[rung-1])
		}
		var kept []int
		for _, at := range sha.Keep(tuners.Objective{Metric: tuners.MetricError}, scores, max(1, len(left)/halving)) {
			kept = append(kept, left[at])
		}
		left = kept
	}
	return left[0]
}

// mostDraws bounds how many draws are played.
const mostDraws = 10_000

// draws calls play with draws of w.Arms of n arms, in ascending order.
func (w Wrapper) draws(n int, play func(draw []int)) {
	draw := make([]int, w.Arms)
	if combin.GeneralizedBinomial(float64(n), float64(w.Arms)) < mostDraws {
		for g := combin.NewCombinationGenerator(n, w.Arms); g.Next(); {
			play(g.Combination(draw))
		}
		return
	}
	source := rand.NewPCG(uint64(n), uint64(w.Arms))
	for range mostDraws {
		sampleuv.WithoutReplacement(draw, n, source)
		slices.Sort(draw) // ties keep the lower arm
		play(draw)
	}
}

// wrappers are those of whom arms of so many rounds tell: random search of up to the
// whole budget, given in arms, and successive halving in half of it and in all.
func wrappers(rounds, study, pool int) []Wrapper {
	var all []Wrapper
	for _, n := range []int{1, 2, 3, 5, 10, 20} {
		all = append(all, Wrapper{Arms: n, Rounds: n * rounds})
	}
	for _, eliminations := range []int{2, 3} {
		arms := int(math.Pow(halving, float64(eliminations)))
		for _, spent := range []int{study * rounds / 2, study * rounds} {
			if rungs, _, err := sha.Rungs(spent, rounds, halving, eliminations); err == nil {
				all = append(all, Wrapper{Arms: arms, Rounds: spent, Rungs: rungs})
			}
		}
	}
	// An interval by leaving out single arms wants draws of half of them at most.
	return slices.DeleteFunc(all, func(w Wrapper) bool { return 2*w.Arms > pool })
}

// Outcome is what a wrapper makes of recorded arms.
type Outcome struct {
	Wrapper
	// Alone and Fresh are the mean test errors without and with FedEx, Gain their
	// difference by pairs.
	Alone stats.Sample `json:"alone"`
	Fresh stats.Sample `json:"fedex"`
	Gain  stats.Sample `json:"gain"`
}

// outcomeOf draws both methods' arms of a wrapper in pairs.
func outcomeOf(w Wrapper, old, fresh []Recorded) Outcome {
	a, withoutA := w.returned(old)
	b, withoutB := w.returned(fresh)
	gains := make([]float64, len(withoutA))
	for i := range gains {
		gains[i] = withoutA[i] - withoutB[i]
	}
	return Outcome{w, stats.Jackknife(a, withoutA), stats.Jackknife(b, withoutB), stats.Jackknife(a-b, gains)}
}
