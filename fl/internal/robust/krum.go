package robust

import (
	"cmp"
	"slices"
)

// Krum returns the count updates with the least scores, the least first and of equal ones the
// first: the score of an update is the sum of the least squared distances to the n - f - 2
// others that are nearest, at least 1 (Blanchard et al. 2017, arXiv 1703.02757).
func Krum(run Run, updates [][]float32, f, count int) []int {
	n := len(updates)
	near := min(n-1, max(1, n-f-2))
	d := distances(run, updates)
	scores, order, others := make([]float64, n), make([]int, n), make([]float64, 0, n)
	for i := range updates {
		others = others[:0]
		for j := range updates {
			if j != i {
				others = append(others, d[min(i, j)*n+max(i, j)])
			}
		}
		slices.Sort(others)
		for _, x := range others[:near] {
			scores[i] += x
		}
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(scores[a], scores[b]) })
	return order[:count]
}

// distances returns the squared distance of each update i to each later one j, at i n + j.
func distances(run Run, updates [][]float32) []float64 {
	n := len(updates)
	parts := make([][]float64, spans)
	run(spans, func(i int, m *Memory) {
		sums := make([]float64, n*n)
		lo, hi := span(i, len(updates[0]))
		for ; lo < hi; lo += block {
			end := min(lo+block, hi)
			for a := range n {
				for b := a + 1; b < n; b++ {
					sums[a*n+b] += m.squared(updates[a][lo:end], updates[b][lo:end])
				}
			}
		}
		parts[i] = sums
	})
	return added(parts)
}
