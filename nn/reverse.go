package nn

import "errors"

// Reverse puts the steps of a sequence into the reverse order. An LSTM between two of these
// is the second direction of a bidirectional one, whose outputs are joined with Concat.
type Reverse struct{}

// Kind returns "reverse".
func (Reverse) Kind() string { return "reverse" }

// Abilities returns what the layer can do.
func (Reverse) Abilities() Abilities {
	return Abilities{
		Narrow: Follow, Scaling: ScaleBehind,
		Torch: func(t *Torch) { t.Set("%s.flip(1)", t.X) },
	}
}

// Bind fixes the layer for its input.
func (Reverse) Bind(in Flow) (Bound, error) {
	if in.Seq < 1 || in.Vocab > 0 {
		return nil, errors.New("only sequences of vectors are reversed; an embedding must come before on tokens")
	}
	return &boundReverse{passive: passive{in}}, nil
}

type boundReverse struct{ passive }

func (b *boundReverse) Out() Flow {
	out := b.in
	out.Lead = -1 - out.Lead
	return out
}

func (b *boundReverse) NewState(e *Env) State {
	s := &reverseState{in: b.in, y: e.Output()}
	s.dx = e.Gradient()
	return s
}

type reverseState struct {
	in    Flow
	y, dx Act
}

func (s *reverseState) Forward(r *Run, x Act, _, _ int) Act {
	s.turn(s.y, x, r.N)
	return s.y
}

func (s *reverseState) Backward(r *Run, dy Act, _, _ int) Act {
	if s.dx.Data != nil {
		s.turn(s.dx, dy, r.N)
	}
	return s.dx
}

// turn copies the steps of n sequences.
func (s *reverseState) turn(to, from Act, n int) {
	for t := range s.in.Seq {
		for i := range n {
			copy(to.At(t*n+i, 0, 0)[:s.in.Ld()], from.At((s.in.Seq-1-t)*n+i, 0, 0))
		}
	}
}
