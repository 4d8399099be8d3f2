package nn

import (
	"errors"
	"fmt"
	"math"

	"github.com/fedfast/fedfast/kernels"
)

// LRN is local response normalisation across the channels of each pixel
// (Krizhevsky et al. 2012), as TensorFlow defines it:
//
//	y_c = x_c / (Bias + Alpha * sum of x_j^2 over |j - c| <= Radius)^Beta
//
// PyTorch's size is 2*Radius + 1, its alpha Alpha times that size.
type LRN struct {
	Radius      int
	Bias, Alpha float64
	// Beta is 0.25, 0.5, 0.75 or 1: powers that square roots make, with the same
	// bits on every machine.
	Beta float64
}

// Kind returns "lrn".
func (LRN) Kind() string { return "lrn" }

// Abilities returns what the layer can do.
func (l LRN) Abilities() Abilities {
	return Abilities{
		Narrow: Narrowing.Follow,
		Torch: func(t *Torch) {
			t.Image()
			size := 2*l.Radius + 1
			t.Set("F.local_response_norm(%s, %d, alpha=%v, beta=%v, k=%v)", t.X, size, l.Alpha*float64(size), l.Beta, l.Bias)
		},
	}
}

// Bind fixes the layer for its input.
func (l LRN) Bind(in Flow) (Bound, error) {
	quarters := int(4 * l.Beta)
	switch {
	case in.Seq > 0 || in.Raw:
		return nil, errors.New("a local response normalisation needs the image of a convolution as its input")
	case l.Radius < 0 || !(l.Bias > 0) || !(l.Alpha >= 0) || math.IsInf(l.Bias+l.Alpha, 0):
		return nil, fmt.Errorf("radius %d, bias %v, alpha %v; radius and alpha must be at least 0, bias above 0", l.Radius, l.Bias, l.Alpha)
	case 4*l.Beta != float64(quarters) || quarters < 1 || quarters > 4:
		return nil, fmt.Errorf("beta %v; it must be 0.25, 0.5, 0.75 or 1", l.Beta)
	}
	l.Radius = min(l.Radius, in.C)
	return &boundLRN{l: l, passive: passive{in}, quarters: quarters}, nil
}

type boundLRN struct {
	passive
	l        LRN
	quarters int // of Beta
}

func (b *boundLRN) Traits() Traits {
	return Traits{PerSample: true, ReadsInput: true, Extra: 2 * b.size()}
}

// size returns the values of one image.
func (b *boundLRN) size() int { return b.in.H * b.in.W * b.in.Ld() }

func (b *boundLRN) NewState(e *Env) State {
	s := &lrnState{
		b: b, y: e.Output(),
		base:  e.Arena.Alloc(e.Samples * b.size()),
		power: e.Arena.Alloc(e.Samples * b.size()),
	}
	s.folds = e.folds(s.y)
	s.row = kernels.LRN{
		Pixels: b.in.W, C: b.in.Ld(), Radius: b.l.Radius, Bias: float32(b.l.Bias), Alpha: float32(b.l.Alpha), Quarters: b.quarters,
		Space: e.Arena.Alloc(kernels.LRNSpace(b.in.W, b.in.Ld(), b.l.Radius)),
	}
	s.dx = e.Gradient()
	return s
}

type lrnState struct {
	b           *boundLRN
	x, y, dx    Act
	folds       folds
	base, power []float32 // of all images; see kernels.LRN
	train       bool      // whether these are for a backward pass
	row         kernels.LRN
}

func (s *lrnState) Forward(r *Run, x Act, lo, hi int) Act {
	s.x, s.y.Fold, s.train = x, s.folds.of(r), r.Train
	for i := lo; i < hi; i++ {
		for y := range s.b.in.H {
			kernels.LRNForward(s.at(i, y), s.y.At(i, y, 0))
		}
	}
	return s.y
}

func (s *lrnState) Backward(r *Run, dy Act, lo, hi int) Act {
	if s.dx.Data == nil {
		return Act{}
	}
	for i := lo; i < hi; i++ {
		for y := range s.b.in.H {
			kernels.LRNBackward(s.at(i, y), s.dx.At(i, y, 0), dy.At(i, y, 0))
		}
	}
	return s.dx
}

// at returns what normalises row y of image i. Rows share memory in evaluation.
func (s *lrnState) at(i, y int) *kernels.LRN {
	n := s.b.in.W * s.b.in.Ld()
	at := 0
	if s.train {
		at = i*s.b.size() + y*n
	}
	s.row.X, s.row.Base, s.row.Power = s.x.At(i, y, 0)[:n], s.base[at:][:n], s.power[at:][:n]
	return &s.row
}
