package nn

import (
	"math"

	"github.com/fedfast/fedfast/kernels"
)

// batchNormState is a batch normalization in one workspace. Sums are taken in float64, for
// each channel over the pixels of a sample, row after row, and then over the samples; of a
// sequence or of vectors over all rows.
type batchNormState struct {
	held
	normWeights
	b                     *boundBatchNorm
	mean, variance, count int // offsets of the buffers
	x, y, dx              Act
	padded                Act       // copy of an input without padding
	center, scale         []float64 // of each channel; scale is 1/sqrt(variance + Epsilon)
	sum, inner            []float64 // of each channel over the batch
	// norm holds two sums for each channel, and the factors: dx = Grad*dy + Value*x
	// + Shift. forward has those of y = Value*x + Shift, which the backward pass of a ReLU
	// needs again.
	norm, forward kernels.ImageNorm
}

func (b *boundBatchNorm) NewState(e *Env) State {
	ld := b.in.Ld()
	floats := func() []float64 { return make([]float64, ld) }
	s := &batchNormState{
		b: b, normWeights: newNormWeights(e, ld, b.l.NoAffine), mean: e.Buffers, variance: e.Buffers + ld, count: e.Buffers + 2*ld,
		center: floats(), scale: floats(), sum: floats(), inner: floats(),
		norm: kernels.ImageNorm{
			H: b.in.H, W: b.in.W, C: ld, ReLU: b.relu,
			Value: e.Arena.Alloc(ld), Shift: e.Arena.Alloc(ld), Grad: e.Arena.Alloc(ld), Sum: floats(), Inner: floats(),
		},
	}
	s.held = e.nearOutput(&s.y)
	s.forward = s.norm
	s.forward.Value, s.forward.Shift = e.Arena.Alloc(ld), e.Arena.Alloc(ld)
	e.nearGradient(&s.dx)
	if b.raw {
		s.padded = newAct(e.Arena, b.in, e.Samples, Border{}, 0)
	}
	return s
}

// images calls f for each image among the samples [lo, hi); rows of sequences or vectors
// are one image of as many rows.
func (s *batchNormState) images(lo, hi int, f func(i int)) {
	if !s.b.in.Image() {
		s.norm.H = s.b.in.Rows(hi - lo)
		s.forward.H = s.norm.H
		f(s.b.in.Rows(lo))
		return
	}
	for i := lo; i < hi; i++ {
		f(i)
	}
}

// row returns how far apart the rows of the images of an Act are.
func (b *boundBatchNorm) row(a Act) int {
	if b.in.Image() {
		return a.Row
	}
	return a.Sample
}

func (s *batchNormState) Forward(r *Run, x Act, lo, hi int) Act {
	if s.b.raw {
		x = s.pad(x, lo, hi)
	}
	switch {
	case !r.whole() && lo == 0:
		for c := range s.b.in.C {
			s.center[c] = float64(r.W[s.mean+c])
			s.scale[c] = 1 / math.Sqrt(max(float64(r.W[s.variance+c]), 0)+s.b.l.Epsilon)
		}
		s.factors(r)
	case r.whole() && !s.b.gathers():
		s.gather(r, x, lo, hi)
	}
	s.x = x
	s.remake(r, lo, hi)
	s.hold(max(lo, (hi-1)&s.y.Fold), hi)
	return s.y
}

// factors computes those of y from the mean and the scale of each channel.
func (s *batchNormState) factors(r *Run) {
	weight, bias := s.of(r)
	for c := range s.b.in.C {
		v := float64(s.scale[c] * float64(weight[c]))
		s.forward.Value[c] = float32(v)
		s.forward.Shift[c] = float32(float64(bias[c]) - float64(s.center[c]*v))
	}
}

func (s *batchNormState) remake(_ *Run, lo, hi int) {
	n := &s.forward
	s.images(lo, hi, func(i int) {
		n.X, n.XRow = s.x.At(i, 0, 0), s.b.row(s.x)
		n.Y, n.YRow = s.y.At(i, 0, 0), s.b.row(s.y)
		kernels.NormForward(n)
	})
	s.hold(lo, hi)
}

// pad copies samples of the network's input.
func (s *batchNormState) pad(x Act, lo, hi int) Act {
	f := s.b.in
	for i := lo; i < hi; i++ {
		for y := range f.H {
			for p := range f.W {
				copy(s.padded.At(i, y, p)[:f.C], x.At(i, y, p))
			}
		}
	}
	return s.padded
}

func (s *batchNormState) gathers() bool { return s.b.gathers() }

func (s *batchNormState) gather(r *Run, x Act, lo, hi int) {
	s.sums(s.sum, s.inner, x, x, lo, hi)
	if hi == r.N {
		s.moments(r)
		s.factors(r)
	}
}

// moments computes the mean and the scale of each channel from the sums of its values and of
// their squares, and moves the running statistics. The squares are exact in float64, so
// nothing is lost where the variance is far below the mean.
func (s *batchNormState) moments(r *Run) {
	m := s.values(r.N)
	q := s.b.l.Momentum
	switch {
	case r.share > 0:
		q = r.share
	case r.still:
		q = 0
	case s.b.l.Cumulative:
		r.W[s.count]++
		q = 1 / float64(r.W[s.count])
	}
	for c := range s.b.in.C {
		s.center[c] = s.sum[c] / m
		v := max(s.inner[c]/m-float64(s.center[c]*s.center[c]), 0)
		s.scale[c] = 1 / math.Sqrt(v+s.b.l.Epsilon)
		if q == 0 {
			continue
		}
		mean, variance := &r.W[s.mean+c], &r.W[s.variance+c]
		*mean = float32(float64((1-q)*float64(*mean)) + float64(q*s.center[c]))
		*variance = float32(float64((1-q)*float64(*variance)) + float64(q*(v*m/max(m-1, 1))))
	}
}

// values returns how many values each channel has in a number of samples.
func (s *batchNormState) values(samples int) float64 {
	return float64(s.b.in.Rows(samples) * s.b.in.H * s.b.in.W)
}

// sums computes, for each channel, the sum of v and that of v*x over the samples [0, hi), of
// which it has those over [0, lo).
func (s *batchNormState) sums(sum, inner []float64, v, x Act, lo, hi int) {
	s.sumUp(sum, inner, &s.norm, kernels.NormSums, v, x, lo, hi)
}

// sumUp is sums by one of kernels' functions, which may change v.
func (s *batchNormState) sumUp(sum, inner []float64, n *kernels.ImageNorm, by func(*kernels.ImageNorm), v, x Act, lo, hi int) {
	if lo == 0 {
		clear(sum)
		clear(inner)
	}
	s.images(lo, hi, func(i int) {
		n.X, n.XRow = x.At(i, 0, 0), s.b.row(x)
		n.Y, n.YRow = v.At(i, 0, 0), s.b.row(v)
		by(n)
		add(sum, n.Sum)
		add(inner, n.Inner)
	})
}

// add adds some numbers to others.
func add(to, some []float64) {
	for i, x := range some {
		to[i] += x
	}
}

// Backward: with z = (x - mean)*scale and u = dy*weight, over the n values of a channel,
//
//	dx = scale * (u - sum(u)/n - z*sum(u z)/n)
func (s *batchNormState) Backward(r *Run, dy Act, lo, hi int) Act {
	if !s.b.gathers() {
		s.gatherBack(r, dy, lo, hi)
	}
	if s.dx.Data != nil {
		s.images(lo, hi, func(i int) { s.input(&s.norm, s.dx, dy, s.x, i, i) })
	}
	return s.dx
}

func (s *batchNormState) gatherBack(r *Run, dy Act, lo, hi int) {
	by := kernels.NormSums
	if s.b.relu {
		by = kernels.NormSlopeSums
	}
	s.sumUp(s.sum, s.inner, &s.forward, by, dy, s.x, lo, hi)
	if hi < r.N {
		return
	}
	weight, _ := s.of(r)
	gw, gb := s.gradients(r, true)
	m, n := s.values(r.N), &s.norm
	for c := range s.b.in.C {
		mean, scale, w := s.center[c], s.scale[c], float64(weight[c])
		dw := float64(scale * (s.inner[c] - float64(mean*s.sum[c])))
		gw[c], gb[c] = float32(dw), float32(s.sum[c])
		grad := float64(scale * w)
		value := float64(-grad*scale) * dw / m
		n.Grad[c], n.Value[c] = float32(grad), float32(value)
		n.Shift[c] = float32(float64(-grad*s.sum[c])/m - float64(value*mean))
	}
}

// input computes image to of dx from image i of dy and x.
func (s *batchNormState) input(n *kernels.ImageNorm, dx, dy, x Act, to, i int) {
	n.H = s.norm.H
	n.X, n.XRow = x.At(i, 0, 0), s.b.row(x)
	n.Y, n.YRow = dy.At(i, 0, 0), s.b.row(dy)
	n.DX, n.DXRow = dx.At(to, 0, 0), s.b.row(dx)
	kernels.NormBackward(n)
}
