package nn

import (
	"errors"
	"fmt"

	"github.com/fedfast/fedfast/kernels"
)

// Scale multiplies by Factor in training and, unless Always, passes its input on in
// evaluation: HeteroFL's scaler (Diao et al. 2021) with Factor = 1/width.
type Scale struct {
	Factor float32 // above 0
	Always bool
}

// Kind returns "scale".
func (Scale) Kind() string { return "scale" }

// Abilities returns what the layer can do.
func (l Scale) Abilities() Abilities {
	a := Abilities{Narrow: Narrowing.Follow}
	if l.Always {
		a.Torch = func(t *Torch) { t.Set("%s * %v", t.X, l.Factor) }
	}
	return a
}

// Bind fixes the layer for its input.
func (l Scale) Bind(in Flow) (Bound, error) {
	if in.Vocab > 0 || in.Raw {
		return nil, errors.New("a scale cannot be the first layer")
	}
	if !(l.Factor > 0) {
		return nil, fmt.Errorf("factor %v; it must be above 0", l.Factor)
	}
	return &boundScale{l: l, passive: passive{in}}, nil
}

type boundScale struct {
	passive
	l Scale
}

// Traits are the traits of a dropout, which passes its input on in the same way.
func (b *boundScale) Traits() Traits {
	return Traits{PerSample: b.in.Image(), ReadsInput: true, passesOn: true}
}

func (b *boundScale) NewState(e *Env) State { return &scaleState{l: b.l, in: b.in, y: e.Output()} }

type scaleState struct {
	l  Scale
	in Flow
	y  Act
}

func (s *scaleState) Forward(r *Run, x Act, lo, hi int) Act {
	if !r.Train && !s.l.Always {
		return x
	}
	s.scale(r, s.y, x, lo, hi)
	return s.y
}

func (s *scaleState) Backward(r *Run, dy Act, lo, hi int) Act {
	s.scale(r, dy, dy, lo, hi)
	return dy
}

// scale writes the samples [lo, hi) of src times the factor to dst.
func (s *scaleState) scale(r *Run, dst, src Act, lo, hi int) {
	n := s.in.W * s.in.Ld()
	for i := lo; i < hi; i++ {
		for t := range max(1, s.in.Seq) {
			row := t*r.N + i
			for y := range s.in.H {
				to := dst.At(row, y, 0)[:n]
				copy(to, src.At(row, y, 0)[:n])
				kernels.Scale(to, s.l.Factor)
			}
		}
	}
}
