package nn

// rowNormTangents is what a normalisation of rows that takes tangents along has
// besides. With z = (x - mean)*scale, the tangent of z is
//
//	dz = scale * (dx - mean(dx) - z*second),   second = mean(z dx)
//
// over a row, where mean(dx) counts as 0 in an RMSNorm.
type rowNormTangents struct {
	first, second []float64 // mean(dx) and second of each row
	z, dz, u, du  []float64 // of one row
}

func newRowNormTangents(rows, n int) *rowNormTangents {
	all := make([]float64, 2*rows+4*n)
	t := &rowNormTangents{first: all[:rows], second: all[rows:][:rows]}
	for i, f := range []*[]float64{&t.z, &t.dz, &t.u, &t.du} {
		*f = all[2*rows+i*n:][:n]
	}
	return t
}

// normalized computes z of a row x.
func (s *rowNormState) normalized(x []float32, at int) []float64 {
	mean, scale := float64(s.mean[at]), float64(s.scale[at])
	z := s.tangents.z
	for c := range z {
		z[c] = (float64(x[c]) - mean) * scale
	}
	return z
}

// forwardTangents computes the tangents of the output, weight*dz and the parts of the
// direction's weight and bias, for count rows from row of sample i on.
func (s *rowNormState) forwardTangents(r *Run, i, row, at, count int) {
	t, f := s.tangents, s.b.in
	x, dx, y := s.x.At(i, row, 0), s.x.Tangent().At(i, row, 0), s.y.Tangent().At(i, row, 0)
	w, v, bias := r.W[s.weight:][:f.C], r.V[s.weight:][:f.C], []float32(nil)
	if s.b.center {
		bias = r.V[s.bias:][:f.C]
	}
	ldx, ldy := s.b.apart(s.x), s.b.apart(s.y)
	for k := range count {
		z, d, to := s.normalized(x[k*ldx:], at+k), dx[k*ldx:][:f.C], y[k*ldy:][:f.C]
		var first, second float64
		for c, v := range d {
			first += float64(v)
			second += float64(z[c] * float64(v))
		}
		first, second = first/float64(f.C), second/float64(f.C)
		if !s.b.center {
			first = 0
		}
		t.first[at+k], t.second[at+k] = first, second
		scale := float64(s.scale[at+k])
		for c := range to {
			dz := scale * (float64(d[c]) - first - float64(z[c]*second))
			sum := float64(float64(w[c])*dz) + float64(float64(v[c])*z[c])
			if bias != nil {
				sum += float64(bias[c])
			}
			to[c] = float32(sum)
		}
	}
}

// backwardTangents is the backward pass for the tangents of the gradients of the same
// rows; that of the input itself is computed, too. With u = dy*weight, and d for
// tangents,
//
//	dx  = scale * (u - mean(u) - z*mean(u z))
//	ddx = scale * (du - mean(du) - dz*mean(u z) - z*mean(du z + u dz) - second*dx)
func (s *rowNormState) backwardTangents(r *Run, dy Act, i, row, at, count int) {
	f := s.b.in
	x, dx := s.x.At(i, row, 0), s.x.Tangent().At(i, row, 0)
	g, along := dy.At(i, row, 0), dy.Tangent().At(i, row, 0)
	ldx, ldy := s.b.apart(s.x), s.b.apart(dy)
	for k := range count {
		z := s.normalized(x[k*ldx:], at+k)
		s.rowTangents(r, z, dx[k*ldx:][:f.C], g[k*ldy:][:f.C], along[k*ldy:][:f.C], at+k)
		if s.dx.Data != nil {
			ld := k * s.b.apart(s.dx)
			s.inputTangents(s.dx.At(i, row, 0)[ld:][:f.C], s.dx.Tangent().At(i, row, 0)[ld:][:f.C], at+k)
		}
	}
}

// rowTangents adds the tangents of a row's gradients of weight and bias, and leaves dz,
// u and du.
func (s *rowNormState) rowTangents(r *Run, z []float64, dx, g, along []float32, at int) {
	t := s.tangents
	first, second, scale := t.first[at], t.second[at], float64(s.scale[at])
	w, v, gw, gb := r.W[s.weight:], r.V[s.weight:], s.grad.WeightGrad, s.grad.BiasGrad
	for c := range z {
		dz := scale * (float64(dx[c]) - first - float64(z[c]*second))
		y, dy := float64(g[c]), float64(along[c])
		t.dz[c] = dz
		t.u[c] = y * float64(w[c])
		t.du[c] = float64(dy*float64(w[c])) + float64(y*float64(v[c]))
		gw[c] += float32(float64(dy*z[c]) + float64(y*dz))
		gb[c] += along[c]
	}
}

// inputTangents computes the gradient of a row of the input and its tangents of what
// rowTangents left.
func (s *rowNormState) inputTangents(to, along []float32, at int) {
	t := s.tangents
	var u, uz, du, duz float64
	for c, z := range t.z {
		u += t.u[c]
		du += t.du[c]
		uz += float64(t.u[c] * z)
		duz += float64(t.du[c]*z) + float64(t.u[c]*t.dz[c])
	}
	n := float64(len(t.z))
	u, uz, du, duz = u/n, uz/n, du/n, duz/n
	if !s.b.center {
		u, du = 0, 0
	}
	scale, second := float64(s.scale[at]), t.second[at]
	for c, z := range t.z {
		dx := scale * (t.u[c] - u - float64(z*uz))
		to[c] = float32(dx)
		along[c] = float32(scale * (t.du[c] - du - float64(t.dz[c]*uz) - float64(z*duz) - float64(second*dx)))
	}
}
