// Package points has the points of a search space as numbers, as models of scores
// take them.
package points

import (
	"fmt"
	"slices"

	"github.com/fedfast/fedfast/internal/list"
	"github.com/fedfast/fedfast/tuners"
)

// Point is a point of a space: one number per dimension, on its drawn scale, or the
// index of a choice.
type Point []float64

// Of returns the point of params.
func Of(space tuners.Space, p tuners.Params) Point {
	out := make(Point, len(space))
	for i, d := range space {
		if d.Kind == tuners.Choice {
			out[i] = float64(max(0, slices.Index(d.Choices, p[d.Name])))
		} else {
			out[i] = d.Scale(p[d.Name])
		}
	}
	return out
}

// Params returns the params of the point, without those of dimensions whose condition it
// does not meet.
func (p Point) Params(space tuners.Space) tuners.Params {
	out := make(tuners.Params, len(space))
	for i, d := range space {
		if d.Kind == tuners.Choice {
			out[d.Name] = d.Choices[int(p[i])]
		} else {
			out[d.Name] = d.Value(p[i])
		}
	}
	return space.Active(out)
}

// Check returns an error unless the point has a number for each dimension, a choice
// one of those that there are.
func (p Point) Check(space tuners.Space) error {
	if len(p) != len(space) {
		return fmt.Errorf("%d coordinates, the space has %d dimensions", len(p), len(space))
	}
	for i, d := range space {
		if d.Kind == tuners.Choice && (p[i] < 0 || int(p[i]) >= len(d.Choices)) {
			return fmt.Errorf("choice %v of %s, which has %d", p[i], d.Name, len(d.Choices))
		}
	}
	return nil
}

// Free returns the indices of the dimensions that have more than one value.
func Free(space tuners.Space) []int {
	return list.Places(len(space), func(i int) bool {
		d := &space[i]
		return d.Kind == tuners.Choice && len(d.Choices) > 1 || d.Kind != tuners.Choice && d.Lo < d.Hi
	})
}

// At returns the point with the given numbers at the dimensions that are free, and
// whatever the space has at the others.
func At(space tuners.Space, free []int, x []float64) Point {
	out := make(Point, len(space))
	for i, d := range space {
		if d.Kind != tuners.Choice {
			out[i] = d.Lo
		}
	}
	for i, dim := range free {
		out[dim] = x[i]
	}
	return out
}

// Project returns the numbers of a point at the dimensions that are free.
func (p Point) Project(free []int) []float64 {
	return list.Of(free, func(dim int) float64 { return p[dim] })
}
