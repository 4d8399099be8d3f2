package sha

import (
	"slices"

	"github.com/fedfast/fedfast/tuners"
)

// Rank returns the indices of scores from the best to the worst. Ties put the lower
// index first. NaN stands for a failed trial and is left out, so the ranking may be
// shorter than scores.
func Rank(o tuners.Objective, scores []float64) []int {
	var ranked []int
	for i, x := range scores {
		if x == x {
			ranked = append(ranked, i)
		}
	}
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
