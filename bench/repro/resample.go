package repro

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/stat/combin"
	"gonum.org/v1/gonum/stat/sampleuv"

	"github.com/fedfast/fedfast/bench/stats"
	"github.com/fedfast/fedfast/fl/study"
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

// Wrapper is what draws arms from those that are recorded.
type Wrapper struct {
	// Arms is how many it starts, Rounds how many it spends in all.
	Arms   int `json:"arms"`
	Rounds int `json:"rounds"`
	// Rungs are those of successive halving, after which a third of the arms stays;
	// none in random search, which runs all arms to their ends.
	Rungs []int `json:"rungs,omitempty"`
	// Discount is that of the scores: an arm's is the mean over its rounds since the last
	// rung, or since its beginning, one of age a weighing Discount^a; 0 is the last round's
	// alone.
	Discount float64 `json:"discount,omitempty"`
}

// name says what it is.
func (w Wrapper) name() string {
	if w.Rungs != nil {
		return "successive halving"
	}
	return "random search"
}

// told is what the wrapper knows of an arm where it decides: at each of its rungs, or at
// the end.
func (w Wrapper) told(arm Recorded) []float64 {
	rungs := w.Rungs
	if rungs == nil {
		rungs = []int{len(arm.Scores)}
	}
	scores, from := make([]float64, len(rungs)), 0
	for i, rung := range rungs {
		if w.Discount == 0 { // infinite ones are forgotten
			scores[i] = arm.Scores[rung-1]
			continue
		}
		mean := study.Discounted{}
		for _, s := range arm.Scores[from:rung] {
			scores[i] = mean.Add(s, w.Discount)
		}
		from = rung
	}
	return scores
}

// toldOf is told of all arms.
func (w Wrapper) toldOf(pool []Recorded) [][]float64 {
	all := make([][]float64, len(pool))
	for i := range pool {
		all[i] = w.told(pool[i])
	}
	return all
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
	told := w.toldOf(pool)
	sums, counts := make([]float64, len(pool)), make([]int, len(pool))
	var sum float64
	draws := 0
	w.draws(len(pool), func(draw []int) {
		test := pool[survivor(told, draw)].Test
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
	told := w.toldOf(pool)
	slices.SortStableFunc(ranked, func(a, b int) int { return cmp.Compare(told[a][0], told[b][0]) })
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

// survivor plays successive halving on a draw of arms of whom told says the scores at
// each rung, with the rule of the tuner sha, and returns the one that is left.
func survivor(told [][]float64, draw []int) int {
	left := draw
	scores := make([]float64, 0, len(draw))
	for rung := range told[draw[0]] {
		scores = scores[:0]
		for _, i := range left {
			scores = append(scores, told[i][rung])
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

// discounts are those of the papers' figure.
var discounts = []float64{0.5, 1}

// discounted are the wrappers within a budget of rounds that have five arms and more,
// among whom the scores have something to choose, with other discounts than 0.
func discounted(all []Wrapper, budget int) []Wrapper {
	var out []Wrapper
	for _, w := range all {
		if w.Arms < 5 || w.Rounds > budget {
			continue
		}
		for _, w.Discount = range discounts {
			out = append(out, w)
		}
	}
	return out
}

// Outcome is what a wrapper makes of recorded arms.
type Outcome struct {
	Wrapper
	// Alone and Fresh are the mean test errors without and with FedEx, Gain their
	// difference by pairs.
	Alone stats.Sample `json:"alone"`
	Fresh stats.Sample `json:"fedex"`
	Gain  stats.Sample `json:"gain"`
	// AloneLess and FreshLess are by how many points these errors are lower than those of
	// the same wrapper with the discount 0; of others only.
	AloneLess stats.Sample `json:"alone_less,omitzero"`
	FreshLess stats.Sample `json:"fedex_less,omitzero"`
}

// outcomeOf draws both methods' arms of a wrapper in pairs.
func outcomeOf(w Wrapper, old, fresh []Recorded) Outcome {
	a, withoutA := w.returned(old)
	b, withoutB := w.returned(fresh)
	o := Outcome{Wrapper: w, Alone: stats.Jackknife(a, withoutA), Fresh: stats.Jackknife(b, withoutB), Gain: less(a, withoutA, b, withoutB)}
	if w.Discount != 0 {
		last := w
		last.Discount = 0
		c, withoutC := last.returned(old)
		d, withoutD := last.returned(fresh)
		o.AloneLess, o.FreshLess = less(c, withoutC, a, withoutA), less(d, withoutD, b, withoutB)
	}
	return o
}

// less is by how much the second of two means of one pool of arms is lower, each with
// those without each of the arms.
func less(first float64, withoutFirst []float64, second float64, withoutSecond []float64) stats.Sample {
	differences := make([]float64, len(withoutFirst))
	for i := range differences {
		differences[i] = withoutFirst[i] - withoutSecond[i]
	}
	return stats.Jackknife(first-second, differences)
}
