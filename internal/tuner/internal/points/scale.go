package points

import (
	"math"
	"slices"

	"github.com/fedfast/fedfast/tuners"
)

// Scale turns the points of a space into the features of a model.
type Scale struct{ Space tuners.Space }

// Features returns a point's features: (s - Lo) / (Hi - Lo) of a dimension with a
// scale; of a choice one number per value, 1 for the one that is taken and 0 for
// the others. A dimension of one value has none.
func (s Scale) Features(p Point) []float64 {
	out := []float64{}
	for i, d := range s.Space {
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

// Draw returns a random point.
func (s Scale) Draw(d *tuners.Draws) Point {
	out := make(Point, len(s.Space))
	for i, dim := range s.Space {
		u := d.Float64()
		switch {
		case dim.Kind == tuners.Choice:
			k := float64(len(dim.Choices))
			out[i] = min(math.Floor(float64(u*k)), k-1)
		case dim.Whole():
			out[i] = min(dim.Lo+math.Floor(float64(u*(dim.Hi-dim.Lo+1))), dim.Hi)
		default:
			out[i] = min(dim.Lo+float64(u*(dim.Hi-dim.Lo)), dim.Hi)
		}
	}
	return out
}

// Near returns the neighbours of a point at a step that is a share of each
// dimension, in a fixed order: up and down by the step, by at least 1 on a whole
// scale, and every other choice.
func (s Scale) Near(p Point, step float64) []Point {
	var out []Point
	with := func(i int, x float64) {
		if x == p[i] {
			return
		}
		q := slices.Clone(p)
		q[i] = x
		out = append(out, q)
	}
	for i, d := range s.Space {
		if d.Kind == tuners.Choice {
			for c := range d.Choices {
				with(i, float64(c))
			}
			continue
		}
		by := float64(step * (d.Hi - d.Lo))
		if d.Whole() {
			by = max(1, math.Round(by))
		}
		with(i, min(p[i]+by, d.Hi))
		with(i, max(p[i]-by, d.Lo))
	}
	return out
}

// Real says whether a dimension is continuous: its points cannot be listed.
func (s Scale) Real() bool {
	return slices.ContainsFunc(s.Space, func(d tuners.Dim) bool {
		return d.Kind != tuners.Choice && !d.Whole() && d.Lo < d.Hi
	})
}
