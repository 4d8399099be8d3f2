package nn

import (
	"errors"
	"slices"
)

// Image makes of a sequence of vectors an image of one row, with a pixel for each step:
// what one-dimensional convolutions and pools of PyTorch read. Sequence is the way back.
type Image struct{}

// Kind returns "image".
func (Image) Kind() string { return "image" }

// Abilities returns what the layer can do.
func (Image) Abilities() Abilities {
	return Abilities{
		Narrow: Narrowing.Follow, Homogeneous: true,
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

// Flatten marks where an image becomes a vector. It computes nothing: a dense
// layer reads the image as it lies, and its exported weight has the inputs in
// the order of PyTorch's flatten, channel, row, column.
type Flatten struct{}

// Kind returns "flatten".
func (Flatten) Kind() string { return "flatten" }

// Abilities returns what the layer can do.
func (Flatten) Abilities() Abilities {
	return Abilities{
		Narrow: Narrowing.Follow, Homogeneous: true,
		Torch: func(t *Torch) {
			if !t.Flat {
				t.Set("%s.flatten(1)", t.X)
				t.Flat = true
			}
		},
	}
}

// Bind returns no Bound: the layer needs no place in a model.
func (Flatten) Bind(in Flow) (Bound, error) {
	if in.Seq > 0 {
		return nil, errors.New("a flatten needs an image as its input")
	}
	return nil, nil
}

// Reverse puts the steps of a sequence into the reverse order. An LSTM between two of these
// is the second direction of a bidirectional one, whose outputs are joined with Concat.
type Reverse struct{}

// Kind returns "reverse".
func (Reverse) Kind() string { return "reverse" }

// Abilities returns what the layer can do.
func (Reverse) Abilities() Abilities {
	return Abilities{
		Narrow: Narrowing.Follow, Homogeneous: true,
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

// gatherer is a state that must have seen all samples of a batch before it takes the first
// one on, in training and where statistics move. So that each sample is seen while it is in
// a near cache, the layers before it take a group of samples after the other through, and
// it gathers from each what it needs; likewise in the backward pass.
type gatherer interface {
	State
	// gathers reports whether it does so; else Forward and Backward get all samples.
	gathers() bool
	// gather looks at the samples [lo, hi) of what Forward will get, from sample 0 to the
	// last in turn, and gatherBack of what Backward will, which it may change.
	gather(r *Run, x Act, lo, hi int)
	gatherBack(r *Run, dy Act, lo, hi int)
}

// gathering returns a state that gathers in a run, else nil.
func gathering(s State, r *Run) gatherer {
	if !r.whole() {
		return nil
	}
	if s, ok := s.(gatherer); ok && s.gathers() {
		return s
	}
	return nil
}

// ends returns where the states of a branch begin and end that take a group through together
// with what is around the branch: its first ones are [0, lowest), the last [highest, end).
func ends(states []State, r *Run) (lowest, highest int) {
	lowest = len(states)
	for i, s := range slices.Backward(states) {
		if gathering(s, r) != nil {
			lowest, highest = i+1, max(highest, i)
		}
	}
	return lowest, highest
}

// gathers reports whether layer i gathers.
func (c chain) gathers(i int) bool { return i < len(c) && c[i].Traits().gathers }

// gather reports whether any layer gathers.
func (c chain) gather() bool {
	return slices.ContainsFunc(c, func(nd node) bool { return nd.Traits().gathers })
}

// gives reports whether the gradient that layer i returns may be in the memory that a layer
// below gathers from: layers without parameters may hand on what they got.
func (c chain) gives(i int) bool {
	for i--; i >= 0; i-- {
		if c.gathers(i) || c[i].size() > 0 {
			return c.gathers(i)
		}
	}
	return false
}
