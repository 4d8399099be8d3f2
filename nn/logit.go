package nn

import (
	"errors"
	"fmt"
	"slices"
)

// logit makes the one value z of its input the outputs (0, z) of two classes: the softmax
// of these gives the second class the probability 1 / (1 + e^-z).
type logit struct{}

// Kind returns "logit".
func (logit) Kind() string { return "logit" }

// Abilities returns what the layer can do.
func (logit) Abilities() Abilities {
	return Abilities{
		Narrow: Narrowing.Follow, Homogeneous: true,
		Torch: func(t *Torch) { t.Set("F.pad(%s, (1, 0))", t.X) },
	}
}

// Bind fixes the layer for its input.
func (logit) Bind(in Flow) (Bound, error) {
	if in.H*in.W != 1 || in.C != 1 || in.Vocab > 0 || in.Raw {
		return nil, errors.New("a logit needs one value as its input")
	}
	return &boundLogit{in: in}, nil
}

type boundLogit struct{ in Flow }

func (b *boundLogit) Out() Flow {
	out := b.in
	out.C = 2
	return out
}

func (b *boundLogit) Params() []Param { return nil }

func (b *boundLogit) Traits() Traits { return Traits{PerSample: b.in.Image()} }

// FLOPs returns 0: it computes nothing.
func (b *boundLogit) FLOPs() int64 { return 0 }

func (b *boundLogit) NewState(e *Env) State {
	return &logitState{steps: max(1, b.in.Seq), y: e.Output(), dx: e.Gradient()}
}

type logitState struct {
	steps int
	y, dx Act
}

func (s *logitState) Forward(r *Run, x Act, lo, hi int) Act {
	s.move(r, s.y, x, 1, 0, lo, hi)
	return s.y
}

func (s *logitState) Backward(r *Run, dy Act, lo, hi int) Act {
	if s.dx.Data != nil {
		s.move(r, s.dx, dy, 0, 1, lo, hi)
	}
	return s.dx
}

// move writes value j of the samples [lo, hi) of from to value i of to, whose others become 0.
func (s *logitState) move(r *Run, to, from Act, i, j, lo, hi int) {
	for row := range s.steps * (hi - lo) {
		at := row/(hi-lo)*r.N + lo + row%(hi-lo)
		z := to.At(at, 0, 0)[:to.Pixel]
		clear(z)
		z[i] = from.At(at, 0, 0)[j]
	}
}

// withLogit returns a network of one output as one of two classes, see logit.
func (m *Model) withLogit() (*Model, error) {
	if m.classes != 1 || m.space != nil {
		return nil, fmt.Errorf("model %s: the loss %q is for a network of one output without choices; this has %d",
			m.name, Logistic, m.classes)
	}
	c, err := NewModel(m.name, m.input, 2, append(slices.Clip(m.layers), logit{})...)
	if err == nil {
		c.doc, c.start, c.precision = m.doc, m.start, m.precision
	}
	return c, err
}
