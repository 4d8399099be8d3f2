// Package pareto compares points in several losses, lower is better in each: which are
// beaten by no other, how much room they have side by side, and how much of the space
// they beat. A loss that is NaN is worse than any number.
package pareto

import (
	"cmp"
	"math"
	"slices"

	"github.com/fedfast/fedfast/internal/list"
)

// less reports whether a loss is better than another one.
func less(a, b float64) bool { return a < b || a == a && b != b }

// Dominates reports whether a is nowhere worse than b, and somewhere better.
func Dominates(a, b []float64) bool {
	better := false
	for i := range a {
		if less(b[i], a[i]) {
			return false
		}
		better = better || less(a[i], b[i])
	}
	return better
}

// Ranks returns the front of each point: 0 of those that no other dominates, 1 of those that
// only points of front 0 dominate, and so on.
func Ranks(points [][]float64) []int {
	ranks, above := make([]int, len(points)), make([]int, len(points))
	below := make([][]int, len(points))
	var front []int
	for i, p := range points {
		for j, q := range points {
			if Dominates(p, q) {
				below[i] = append(below[i], j)
				above[j]++
			}
		}
	}
	for i, n := range above {
		if n == 0 {
			front = append(front, i)
		}
	}
	for rank := 0; len(front) > 0; rank++ {
		var next []int
		for _, i := range front {
			ranks[i] = rank
			for _, j := range below[i] {
				if above[j]--; above[j] == 0 {
					next = append(next, j)
				}
			}
		}
		front = next
	}
	return ranks
}

// Fittest returns the indices of at most n points, the fittest first, as NSGA-II keeps them
// (Deb et al. 2002): front after front, and within a front those with the most room around
// them first, of equal ones the first.
func Fittest(points [][]float64, n int) []int {
	ranks := Ranks(points)
	var out []int
	for rank := 0; len(out) < min(n, len(points)); rank++ {
		front := list.Places(len(ranks), func(i int) bool { return ranks[i] == rank })
		room := crowding(points, front)
		slices.SortStableFunc(front, func(i, j int) int { return cmp.Compare(room[j], room[i]) })
		out = append(out, front...)
	}
	return out[:min(n, len(out))]
}

// crowding is the crowding distance of each point of a front: how far its neighbours are from
// each other, in shares of the front's extent, added over the losses; without end where it
// has one neighbour alone.
func crowding(points [][]float64, front []int) map[int]float64 {
	room := make(map[int]float64, len(front))
	for loss := range points[front[0]] {
		order := slices.Clone(front)
		slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(points[i][loss], points[j][loss]) })
		at := func(k int) float64 { return points[order[k]][loss] }
		last := len(order) - 1
		extent := at(last) - at(0)
		for k, i := range order {
			switch {
			case k == 0 || k == last:
				room[i] = math.Inf(1)
			case extent > 0 && !math.IsInf(extent, 1): // also where a loss is no number
				room[i] += (at(k+1) - at(k-1)) / extent
			}
		}
	}
	return room
}
