package nn

import (
	"errors"
	"fmt"

	"github.com/fedfast/fedfast/kernels"
)

// Dropout sets each value to zero with probability Rate in training and
// multiplies the others by 1/(1-Rate). The draws of a sample depend on the key
// and number of the step, the layer and the sample's place in the batch only.
// With Channels all pixels of a channel of an image share a draw.
type Dropout struct {
	Rate     float32
	Channels bool
}

// Kind returns "dropout".
func (Dropout) Kind() string { return "dropout" }

// Abilities returns what the layer can do.
func (l Dropout) Abilities() Abilities {
	function := "F.dropout"
	if l.Channels {
		function = "F.dropout2d"
	}
	return Abilities{Narrow: Narrowing.Follow, Torch: func(t *Torch) { t.Set("%s(%s, %v, self.training)", function, t.X, l.Rate) }}
}

// Bind fixes the layer for its input.
func (l Dropout) Bind(in Flow) (Bound, error) { return l.bind(in, false) }

// maskedDropout is a dropout whose input is what a ReLU gave, if only the largest
// of it, and which does the ReLU's backward pass. What it lets pass is above zero,
// and nothing else is, so it need not draw again.
type maskedDropout struct{ Dropout }

func (l maskedDropout) Bind(in Flow) (Bound, error) { return l.bind(in, true) }

func (l Dropout) bind(in Flow, mask bool) (Bound, error) {
	if in.Vocab > 0 || in.Raw {
		return nil, errors.New("a dropout cannot be the first layer")
	}
	if !(l.Rate >= 0 && l.Rate < 1) {
		return nil, fmt.Errorf("rate %v; it must be at least 0 and below 1", l.Rate)
	}
	if l.Channels && in.Seq > 0 {
		return nil, errors.New("channels are dropped of images")
	}
	return &boundDropout{rate: l.Rate, channels: l.Channels, passive: passive{in}, mask: mask}, nil
}

type boundDropout struct {
	passive
	rate     float32
	channels bool
	mask     bool
}

// Traits: without draws the input passes as the output, so what the layers around
// read back must be kept as if this layer read it.
func (b *boundDropout) Traits() Traits {
	return Traits{PerSample: b.in.Image(), ReadsInput: true, ReadsOutput: b.mask, passesOn: true}
}

func (b *boundDropout) NewState(e *Env) State {
	s := &dropoutState{rate: b.rate, in: b.in, mask: b.mask, index: e.Index, y: e.Output()}
	if b.channels {
		s.ones, s.shares = e.Arena.Alloc(b.in.Ld()), e.Arena.Alloc(b.in.Ld())
		for i := range s.ones {
			s.ones[i] = 1
		}
	}
	return s
}

type dropoutState struct {
	rate   float32
	in     Flow
	mask   bool
	index  int
	y      Act
	passed Act // what Forward returned
	// Where channels are dropped: ones, and what each channel of an image is multiplied by.
	ones, shares []float32
}

func (s *dropoutState) Forward(r *Run, x Act, lo, hi int) Act {
	if s.passed = x; r.Rate(s.rate) > 0 {
		s.drop(r, s.y, x, lo, hi)
		s.passed = s.y
	}
	return s.passed
}

func (s *dropoutState) Backward(r *Run, dy Act, lo, hi int) Act {
	p := r.Rate(s.rate)
	if !s.mask {
		if p > 0 {
			s.drop(r, dy, dy, lo, hi)
		}
		return dy
	}
	f := s.in
	for i := f.Rows(lo); i < f.Rows(hi); i++ {
		for y := range f.H {
			g := dy.At(i, y, 0)[:f.W*f.Ld()]
			kernels.ReLUBackward(g, g, s.passed.At(i, y, 0)[:len(g)])
			if p > 0 {
				kernels.Scale(g, kernels.KeepScale(p))
			}
		}
	}
	return dy
}

// drop writes the samples [lo, hi) of src after dropout to dst. Every image row,
// and every row of a sequence, is a stream of draws of its own.
func (s *dropoutState) drop(r *Run, dst, src Act, lo, hi int) {
	f, p := s.in, r.Rate(s.rate)
	key := kernels.Key(r.Key, uint64(s.index))
	n := f.W * f.Ld()
	for i := lo; i < hi && s.ones != nil; i++ {
		kernels.Dropout(s.shares, s.ones, p, key, uint64(r.Base+i)<<32)
		for y := range f.H {
			for x := range f.W {
				kernels.Mul(dst.At(i, y, x)[:f.Ld()], src.At(i, y, x)[:f.Ld()], s.shares)
			}
		}
	}
	if s.ones != nil {
		return
	}
	for i := lo; i < hi; i++ {
		for t := range max(1, f.Seq) {
			row := t*r.N + i
			for y := range f.H {
				stream := uint64(r.Base+i)<<32 | uint64(t*f.H+y)
				kernels.Dropout(dst.At(row, y, 0)[:n], src.At(row, y, 0)[:n], p, key, stream)
			}
		}
	}
}
