package nn

import "github.com/fedfast/fedfast/kernels"

// groupNormTangents is what a group normalisation that takes tangents along has
// besides. The tangent of z = (x - mean)*scale is dz = scale*(dx - first -
// z*second), with the means first of dx and second of z*dx over a group.
type groupNormTangents struct {
	first, second []float64 // of each sample's groups
	// Two sums over an image for each channel: of the output's gradient and its
	// product with x; of its tangent and the product of that; of its product with
	// the tangent of x.
	dy, along, cross [2][]float64
	// shifted holds factors as kernels.ImageNorm does, for the part of the tangent
	// of the input's gradient that goes by dy and x; part is the other one, for an
	// image.
	shifted kernels.ImageNorm
	part    Act
	zero    []float32
}

func newGroupNormTangents(b *boundGroupNorm, e *Env) *groupNormTangents {
	n, ld := e.Samples*b.l.Groups, b.in.Ld()
	t := &groupNormTangents{
		first: make([]float64, n), second: make([]float64, n),
		shifted: kernels.ImageNorm{H: b.in.H, W: b.in.W, C: ld, Value: e.Arena.Alloc(ld), Shift: e.Arena.Alloc(ld), Grad: e.Arena.Alloc(ld)},
		part:    newAct(e.Arena, b.in, 1, Border{}, 1, false), zero: e.Arena.Alloc(ld),
	}
	for _, s := range []*[2][]float64{&t.dy, &t.along, &t.cross} {
		*s = [2][]float64{make([]float64, ld), make([]float64, ld)}
	}
	return t
}

// backward runs kernels.NormBackward on image i of all.
func backward(n *kernels.ImageNorm, dx, dy, x Act, i int) {
	n.X, n.XRow = x.At(i, 0, 0), x.Row
	n.Y, n.YRow = dy.At(i, 0, 0), dy.Row
	n.DX, n.DXRow = dx.At(i, 0, 0), dx.Row
	kernels.NormBackward(n)
}

// sumsOf computes, for each channel of image i, the sum of v and that of v*x.
func (s *groupNormState) sumsOf(to [2][]float64, v, x Act, i int) {
	n := s.norm
	n.Sum, n.Inner = to[0], to[1]
	n.X, n.XRow = x.At(i, 0, 0), x.Row
	n.Y, n.YRow = v.At(i, 0, 0), v.Row
	kernels.NormSums(&n)
}

// forwardTangents computes weight*dz and the parts of the direction's weight and
// bias for sample i.
func (s *groupNormState) forwardTangents(r *Run, i int) {
	t, n, values := s.tangents, &s.norm, s.b.values()
	x, y := s.x.Tangent(), s.y.Tangent()
	s.sumsOf(t.dy, x, s.x, i)
	for g := range s.b.l.Groups {
		at := i*s.b.l.Groups + g
		mean, scale := s.mean[at], s.scale[at]
		var sum, inner float64
		lo, hi := s.b.channels(g)
		for c := lo; c < hi; c++ {
			sum += t.dy[0][c]
			inner += t.dy[1][c]
		}
		first := sum / values
		second := float64(scale * (inner/values - float64(mean*first)))
		t.first[at], t.second[at] = first, second
		for c := lo; c < hi; c++ {
			grad := float64(scale * float64(r.W[s.weight+c]))
			value := float64(scale * (float64(r.V[s.weight+c]) - float64(grad*second)))
			n.Grad[c], n.Value[c] = float32(grad), float32(value)
			n.Shift[c] = float32(float64(r.V[s.bias+c]) - float64(value*mean) - float64(grad*first))
		}
	}
	backward(n, y, x, s.x, i)
	if s.b.relu {
		maskRows(y, s.y, i, s.b.in.H, s.b.in.W)
	}
}

// backwardTangents is Backward for the tangents of the gradients of sample i; that
// of the input itself is computed, too. With u = dy*weight, and d for tangents,
// over a group of n values,
//
//	dx  = scale * (u - sum(u)/n - z*sum(u z)/n)
//	ddx = scale * (du - sum(du)/n - dz*sum(u z)/n - z*sum(du z + u dz)/n) - scale*second*dx
func (s *groupNormState) backwardTangents(r *Run, dy Act, i int) {
	t, along, x := s.tangents, dy.Tangent(), s.x.Tangent()
	s.sumsOf(t.dy, dy, s.x, i)
	s.sumsOf(t.along, along, s.x, i)
	s.sumsOf(t.cross, dy, x, i)
	gw, gb := r.G[s.weight:][:s.b.in.Ld()], r.G[s.bias:][:s.b.in.Ld()]
	if r.Starts(i) {
		clear(gw)
		clear(gb)
	}
	for g := range s.b.l.Groups {
		s.groupTangents(r, i, g, gw, gb)
	}
	if s.dx.Data == nil {
		return
	}
	dx := s.dx.Tangent()
	backward(&s.norm, s.dx, dy, s.x, i)
	backward(&t.shifted, dx, dy, s.x, i)
	own := s.norm
	own.Shift = t.zero
	own.X, own.XRow = x.At(i, 0, 0), x.Row
	own.Y, own.YRow = along.At(i, 0, 0), along.Row
	own.DX, own.DXRow = t.part.Data, t.part.Row
	kernels.NormBackward(&own)
	addImage(dx, i, t.part, 0, s.b.in)
}

// groupTangents adds the part of a group of sample i to the gradients of weight and
// bias, and sets the factors of its gradient of x and of the tangent of that.
func (s *groupNormState) groupTangents(r *Run, i, g int, gw, gb []float32) {
	t, n := s.tangents, s.b.values()
	at := i*s.b.l.Groups + g
	mean, scale, first, second := s.mean[at], s.scale[at], t.first[at], t.second[at]
	w, v := r.W[s.weight:], r.V[s.weight:]
	var u, uz, du, duz float64 // sums of u, u z, du and du z + u dz
	lo, hi := s.b.channels(g)
	for c := lo; c < hi; c++ {
		wc, vc := float64(w[c]), float64(v[c])
		z := float64(scale * (t.dy[1][c] - float64(mean*t.dy[0][c])))
		dz := float64(scale * (t.cross[1][c] - float64(first*t.dy[0][c]) - float64(second*z)))
		dw := float64(scale*(t.along[1][c]-float64(mean*t.along[0][c]))) + dz
		gb[c] += float32(t.along[0][c])
		gw[c] += float32(dw)
		u += float64(wc * t.dy[0][c])
		uz += float64(wc * z)
		du += float64(wc*t.along[0][c]) + float64(vc*t.dy[0][c])
		duz += float64(wc*dw) + float64(vc*z)
	}
	u, uz, du, duz = u/n, uz/n, du/n, duz/n
	square := float64(scale * scale)
	value := float64(-square * uz)
	slope := float64(2*float64(square*second)*uz) - float64(scale*duz) // of z
	for c := lo; c < hi; c++ {
		wc, vc := float64(w[c]), float64(v[c])
		s.norm.Grad[c], s.norm.Value[c] = float32(scale*wc), float32(value)
		s.norm.Shift[c] = float32(float64(-scale*u) - float64(value*mean))
		t.shifted.Grad[c] = float32(float64(scale*vc) - float64(float64(square*second)*wc))
		t.shifted.Value[c] = float32(scale * slope)
		t.shifted.Shift[c] = float32(float64(float64(square*second)*u) - float64(scale*du) - float64(value*first) - float64(float64(scale*slope)*mean))
	}
}
