package glyphs

// A field is a smooth random displacement over the unit square: a uniform
// quadratic B-spline on a small lattice of random vectors.
type field [fieldSide][fieldSide]point

const fieldSide = 5

// draw fills f with vectors of components in (-1, 1).
func (f *field) draw(s *stream) {
	for i := range f {
		for j := range f[i] {
			f[i][j] = point{s.span(-1, 1), s.span(-1, 1)}
		}
	}
}

// at returns the displacement at (u, v) of the unit square.
func (f *field) at(u, v float64) point {
	i, a := splineWeights(u)
	j, b := splineWeights(v)
	var d point
	for y := range b {
		for x := range a {
			w := float64(a[x] * b[y])
			q := f[j+y][i+x]
			d.x += float64(w * q.x)
			d.y += float64(w * q.y)
		}
	}
	return d
}

// splineWeights returns the first of the three lattice lines that act at t and
// their weights.
func splineWeights(t float64) (first int, w [3]float64) {
	t = float64(min(max(t, 0), 1) * (fieldSide - 2))
	first = min(int(t), fieldSide-3)
	t -= float64(first)
	w[0] = float64((1-t)*(1-t)) / 2
	w[2] = float64(t*t) / 2
	w[1] = 1 - w[0] - w[2]
	return first, w
}
