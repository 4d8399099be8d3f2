package nn

import (
	"math"

	"github.com/fedfast/fedfast/kernels"
)

// activationTangents is what an activation that takes tangents along has besides: the
// floats of a row of an image or a sequence for its second derivative.
type activationTangents struct {
	bend []float32
	tmp  [2][]float32
}

func newActivationTangents(b *boundActivation, e *Env) *activationTangents {
	n := b.in.W * b.in.Ld()
	return &activationTangents{e.Arena.Alloc(n), [2][]float32{e.Arena.Alloc(n), e.Arena.Alloc(n)}}
}

// forwardTangents computes the tangents dy of y = f(x) from those of x, and the tangents of
// the slope f'(x), for a row of values.
func (s *activationState) forwardTangents(dy, dslope, y, slope, x, dx []float32) {
	n := len(x)
	bend := s.tangents.bend[:n]
	if s.b.bend == nil {
		clear(bend)
	} else {
		s.b.bend(bend, y, slope, x, [2][]float32{s.tangents.tmp[0][:n], s.tangents.tmp[1][:n]})
	}
	kernels.Mul(dslope, bend, dx)
	kernels.Mul(dy, slope, dx)
}

// backwardTangents turns the tangents along of the gradient g of a row of outputs into
// those of its inputs, before g is turned itself.
func (s *activationState) backwardTangents(along, g []float32, i, row int) {
	n := len(g)
	part := s.tangents.bend[:n]
	kernels.Mul(part, g, s.slope.Tangent().At(i, row, 0)[:n])
	kernels.Mul(along, along, s.slope.At(i, row, 0)[:n])
	kernels.Add(along, along, part)
}

// The second derivatives of the activations, see activation.bend.

func bendSigmoid(to, y, slope, _ []float32, _ [2][]float32) { // y' (1 - 2y)
	for i, v := range y {
		to[i] = slope[i] * (1 - 2*v)
	}
}

func bendTanh(to, y, slope, _ []float32, _ [2][]float32) { // -2 y y'
	for i, v := range y {
		to[i] = -2 * v * slope[i]
	}
}

func bendSiLU(to, _, _, x []float32, tmp [2][]float32) { // p' (2 + x (1 - 2p)) of the sigmoid p
	p, slope := tmp[0], tmp[1]
	kernels.Curves(kernels.CurveSigmoid, p, slope, x)
	for i, p := range p {
		to[i] = slope[i] * (2 + float32(x[i]*(1-2*p)))
	}
}

// bendGELU computes the normal density times 2 - x²; e^-u = p/(1-p) of p = sigmoid(-u).
func bendGELU(to, _, _, x []float32, tmp [2][]float32) {
	p := tmp[0]
	for i, v := range x {
		p[i] = -0.5 * v * v
	}
	kernels.Curves(kernels.CurveSigmoid, p, tmp[1], p)
	for i, p := range p {
		to[i] = float32(1/math.Sqrt(2*math.Pi)) * (p / (1 - p)) * (2 - float32(x[i]*x[i]))
	}
}

func bendHardSwish(to, _, _, x []float32, _ [2][]float32) {
	for i, v := range x {
		to[i] = 0
		if v > -3 && v < 3 {
			to[i] = 1.0 / 3
		}
	}
}

// bendGELUTanh goes by y = x (1 + t)/2, t = tanh(u), u = k (x + a x³):
//
//	y” = (1 - t²) (u' + x (u”/2 - t u'²)),   u' = k (1 + 3 a x²),   u” = 6 k a x
func bendGELUTanh(to, _, _, x []float32, tmp [2][]float32) {
	const a = 0.044715
	const k = 0.7978845608028654 // sqrt(2/pi)
	t, slope := tmp[0], tmp[1]
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
