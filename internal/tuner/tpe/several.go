package tpe

import (
	"slices"

	"github.com/fedfast/fedfast/internal/list"
	"github.com/fedfast/fedfast/internal/pareto"
	"github.com/fedfast/fedfast/internal/tuner/internal/guided"
	"github.com/fedfast/fedfast/tuners"
)

// fittest returns n of the feasible trials in several objectives, as MOTPE splits (Ozaki et
// al. 2022) in Optuna's form: whole fronts, and of the one that does not fit those that
// together have the largest hypervolume.
func fittest(trials []guided.Trial, feasible []int, n int) []int {
	losses := list.Of(feasible, func(i int) []float64 { return trials[i].Losses })
	ranks := pareto.Ranks(losses)
	var out []int
	for rank := 0; len(out) < n; rank++ {
		var front []int
		var points [][]float64
		for k, i := range feasible {
			if ranks[k] == rank {
				front, points = append(front, i), append(points, losses[k])
			}
		}
		if len(front) <= n-len(out) {
			out = append(out, front...)
			continue
		}
		for _, k := range pareto.Subset(points, n-len(out), pareto.Reference(points)) {
			out = append(out, front[k])
		}
	}
	return out
}

// worths are the weights of good trials in several objectives, what each adds to their
// hypervolume in shares of the largest; nil with one objective. Trials beyond a constraint
// have next to none.
func worths(aims tuners.Aims, good []guided.Trial) []float64 {
	if len(aims.Objectives) < 2 || len(good) == 0 {
		return nil
	}
	out := slices.Repeat([]float64{pareto.Least}, len(good))
	var points [][]float64
	var at []int
	for i, t := range good {
		if t.Violation == 0 {
			points, at = append(points, t.Losses), append(at, i)
		}
	}
	if len(at) == 1 {
		out[at[0]] = 1
	}
	if len(at) < 2 {
		return out
	}
	parts := pareto.Contributions(points, pareto.Reference(points))
	most := max(slices.Max(parts), pareto.Least)
	for k, x := range parts {
		out[at[k]] = min(max(x/most, pareto.Least), 1)
	}
	return out
}
