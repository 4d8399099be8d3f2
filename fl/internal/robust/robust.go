// Package robust combines the updates of a round's clients so that a few that are wrong have
// little influence. Sums over an update are split in a way that depends on its length alone,
// so the number of workers does not change a bit.
package robust

import (
	"cmp"
	"math"
	"slices"

	"github.com/fedfast/fedfast/kernels"
)

// Run has workers do tasks 0 to n-1, each in one goroutine with a memory of its own.
type Run func(n int, task func(i int, m *Memory))

// Memory is what a worker reuses from task to task.
type Memory struct {
	keys   []int32
	floats []float32
}

// block is how many values are worked on while they are in a cache; kernels.Dot sums as many
// at a time.
const block = 4096

// spans is into how many parts sums over an update are split.
const spans = 16

// span returns the part i of n values, whole blocks but the last one.
func span(i, n int) (lo, hi int) {
	each := ((n+spans-1)/spans + block - 1) / block * block
	return min(i*each, n), min((i+1)*each, n)
}

// Each calls f for spans of n values.
func (run Run) Each(n int, f func(lo, hi int)) {
	run(spans, func(i int, _ *Memory) {
		if lo, hi := span(i, n); lo < hi {
			f(lo, hi)
		}
	})
}

// Mean sets out to the mean of the updates by their weights, some of which are above 0.
func Mean(run Run, out []float32, updates [][]float32, weights []float64) {
	total := 0.0
	for _, w := range weights {
		total += w
	}
	run.Each(len(out), func(lo, hi int) {
		for ; lo < hi; lo += block {
			end := min(lo+block, hi)
			sum := out[lo:end]
			clear(sum)
			for i, u := range updates {
				kernels.Axpy(sum, float32(weights[i]/total), u[lo:end])
			}
		}
	})
}

// squares returns, for each update, the squared norm of its difference from v.
func squares(run Run, v []float32, updates [][]float32) []float64 {
	parts := make([][]float64, spans)
	run(spans, func(i int, m *Memory) {
		parts[i] = make([]float64, len(updates))
		lo, hi := span(i, len(v))
		for ; lo < hi; lo += block {
			end := min(lo+block, hi)
			for k, u := range updates {
				parts[i][k] += m.squared(v[lo:end], u[lo:end])
			}
		}
	})
	return added(parts)
}

// squared returns the squared norm of the difference of two blocks.
func (m *Memory) squared(a, b []float32) float64 {
	if cap(m.floats) < block {
		m.floats = make([]float32, block)
	}
	d := m.floats[:len(a)]
	kernels.Sub(d, a, b)
	return kernels.Dot(d, d)
}

// added adds up the parts of sums, in their order.
func added(parts [][]float64) []float64 {
	sum := parts[0]
	for _, p := range parts[1:] {
		for i, x := range p {
			sum[i] += x
		}
	}
	return sum
}

// GeometricMedian sets out to what steps of the smoothed Weiszfeld algorithm make of 0
// (Pillutla et al. 2022, arXiv 1912.13445): v <- sum(b_i d_i)/sum(b_i) with
// b_i = a_i/max(nu, |v - d_i|), where a_i are the weights. v moves towards the point whose
// weighted distances to the updates have the least sum.
func GeometricMedian(run Run, out []float32, updates [][]float32, weights []float64, steps int, nu float64) {
	clear(out)
	b := make([]float64, len(updates))
	for range steps {
		for i, s := range squares(run, out, updates) {
			b[i] = weights[i] / max(nu, math.Sqrt(s))
		}
		Mean(run, out, updates, b)
	}
}

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
