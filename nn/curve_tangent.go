package nn

import (
	"math"

	"github.com/fedfast/fedfast/kernels"
)

// curveTangents is what a smooth activation that takes tangents along has besides: the
// floats of a row of an image or a sequence that its second derivative is made of.
type curveTangents struct{ bend, arg, slope []float32 }

func newCurveTangents(b *boundCurve, e *Env) *curveTangents {
	n := b.in.W * b.in.Ld()
	return &curveTangents{e.Arena.Alloc(n), e.Arena.Alloc(n), e.Arena.Alloc(n)}
}

// forwardTangents computes the tangents dy of y = f(x) from those of x, and the tangents of
// the slope f'(x), for a row of values.
func (s *curveState) forwardTangents(dy, dslope, y, slope, x, dx []float32) {
	s.bends(y, slope, x)
	bend := s.tangents.bend[:len(x)]
	kernels.Mul(dslope, bend, dx)
	kernels.Mul(dy, slope, dx)
}

// backwardTangents turns the tangents along of the gradient g of a row of outputs into
// those of its inputs, before g is turned itself.
func (s *curveState) backwardTangents(along, g []float32, i, row int) {
	n := len(g)
	part := s.tangents.bend[:n]
	kernels.Mul(part, g, s.slope.Tangent().At(i, row, 0)[:n])
	kernels.Mul(along, along, s.slope.At(i, row, 0)[:n])
	kernels.Add(along, along, part)
}

// bends computes the second derivatives at x, where y and slope are the activation and
// its first one.
func (s *curveState) bends(y, slope, x []float32) {
	n := len(x)
	to, arg, part := s.tangents.bend[:n], s.tangents.arg[:n], s.tangents.slope[:n]
	if s.b.bent != nil {
		clear(to)
		return
	}
	switch s.b.curve {
	case kernels.CurveSigmoid: // y' (1 - 2y)
		for i, v := range y {
			to[i] = slope[i] * (1 - 2*v)
		}
	case kernels.CurveTanh: // -2 y y'
		for i, v := range y {
			to[i] = -2 * v * slope[i]
		}
	case kernels.CurveSiLU: // p' (2 + x (1 - 2p)) of the sigmoid p
		kernels.Curves(kernels.CurveSigmoid, arg, part, x)
		for i, p := range arg {
			to[i] = part[i] * (2 + float32(x[i]*(1-2*p)))
		}
	case kernels.CurveGELU: // the normal density times 2 - x²; e^-u = p/(1-p) of p = sigmoid(-u)
		for i, v := range x {
			arg[i] = -0.5 * v * v
		}
		kernels.Curves(kernels.CurveSigmoid, arg, part, arg)
		for i, p := range arg {
			to[i] = float32(1/math.Sqrt(2*math.Pi)) * (p / (1 - p)) * (2 - float32(x[i]*x[i]))
		}
	case kernels.CurveGELUTanh:
		s.bendsGELUTanh(x)
	case kernels.CurveHardSwish:
		for i, v := range x {
			to[i] = 0
			if v > -3 && v < 3 {
				to[i] = 1.0 / 3
			}
		}
	case kernels.CurveHardSigmoid:
		clear(to)
	}
}

// bendsGELUTanh does so for y = x (1 + t)/2, t = tanh(u), u = k (x + a x³):
//
//	y” = (1 - t²) (u' + x (u”/2 - t u'²)),   u' = k (1 + 3 a x²),   u” = 6 k a x
func (s *curveState) bendsGELUTanh(x []float32) {
	const a = 0.044715
	const k = 0.7978845608028654 // sqrt(2/pi)
	n := len(x)
	to, t, slope := s.tangents.bend[:n], s.tangents.arg[:n], s.tangents.slope[:n]
	for i, v := range x {
		t[i] = k * (v + float32(a*float32(v*float32(v*v))))
	}
	kernels.Curves(kernels.CurveTanh, t, slope, t)
	for i, v := range x {
		first := float32(k * (1 + float32(3*a*float32(v*v))))
		inner := float32(3*k*a*v) - float32(t[i]*float32(first*first))
		to[i] = slope[i] * (first + float32(v*inner))
	}
}
