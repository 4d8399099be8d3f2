package bo

import (
	"math"
	"slices"

	"github.com/fedfast/fedfast/internal/tuner/internal/points"
	"github.com/fedfast/fedfast/tuners"
)

type point = points.Point

// scale turns points into the model's features.
type scale struct{ space tuners.Space }

// features returns a point's features: (s - Lo) / (Hi - Lo) of a dimension with a
// scale; of a choice one number per value, 1 for the one that is taken and 0 for
// the others. A dimension of one value has none.
func (s scale) features(p point) []float64 {
	out := []float64{}
	for i, d := range s.space {
		switch {
		case d.Kind == tuners.Choice && len(d.Choices) > 1:
			at := len(out)
			out = append(out, make([]float64, len(d.Choices))...)
			out[at+int(p[i])] = 1
		case d.Kind != tuners.Choice && d.Hi > d.Lo:
			out = append(out, (p[i]-d.Lo)/(d.Hi-d.Lo))
		}
	}
	return out
}

// draw returns a random point.
func (s scale) draw(d *tuners.Draws) point {
	out := make(point, len(s.space))
	for i, dim := range s.space {
		u := d.Float64()
		switch dim.Kind {
		case tuners.Choice:
			k := float64(len(dim.Choices))
			out[i] = min(math.Floor(float64(u*k)), k-1)
		case tuners.Int, tuners.Log2:
			out[i] = min(dim.Lo+math.Floor(float64(u*(dim.Hi-dim.Lo+1))), dim.Hi)
		default:
			out[i] = min(dim.Lo+float64(u*(dim.Hi-dim.Lo)), dim.Hi)
		}
	}
	return out
}

// near returns the neighbours of a point at a step that is a share of each
// dimension, in a fixed order: up and down by the step, by at least 1 on a whole
// scale, and every other choice.
func (s scale) near(p point, step float64) []point {
	var out []point
	with := func(i int, x float64) {
		if x == p[i] {
			return
		}
		q := slices.Clone(p)
		q[i] = x
		out = append(out, q)
	}
	for i, d := range s.space {
		if d.Kind == tuners.Choice {
			for c := range d.Choices {
				with(i, float64(c))
			}
			continue
		}
		by := float64(step * (d.Hi - d.Lo))
		if points.Whole(d) {
			by = max(1, math.Round(by))
		}
		with(i, min(p[i]+by, d.Hi))
		with(i, max(p[i]-by, d.Lo))
	}
	return out
}

// real says whether a dimension is continuous: its points cannot be listed.
func (s scale) real() bool {
	return slices.ContainsFunc(s.space, func(d tuners.Dim) bool {
		return d.Kind != tuners.Choice && !points.Whole(d) && d.Lo < d.Hi
	})
}
