package result

import (
	"github.com/fedfast/fedfast/internal/pareto"
	"github.com/fedfast/fedfast/tuners"
)

// Front returns the indices of trials on the Pareto front: of those that are feasible, the
// ones that no other beats in all objectives. values are theirs by metric, nil for a trial
// that does not count.
func Front(aims tuners.Aims, values []map[string]float64) []int {
	var able, front []int
	var points [][]float64
	for i, v := range values {
		if v != nil && aims.Violation(v) == 0 {
			able, points = append(able, i), append(points, aims.Losses(v))
		}
	}
	for k, rank := range pareto.Ranks(points) {
		if rank == 0 {
			front = append(front, able[k])
		}
	}
	return front
}
