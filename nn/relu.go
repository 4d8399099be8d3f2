package nn

import (
	"errors"

	"github.com/fedfast/fedfast/kernels"
)

// ReLU replaces negative values by zero. After a dense or convolutional layer it
// costs nothing: NewModel folds it in.
type ReLU struct{}

// Kind returns "relu".
func (ReLU) Kind() string { return "relu" }

// Abilities returns what the layer can do.
func (ReLU) Abilities() Abilities {
	return Abilities{Narrow: Narrowing.Follow, Homogeneous: true, Torch: func(t *Torch) { t.Set("F.relu(%s)", t.X) }}
}

// Bind fixes the layer for its input.
func (ReLU) Bind(in Flow) (Bound, error) {
	if in.Vocab > 0 || in.Raw {
		return nil, errors.New("a ReLU cannot be the first layer")
	}
	return &boundReLU{passive: passive{in}}, nil
}

type boundReLU struct{ passive }

func (b *boundReLU) Traits() Traits { return Traits{PerSample: b.in.Image(), ReadsOutput: true} }

func (b *boundReLU) NewState(e *Env) State {
	s := &reluState{in: b.in, once: e.relu}
	switch {
	case s.once == nil:
		s.y = e.Output()
	case s.once.y.Data == nil:
		e.outBorder = e.outBorder.wider(s.once.border)
		s.y = e.Output()
		s.once.y = s.y
	default:
		s.y = s.once.y
	}
	return s
}

// reluOnce is what ReLUs of one input share: their output is made once.
type reluOnce struct {
	border Border // the widest that is wished
	y      Act
	made   bool // of the samples that are worked on
}

type reluState struct {
	in   Flow
	once *reluOnce // nil for a ReLU by itself
	y    Act
}

func (s *reluState) Forward(r *Run, x Act, lo, hi int) Act {
	if s.once != nil {
		if s.once.made {
			return s.y
		}
		s.once.made = true
	}
	f := s.in
	for i := f.Rows(lo); i < f.Rows(hi); i++ {
		for row := range f.H {
			n := f.W * f.Ld()
			y, v := s.y.At(i, row, 0)[:n], x.At(i, row, 0)[:n]
			kernels.ReLUBackward(y, v, v)
		}
	}
	return s.y
}

func (s *reluState) Backward(_ *Run, dy Act, lo, hi int) Act {
	for i := s.in.Rows(lo); i < s.in.Rows(hi); i++ {
		maskRows(dy, s.y, i, s.in.H, s.in.W)
	}
	return dy
}
