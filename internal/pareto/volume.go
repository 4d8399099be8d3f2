package pareto

import (
	"cmp"
	"math"
	"slices"

	"github.com/fedfast/fedfast/internal/list"
)

// Reference is a point that is worse than all points, a tenth beyond the worst of each loss,
// as Optuna takes it. Losses must be finite.
func Reference(points [][]float64) []float64 {
	ref := slices.Clone(points[0])
	for _, p := range points[1:] {
		for i, x := range p {
			ref[i] = max(ref[i], x)
		}
	}
	for i, worst := range ref {
		if ref[i] = max(float64(1.1*worst), float64(0.9*worst)); ref[i] == 0 {
			ref[i] = Least
		}
	}
	return ref
}

// Least stands for a loss, or a weight, of 0 where that would mean nothing.
const Least = 1e-12

// Volume is the hypervolume of points: how much of the space that a reference bounds is
// dominated by one of them.
func Volume(points [][]float64, ref []float64) float64 {
	inside := list.Where(points, func(p []float64) bool { return within(p, ref) })
	return volume(inside, ref)
}

func within(p, ref []float64) bool {
	for i, x := range p {
		if !(x < ref[i]) {
			return false
		}
	}
	return true
}

// volume slices the space along the last loss: above each point's the points so far
// dominate the same of the other losses.
func volume(points [][]float64, ref []float64) float64 {
	last := len(ref) - 1
	if len(points) == 0 {
		return 0
	}
	if last == 0 {
		least := slices.MinFunc(points, func(a, b []float64) int { return cmp.Compare(a[0], b[0]) })
		return ref[0] - least[0]
	}
	points = slices.Clone(points)
	slices.SortStableFunc(points, func(a, b []float64) int { return cmp.Compare(a[last], b[last]) })
	sum := 0.0
	var base [][]float64
	for i, p := range points {
		if !slices.ContainsFunc(base, func(q []float64) bool { return !beats(p[:last], q) }) {
			base = append(slices.DeleteFunc(base, func(q []float64) bool { return !beats(q, p[:last]) }), p[:last])
		}
		next := ref[last]
		if i+1 < len(points) {
			next = points[i+1][last]
		}
		if next > p[last] {
			sum += float64(volume(base, ref[:last]) * (next - p[last]))
		}
	}
	return sum
}

// beats reports whether a is better than b in one of the losses.
func beats(a, b []float64) bool {
	for i := range a {
		if a[i] < b[i] {
			return true
		}
	}
	return false
}

// Subset returns the indices of n points, picked one after the other, each time the one
// that adds the most to the volume of those before it, of equal ones the first.
func Subset(points [][]float64, n int, ref []float64) []int {
	// What a point adds shrinks as others are picked, so the last known is a bound.
	bound := list.Of(points, func(p []float64) float64 { return Volume([][]float64{p}, ref) })
	var out []int
	var picked [][]float64
	have := 0.0
	for len(out) < min(n, len(points)) {
		best, most := -1, math.Inf(-1)
		order := list.Places(len(points), func(i int) bool { return !slices.Contains(out, i) })
		slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(bound[j], bound[i]) })
		for _, i := range order {
			if bound[i] < most {
				break
			}
			bound[i] = Volume(append(slices.Clip(picked), points[i]), ref) - have
			if bound[i] > most || bound[i] == most && i < best {
				best, most = i, bound[i]
			}
		}
		out = append(out, best)
		picked = append(picked, points[best])
		have += most
	}
	return out
}

// Contributions returns what the volume of points would lose without each of them.
func Contributions(points [][]float64, ref []float64) []float64 {
	whole, out := Volume(points, ref), make([]float64, len(points))
	for i := range points {
		out[i] = whole - Volume(slices.Delete(slices.Clone(points), i, i+1), ref)
	}
	return out
}
