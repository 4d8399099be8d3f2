package nn

import (
	"errors"
	"fmt"

	"github.com/fedfast/fedfast/kernels"
)

// Sequence makes of an image the sequence of its pixels, row after row. Behind a
// convolution whose stride is its kernel these are the patches of a vision transformer
// (Dosovitskiy et al. 2021). With ClassToken a learned vector, the parameter
// class_token [1, 1, channels], which starts with normals of deviation 0.02, stands
// before them.
type Sequence struct{ ClassToken bool }

// Kind returns "sequence".
func (Sequence) Kind() string { return "sequence" }

// Bind fixes the layer for its input.
func (l Sequence) Bind(in Flow) (Bound, error) {
	if in.Seq > 0 || in.Raw {
		return nil, errors.New("a sequence is made of the image of a convolution")
	}
	b := &boundSequence{in: in}
	if l.ClassToken {
		b.first = 1
	}
	return b, nil
}

type boundSequence struct {
	in    Flow
	first int // step of the first pixel
}

func (b *boundSequence) Out() Flow {
	return Flow{H: 1, W: 1, C: b.in.C, Seq: b.first + b.in.H*b.in.W}
}

func (b *boundSequence) Traits() Traits { return Traits{} }

// FLOPs returns 0: it computes nothing.
func (b *boundSequence) FLOPs() int64 { return 0 }

func (b *boundSequence) Params() []Param {
	if b.first == 0 {
		return nil
	}
	p := biasParam(b.in.C, func(t []float32, s *kernels.Stream) { fillNormal(t, smallDeviation, s) })
	p.Name, p.Shape = "class_token", []int{1, 1, b.in.C}
	return []Param{p}
}

// smallDeviation is that of the normals with which transformers start what is added
// to values.
const smallDeviation = 0.02

// fillNormal draws normals of a deviation.
func fillNormal(t []float32, deviation float64, s *kernels.Stream) {
	for i := range t {
		t[i] = float32(s.NormFloat64() * deviation)
	}
}

func (b *boundSequence) NewState(e *Env) State {
	s := &sequenceState{b: b, token: e.Offset, y: e.Output()}
	if e.NeedDX {
		s.dx = e.Gradient()
	}
	return s
}

type sequenceState struct {
	b     *boundSequence
	token int // offset of the class token
	y, dx Act
}

func (s *sequenceState) Forward(r *Run, x Act, _, _ int) Act {
	f, ld := s.b.in, s.b.in.Ld()
	for i := range r.N {
		if s.b.first == 1 {
			copy(s.y.At(i, 0, 0)[:ld], r.W[s.token:])
		}
		for p := range f.H * f.W {
			copy(s.y.At((s.b.first+p)*r.N+i, 0, 0)[:ld], x.At(i, p/f.W, p%f.W))
		}
	}
	return s.y
}

func (s *sequenceState) Backward(r *Run, dy Act, _, _ int) Act {
	f, ld := s.b.in, s.b.in.Ld()
	if s.b.first == 1 {
		g := r.G[s.token:][:ld]
		if r.Starts(0) {
			clear(g)
		}
		kernels.ColSum(g, dy.At(0, 0, 0), r.N, ld, dy.Sample)
	}
	if s.dx.Data == nil {
		return s.dx
	}
	for i := range r.N {
		for p := range f.H * f.W {
			copy(s.dx.At(i, p/f.W, p%f.W)[:ld], dy.At((s.b.first+p)*r.N+i, 0, 0))
		}
	}
	return s.dx
}

// Positions adds a learned vector to every step of a sequence: the parameter weight
// [steps, channels], which starts with normals of deviation 0.02.
type Positions struct{}

// Kind returns "positions".
func (Positions) Kind() string { return "positions" }

// Bind fixes the layer for its input.
func (Positions) Bind(in Flow) (Bound, error) {
	if in.Seq < 1 || in.Vocab > 0 {
		return nil, errors.New("positions are added to a sequence of vectors; an embedding must come before on tokens")
	}
	return &boundPositions{in: in}, nil
}

type boundPositions struct{ in Flow }

func (b *boundPositions) Out() Flow { return b.in }

func (b *boundPositions) Traits() Traits { return Traits{} }

// FLOPs returns 0: the one operation for each value is not counted.
func (b *boundPositions) FLOPs() int64 { return 0 }

func (b *boundPositions) Params() []Param {
	steps, c, ld := b.in.Seq, b.in.C, b.in.Ld()
	return []Param{{
		Name: "weight", Shape: []int{steps, c}, Size: steps * ld,
		Init: func(t []float32, s *kernels.Stream) { fillNormal(t, smallDeviation, s) },
		Pack: func(packed, t []float32) {
			for i := range steps {
				copy(packed[i*ld:], t[i*c:][:c])
			}
		},
		Unpack: func(t, packed []float32) {
			for i := range steps {
				copy(t[i*c:][:c], packed[i*ld:])
			}
		},
	}}
}

func (b *boundPositions) NewState(e *Env) State {
	return &positionsState{in: b.in, at: e.Offset, y: e.Output()}
}

type positionsState struct {
	in Flow
	at int // offset of the parameter
	y  Act
}

func (s *positionsState) Forward(r *Run, x Act, _, _ int) Act {
	ld := s.in.Ld()
	for t := range s.in.Seq {
		for i := t * r.N; i < (t+1)*r.N; i++ {
			kernels.Add(s.y.At(i, 0, 0)[:ld], x.At(i, 0, 0)[:ld], r.W[s.at+t*ld:][:ld])
		}
	}
	return s.y
}

func (s *positionsState) Backward(r *Run, dy Act, _, _ int) Act {
	ld := s.in.Ld()
	g := r.G[s.at:][:s.in.Seq*ld]
	if r.Starts(0) {
		clear(g)
	}
	for t := range s.in.Seq {
		kernels.ColSum(g[t*ld:], dy.At(t*r.N, 0, 0), r.N, ld, dy.Sample)
	}
	return dy
}

// Steps takes from a sequence one vector: that of the first step, of the last one, or
// the mean of all.
type Steps struct{ Take Take }

// Take says what Steps takes.
type Take uint8

// The last step, the first one, or the mean of all.
const (
	TakeLast Take = iota
	TakeFirst
	TakeMean
)

// Kind returns "steps".
func (Steps) Kind() string { return "steps" }

// Bind fixes the layer for its input.
func (l Steps) Bind(in Flow) (Bound, error) {
	if in.Seq < 1 || in.Vocab > 0 {
		return nil, errors.New("steps are taken from a sequence of vectors")
	}
	if l.Take > TakeMean {
		return nil, fmt.Errorf("unknown way to take steps, %d", l.Take)
	}
	return &boundSteps{in: in, take: l.Take}, nil
}

type boundSteps struct {
	in   Flow
	take Take
}

func (b *boundSteps) Out() Flow { return Flow{H: 1, W: 1, C: b.in.C} }

func (b *boundSteps) Params() []Param { return nil }

func (b *boundSteps) Traits() Traits { return Traits{} }

// FLOPs returns 0: the one operation for each value is not counted.
func (b *boundSteps) FLOPs() int64 { return 0 }

func (b *boundSteps) NewState(e *Env) State {
	s := &stepsState{b: b, y: e.Output()}
	if e.NeedDX {
		s.dx = e.Gradient()
	}
	return s
}

type stepsState struct {
	b     *boundSteps
	y, dx Act
}

// step returns the step that is taken unless it is the mean.
func (b *boundSteps) step() int {
	if b.take == TakeFirst {
		return 0
	}
	return b.in.Seq - 1
}

func (s *stepsState) Forward(r *Run, x Act, _, _ int) Act {
	ld, steps := s.b.in.Ld(), s.b.in.Seq
	for i := range r.N {
		y := s.y.At(i, 0, 0)[:ld]
		if s.b.take != TakeMean {
			copy(y, x.At(s.b.step()*r.N+i, 0, 0))
			continue
		}
		clear(y)
		kernels.ColSum(y, x.At(i, 0, 0), steps, ld, r.N*x.Sample)
		kernels.Scale(y, 1/float32(steps))
	}
	return s.y
}

func (s *stepsState) Backward(r *Run, dy Act, _, _ int) Act {
	if s.dx.Data == nil {
		return s.dx
	}
	ld, steps := s.b.in.Ld(), s.b.in.Seq
	for t := range steps {
		for i := range r.N {
			dx := s.dx.At(t*r.N+i, 0, 0)[:ld]
			if s.b.take != TakeMean && t != s.b.step() {
				clear(dx)
				continue
			}
			copy(dx, dy.At(i, 0, 0))
			if s.b.take == TakeMean {
				kernels.Scale(dx, 1/float32(steps))
			}
		}
	}
	return s.dx
}
