package nn

import "github.com/fedfast/fedfast/kernels"

// batchNormTangents is what a batch normalization that takes tangents along has besides.
// The tangent of z = (x - mean)*scale is dz = scale*(dx - first - z*second), with the
// means first of dx and second of z*dx over a channel.
type batchNormTangents struct {
	first, second []float64 // of each channel
	// Two sums for each channel: of the output's gradient and its product with x; of its
	// tangent and the product of that; of its product with the tangent of x.
	dy, along, cross [2][]float64
	// shifted holds factors as kernels.ImageNorm does, for the part of the tangent of the
	// input's gradient that goes by dy and x; part is the other one.
	shifted kernels.ImageNorm
	part    Act
	zero    []float32
}

func newBatchNormTangents(b *boundBatchNorm, e *Env) *batchNormTangents {
	ld, samples := b.in.Ld(), e.Samples
	if b.in.Image() {
		samples = 1
	}
	t := &batchNormTangents{
		first: make([]float64, ld), second: make([]float64, ld),
		shifted: kernels.ImageNorm{H: b.in.H, W: b.in.W, C: ld, Value: e.Arena.Alloc(ld), Shift: e.Arena.Alloc(ld), Grad: e.Arena.Alloc(ld)},
		part:    newAct(e.Arena, b.in, samples, Border{}, 0, false), zero: e.Arena.Alloc(ld),
	}
	for _, s := range []*[2][]float64{&t.dy, &t.along, &t.cross} {
		*s = [2][]float64{make([]float64, ld), make([]float64, ld)}
	}
	return t
}

// forwardTangents computes weight*dz and the parts of the direction's weight and bias.
func (s *batchNormState) forwardTangents(r *Run, lo, hi int) {
	t, n, m := s.tangents, &s.norm, s.values(hi-lo)
	x, y := s.x.Tangent(), s.y.Tangent()
	s.sums(t.dy[0], t.dy[1], x, s.x, lo, hi)
	weight, _ := s.parameters(r)
	for c := range s.b.in.C {
		mean, scale := s.center[c], s.scale[c]
		first := t.dy[0][c] / m
		second := float64(scale * (t.dy[1][c]/m - float64(mean*first)))
		t.first[c], t.second[c] = first, second
		dw, db := s.direction(r, c)
		grad := float64(scale * float64(weight[c]))
		value := float64(scale * (dw - float64(grad*second)))
		n.Grad[c], n.Value[c] = float32(grad), float32(value)
		n.Shift[c] = float32(db - float64(value*mean) - float64(grad*first))
	}
	s.images(lo, hi, func(i int) { s.input(n, y, x, s.x, i, i) })
	if s.b.relu {
		for i := s.b.in.Rows(lo); i < s.b.in.Rows(hi); i++ {
			maskRows(y, s.y, i, s.b.in.H, s.b.in.W)
		}
	}
}

// direction returns that of a channel's weight and bias.
func (s *batchNormState) direction(r *Run, c int) (weight, bias float64) {
	if s.b.l.NoAffine {
		return 0, 0
	}
	return float64(r.V[s.weight+c]), float64(r.V[s.bias+c])
}

// backwardTangents is Backward for the tangents of the gradients; that of the input
// itself is computed, too. With u = dy*weight, and d for tangents, over the n values of a
// channel,
//
//	dx  = scale * (u - sum(u)/n - z*sum(u z)/n)
//	ddx = scale * (du - sum(du)/n - dz*sum(u z)/n - z*sum(du z + u dz)/n) - scale*second*dx
func (s *batchNormState) backwardTangents(r *Run, dy Act, lo, hi int) {
	t, along, x := s.tangents, dy.Tangent(), s.x.Tangent()
	s.sums(t.dy[0], t.dy[1], dy, s.x, lo, hi)
	s.sums(t.along[0], t.along[1], along, s.x, lo, hi)
	s.sums(t.cross[0], t.cross[1], dy, x, lo, hi)
	gw, gb := s.gradients(r)
	weight, _ := s.parameters(r)
	m := s.values(hi - lo)
	for c := range s.b.in.C {
		s.channelTangents(r, c, m, float64(weight[c]), gw, gb)
	}
	if s.dx.Data == nil {
		return
	}
	dx, own := s.dx.Tangent(), s.norm
	own.Shift = t.zero
	s.images(lo, hi, func(i int) {
		s.input(&s.norm, s.dx, dy, s.x, i, i)
		s.input(&t.shifted, dx, dy, s.x, i, i)
		s.input(&own, t.part, along, x, 0, i)
		if s.b.in.Image() {
			addImage(dx, i, t.part, 0, s.b.in)
			return
		}
		for row := range s.norm.H {
			addImage(dx, i+row, t.part, row, s.b.in)
		}
	})
}

// channelTangents computes a channel's part of the gradients of weight and bias, and sets
// the factors of its gradient of x and of the tangent of that.
func (s *batchNormState) channelTangents(r *Run, c int, n, w float64, gw, gb []float32) {
	t := s.tangents
	mean, scale, first, second := s.center[c], s.scale[c], t.first[c], t.second[c]
	v, _ := s.direction(r, c)
	z := float64(scale * (t.dy[1][c] - float64(mean*t.dy[0][c])))
	dz := float64(scale * (t.cross[1][c] - float64(first*t.dy[0][c]) - float64(second*z)))
	dw := float64(scale*(t.along[1][c]-float64(mean*t.along[0][c]))) + dz
	gw[c], gb[c] = float32(dw), float32(t.along[0][c])
	u, uz := float64(w*t.dy[0][c])/n, float64(w*z)/n
	du := (float64(w*t.along[0][c]) + float64(v*t.dy[0][c])) / n
	duz := (float64(w*dw) + float64(v*z)) / n
	square := float64(scale * scale)
	value := float64(-square * uz)
	slope := float64(2*float64(square*second)*uz) - float64(scale*duz) // of z
	s.norm.Grad[c], s.norm.Value[c] = float32(scale*w), float32(value)
	s.norm.Shift[c] = float32(float64(-scale*u) - float64(value*mean))
	t.shifted.Grad[c] = float32(float64(scale*v) - float64(float64(square*second)*w))
	t.shifted.Value[c] = float32(scale * slope)
	t.shifted.Shift[c] = float32(float64(float64(square*second)*u) - float64(scale*du) - float64(value*first) - float64(float64(scale*slope)*mean))
}
