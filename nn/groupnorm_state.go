package nn

import (
	"math"

	"github.com/fedfast/fedfast/kernels"
)

// groupNormState is a group normalisation in one workspace. Sums over an image are
// taken in float64, pixel after pixel for each channel and then over the channels
// of a group.
type groupNormState struct {
	b            *boundGroupNorm
	weight, bias int // offsets of the parameters
	x, y, dx     Act
	mean, scale  []float64 // of each sample's groups; scale is 1/sqrt(variance + Epsilon)
	first, other []float64 // two sums for each channel
	// dx = grad*dy + value*x + shift, and y = value*x + shift, by channel.
	grad, value, shift []float32
}

func (b *boundGroupNorm) NewState(e *Env) State {
	ld := b.in.Ld()
	s := &groupNormState{
		b: b, weight: e.Offset, bias: e.Offset + ld, y: e.Output(),
		mean: make([]float64, e.Samples*b.l.Groups), scale: make([]float64, e.Samples*b.l.Groups),
		first: make([]float64, b.in.C), other: make([]float64, b.in.C),
		grad: e.Arena.Alloc(ld), value: e.Arena.Alloc(ld), shift: e.Arena.Alloc(ld),
	}
	if e.NeedDX {
		s.dx = e.Gradient()
	}
	return s
}

// channels returns the channels of a group.
func (b *boundGroupNorm) channels(group int) (lo, hi int) {
	n := b.in.C / b.l.Groups
	return group * n, (group + 1) * n
}

// values returns the number of values of a group in one sample.
func (b *boundGroupNorm) values() float64 {
	return float64(b.in.H * b.in.W * (b.in.C / b.l.Groups))
}

func (s *groupNormState) Forward(r *Run, x Act, lo, hi int) Act {
	s.x = x
	for i := lo; i < hi; i++ {
		s.moments(i)
		weight, bias := r.W[s.weight:], r.W[s.bias:]
		for g := range s.b.l.Groups {
			mean, scale := s.mean[i*s.b.l.Groups+g], s.scale[i*s.b.l.Groups+g]
			for c, hi := s.b.channels(g); c < hi; c++ {
				v := float64(scale * float64(weight[c]))
				s.value[c] = float32(v)
				s.shift[c] = float32(float64(bias[c]) - float64(mean*v))
			}
		}
		for y := range s.b.in.H {
			s.apply(s.y.At(i, y, 0), x.At(i, y, 0))
		}
	}
	return s.y
}

// moments computes the mean and scale of each group of sample i. The squares are
// exact in float64, so nothing is lost where the variance is far below the mean.
func (s *groupNormState) moments(i int) {
	clear(s.first)
	clear(s.other)
	ld := s.b.in.Ld()
	for y := range s.b.in.H {
		row := s.x.At(i, y, 0)
		for px := range s.b.in.W {
			first := s.first
			other := s.other[:len(first)]
			for c, v := range row[px*ld:][:len(first)] {
				d := float64(v)
				first[c] += d
				other[c] += float64(d * d)
			}
		}
	}
	n := s.b.values()
	for g := range s.b.l.Groups {
		var sum, squares float64
		for c, hi := s.b.channels(g); c < hi; c++ {
			sum += s.first[c]
			squares += s.other[c]
		}
		mean := sum / n
		variance := max(squares/n-float64(mean*mean), 0)
		s.mean[i*s.b.l.Groups+g] = mean
		s.scale[i*s.b.l.Groups+g] = 1 / math.Sqrt(variance+s.b.l.Epsilon)
	}
}

// apply computes one row y = value*x + shift, followed by the ReLU if there is one.
func (s *groupNormState) apply(y, x []float32) {
	ld := s.b.in.Ld()
	value := s.value[:ld]
	shift := s.shift[:ld]
	for px := range s.b.in.W {
		out := y[px*ld:][:ld]
		for c, v := range x[px*ld:][:ld] {
			out[c] = float32(value[c]*v) + shift[c]
		}
	}
	if n := s.b.in.W * ld; s.b.relu {
		kernels.ReLUBackward(y[:n], y[:n], y[:n])
	}
}

// Backward: with z = (x - mean)*scale and u = dy*weight, over a group of n values,
//
//	dx = scale * (u - sum(u)/n - z*sum(u z)/n)
func (s *groupNormState) Backward(r *Run, dy Act, lo, hi int) Act {
	for i := lo; i < hi; i++ {
		if s.b.relu {
			maskRows(dy, s.y, i, s.b.in.H, s.b.in.W)
		}
		s.sums(i, dy)
		s.parameters(r, i)
		if s.dx.Data == nil {
			continue
		}
		for y := range s.b.in.H {
			s.applyBack(s.dx.At(i, y, 0), dy.At(i, y, 0), s.x.At(i, y, 0))
		}
	}
	return s.dx
}

// sums computes, for each channel, the sum of dy and that of dy*x.
func (s *groupNormState) sums(i int, dy Act) {
	clear(s.first)
	clear(s.other)
	ld := s.b.in.Ld()
	for y := range s.b.in.H {
		grow, xrow := dy.At(i, y, 0), s.x.At(i, y, 0)
		for px := range s.b.in.W {
			first := s.first
			other := s.other[:len(first)]
			x := xrow[px*ld:][:len(first)]
			for c, v := range grow[px*ld:][:len(first)] {
				d := float64(v)
				first[c] += d
				other[c] += float64(d * float64(x[c]))
			}
		}
	}
}

// parameters adds sample i's part of the gradients of weight and bias, and sets the
// factors of its gradient of x.
func (s *groupNormState) parameters(r *Run, i int) {
	n, w := s.b.values(), r.W[s.weight:]
	gw, gb := r.G[s.weight:][:s.b.in.Ld()], r.G[s.bias:][:s.b.in.Ld()]
	if r.Starts(i) {
		clear(gw)
		clear(gb)
	}
	for g := range s.b.l.Groups {
		mean, scale := s.mean[i*s.b.l.Groups+g], s.scale[i*s.b.l.Groups+g]
		var sum, product float64 // of u, and of u and z
		lo, hi := s.b.channels(g)
		for c := lo; c < hi; c++ {
			dw := float64(scale * (s.other[c] - float64(mean*s.first[c])))
			gb[c] += float32(s.first[c])
			gw[c] += float32(dw)
			sum += float64(float64(w[c]) * s.first[c])
			product += float64(float64(w[c]) * dw)
		}
		value := float64(-scale*scale) * product / n
		for c := lo; c < hi; c++ {
			s.grad[c] = float32(scale * float64(w[c]))
			s.value[c] = float32(value)
			s.shift[c] = float32(float64(-scale*sum)/n - float64(value*mean))
		}
	}
}

// applyBack computes one row dx = grad*dy + value*x + shift.
func (s *groupNormState) applyBack(dx, dy, x []float32) {
	ld := s.b.in.Ld()
	grad := s.grad[:ld]
	value := s.value[:ld]
	shift := s.shift[:ld]
	for px := range s.b.in.W {
		to := dx[px*ld:][:ld]
		v := x[px*ld:][:ld]
		for c, g := range dy[px*ld:][:ld] {
			to[c] = float32(grad[c]*g) + (float32(value[c]*v[c]) + shift[c])
		}
	}
}
