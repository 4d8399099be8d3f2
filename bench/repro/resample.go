package repro

import (
	"cmp"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat/combin"

	"github.com/fedfast/fedfast/fl/study/result"
	"github.com/fedfast/fedfast/internal/stats"
	"github.com/fedfast/fedfast/internal/tuner/sha"
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
	// Rungs are the rungs of successive halving, after which a third of the arms stays;
	// none in random search, which runs all arms to their ends.
	Rungs []int `json:"rungs,omitempty"`
	// Discount is the discount of the scores: an arm's is the mean over its rounds since the last
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
		mean := result.Discounted{}
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
// the same without each of them. Both are exact: draws are counted, not played.
func (w Wrapper) returned(pool []Recorded) (all float64, without []float64) {
	of := w.bestOf
	if w.Rungs != nil {
		of = w.halved
	}
	without = make([]float64, len(pool))
	for i := range pool {
		without[i] = of(slices.Delete(slices.Clone(pool), i, i+1))
	}
	return of(pool), without
}

// ranksAt returns, for each rung, the place of each arm among the pool by what the
// wrapper knows there, from 0, the best. Ties keep the lower arm, as the tuner does.
func (w Wrapper) ranksAt(pool []Recorded) [][]int {
	told := w.toldOf(pool)
	all := make([][]int, len(told[0]))
	for rung := range all {
		scores := make([]float64, len(pool))
		for i := range pool {
			scores[i] = told[i][rung]
		}
		all[rung] = make([]int, len(pool))
		for place, i := range sha.Rank(tuners.Objective{Metric: tuners.MetricError}, scores) {
			all[rung][i] = place
		}
	}
	return all
}

// bestOf is the mean for random search: the arm of rank k of N, from 0, is the best of n
// in C(N-1-k, n-1) of the C(N, n) draws.
func (w Wrapper) bestOf(pool []Recorded) float64 {
	place := w.ranksAt(pool)[0]
	mean := 0.0
	for i, arm := range pool {
		share := choose(len(pool)-1-place[i], w.Arms-1) / choose(len(pool), w.Arms)
		mean += float64(share * arm.Test)
	}
	return mean
}

// halved is the mean for successive halving. A draw is counted by the arms that come to
// the last decision, of which there are few: how many draws let just these come so far
// depends on the worst places alone that they have at the rungs before.
func (w Wrapper) halved(pool []Recorded) float64 {
	n, places := len(pool), w.ranksAt(pool)
	kept := []int{w.Arms} // how many go on, from rung to rung, to the last decision
	for len(kept) < len(places) && kept[len(kept)-1] > halving {
		kept = append(kept, max(1, kept[len(kept)-1]/halving))
	}
	decisions := len(kept)
	draws := drawsOf(n, kept, places)
	sum := 0.0
	for g := combin.NewCombinationGenerator(n, kept[decisions-1]); g.Next(); {
		last := g.Combination(nil)
		worst := func(rung int) int {
			place := 0
			for _, i := range last {
				place = max(place, places[rung][i])
			}
			return place
		}
		returned := slices.MinFunc(last, func(a, b int) int { return cmp.Compare(places[decisions-1][a], places[decisions-1][b]) })
		sum += float64(draws(worst) * pool[returned].Test)
	}
	return sum / choose(n, w.Arms)
}

// drawsOf returns how many draws let some arms, and no others, come to the last of up to
// three decisions, of arms whose worst place at a rung is known. n arms are recorded,
// kept go on from rung to rung.
func drawsOf(n int, kept []int, places [][]int) func(worst func(rung int) int) float64 {
	switch len(kept) {
	case 1: // they are the draw
		return func(func(int) int) float64 { return 1 }
	case 2: // the others of the draw are behind them at the first rung
		return func(worst func(int) int) float64 { return choose(n-1-worst(0), kept[0]-kept[1]) }
	case 3:
	default:
		panic("repro: successive halving with more than three decisions")
	}
	// Those of the first decision are behind them at the second rung, and of their last
	// place at the first rung, m, are those whom it leaves out behind.
	byFirst := make([]int, n)
	for i, place := range places[0] {
		byFirst[place] = i
	}
	table := make([][]float64, n)
	for second := range n {
		table[second] = make([]float64, n)
		for first := range n {
			behind := 0 // at the second rung, among those up to m at the first
			before := 0.0
			for m, i := range byFirst {
				if places[1][i] > second {
					behind++
				}
				if m >= first {
					up := choose(behind, kept[1]-kept[2])
					table[second][first] += float64((up - before) * choose(n-1-m, kept[0]-kept[1]))
					before = up
				}
			}
		}
	}
	return func(worst func(int) int) float64 { return table[worst(1)][worst(0)] }
}

// choose is the number of ways to take k of n.
func choose(n, k int) float64 {
	if k > n {
		return 0
	}
	ways := 1.0
	for i := 1; i <= k; i++ {
		ways *= float64(n-k+i) / float64(i)
	}
	return ways
}

// wrappers returns the wrappers that can be resampled from arms of the given number of
// rounds: random search up to the whole budget of a study, given in arms, and successive
// halving with half of the budget and with all of it.
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

// discounts are the discounts of the papers' figure.
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
