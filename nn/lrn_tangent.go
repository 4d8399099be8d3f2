package nn

// lrnTangents is what a local response normalisation that takes tangents along has
// besides, for the channels of a pixel.
type lrnTangents struct{ base, power, q, dq []float64 }

func newLRNTangents(b *boundLRN) lrnTangents {
	t := make([]float64, 4*b.in.C)
	n := b.in.C
	return lrnTangents{t[:n], t[n : 2*n], t[2*n : 3*n], t[3*n:]}
}

// around returns the sum of v over the channels that channel c sees.
func (s *lrnState) around(v []float64, c int) float64 {
	var sum float64
	for _, x := range v[max(c-s.b.l.Radius, 0):min(c+s.b.l.Radius+1, len(v))] {
		sum += x
	}
	return sum
}

// powers computes the tangents of a pixel's base and power = base^-Beta from x and
// its tangent dx.
func (s *lrnState) powers(x, dx, base, power []float32) {
	t := &s.tangents
	for c := range t.q {
		t.q[c] = float64(x[c]) * float64(dx[c])
	}
	for c := range t.base {
		t.base[c] = float64(2*s.b.l.Alpha) * s.around(t.q, c)
		t.power[c] = -s.b.l.Beta * float64(power[c]) / float64(base[c]) * t.base[c]
	}
}

// pixels calls f for every pixel of row y of image i, with where it starts in the
// row and in base and power.
func (s *lrnState) pixels(i, y int, f func(at, from int)) {
	ld := s.b.in.Ld()
	for p := range s.b.in.W {
		f(p*ld, i*s.b.size()+(y*s.b.in.W+p)*ld)
	}
}

// forwardTangents computes dx*power + x*dpower.
func (s *lrnState) forwardTangents(i, y int) {
	t := &s.tangents
	x, dx, to := s.x.At(i, y, 0), s.x.Tangent().At(i, y, 0), s.y.Tangent().At(i, y, 0)
	s.pixels(i, y, func(at, from int) {
		x, dx, base, power := x[at:], dx[at:], s.base[from:], s.power[from:]
		s.powers(x, dx, base, power)
		for c := range t.power {
			to[at+c] = float32(float64(float64(dx[c])*float64(power[c])) + float64(float64(x[c])*t.power[c]))
		}
	})
}

// backwardTangents computes the tangents of
//
//	dx_c = g_c*power_c - 2*Alpha*Beta * x_c * sum of q_j,  q_j = g_j*x_j*power_j/base_j
//
// from the gradient g of the output and its own.
func (s *lrnState) backwardTangents(dy Act, i, y int) {
	t, k := &s.tangents, float64(2*s.b.l.Alpha)*s.b.l.Beta
	x, dx, g, dg := s.x.At(i, y, 0), s.x.Tangent().At(i, y, 0), dy.At(i, y, 0), dy.Tangent().At(i, y, 0)
	to := s.dx.Tangent().At(i, y, 0)
	s.pixels(i, y, func(at, from int) {
		x, dx, g, dg, base, power := x[at:], dx[at:], g[at:], dg[at:], s.base[from:], s.power[from:]
		s.powers(x, dx, base, power)
		for c := range t.q {
			b, p := float64(base[c]), float64(power[c])
			gx := float64(g[c]) * float64(x[c])
			moved := float64(float64(dg[c])*float64(x[c])) + float64(float64(g[c])*float64(dx[c]))
			t.q[c] = gx * p / b
			t.dq[c] = (float64(moved*p) + float64(gx*t.power[c]) - float64(t.q[c]*t.base[c])) / b
		}
		for c := range t.q {
			around := float64(float64(dx[c])*s.around(t.q, c)) + float64(float64(x[c])*s.around(t.dq, c))
			to[at+c] = float32(float64(float64(dg[c])*float64(power[c])) + float64(float64(g[c])*t.power[c]) - float64(k*around))
		}
	})
}
