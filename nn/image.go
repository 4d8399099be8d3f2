package nn

import "errors"

// Image makes of a sequence of vectors an image of one row, with a pixel for each step:
// what one-dimensional convolutions and pools of PyTorch read. Sequence is the way back.
type Image struct{}

// Kind returns "image".
func (Image) Kind() string { return "image" }

// Abilities returns what the layer can do.
func (Image) Abilities() Abilities {
	return Abilities{
		Narrow: Follow, Scaling: ScaleBehind,
		Torch: func(t *Torch) { t.Set("%s.transpose(1, 2).unsqueeze(2)", t.X) },
	}
}

// Bind fixes the layer for its input.
func (Image) Bind(in Flow) (Bound, error) {
	if in.Seq < 1 || in.Vocab > 0 {
		return nil, errors.New("an image of one row is made of a sequence of vectors; an embedding must come before on tokens")
	}
	return &boundImage{passive: passive{in}}, nil
}

type boundImage struct{ passive }

func (b *boundImage) Out() Flow { return Flow{H: 1, W: b.in.Seq, C: b.in.C} }

func (b *boundImage) NewState(e *Env) State {
	s := &imageState{in: b.in, y: e.Output()}
	s.dx = e.Gradient()
	return s
}

type imageState struct {
	in    Flow
	y, dx Act
}

func (s *imageState) Forward(r *Run, x Act, _, _ int) Act {
	for t := range s.in.Seq {
		for i := range r.N {
			copy(s.y.At(i, 0, t)[:s.in.Ld()], x.At(t*r.N+i, 0, 0))
		}
	}
	return s.y
}

func (s *imageState) Backward(r *Run, dy Act, _, _ int) Act {
	if s.dx.Data == nil {
		return s.dx
	}
	for t := range s.in.Seq {
		for i := range r.N {
			copy(s.dx.At(t*r.N+i, 0, 0)[:s.in.Ld()], dy.At(i, 0, t))
		}
	}
	return s.dx
}
