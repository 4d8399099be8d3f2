package nn

import (
	"cmp"
	"errors"
	"fmt"
)

// Channels gives Count channels of an image or a vector from First on, in another order
// with Groups above 1: channel j*Groups + i of the output is channel First + i*n/Groups + j
// of the input, of n that it gives. That is the shuffle of ShuffleNet (Zhang et al. 2018)
// and, with parts of the channels, the split of its second version (Ma et al. 2018).
type Channels struct {
	First  int // 0 is the first
	Count  int // 0 means all from First on
	Groups int // 0 means 1; divides the number of channels that are given
}

// Kind returns "channels".
func (Channels) Kind() string { return "channels" }

// Abilities returns what the layer can do. It cannot be narrowed: a part of the channels of
// its input would be another part of its output.
func (l Channels) Abilities() Abilities {
	return Abilities{Torch: func(t *Torch) {
		count := cmp.Or(l.Count, t.In.C-l.First)
		x := t.X
		if count < t.In.C {
			x = fmt.Sprintf("%s[:, %d:%d]", x, l.First, l.First+count)
		}
		if l.Groups > 1 {
			x = fmt.Sprintf("%s.unflatten(1, (%d, %d)).transpose(1, 2).flatten(1, 2)", x, l.Groups, count/l.Groups)
		}
		t.Set("%s", x)
	}}
}

// Bind fixes the layer for its input.
func (l Channels) Bind(in Flow) (Bound, error) {
	if in.Vocab > 0 || in.Raw || in.Seq > 0 {
		return nil, errors.New("channels are taken of an image or a vector that another layer gives")
	}
	n := cmp.Or(l.Count, in.C-l.First)
	switch {
	case l.First < 0 || n < 1 || l.First+n > in.C:
		return nil, fmt.Errorf("channels %d to %d; the input has %d, which count from 0", l.First, l.First+n-1, in.C)
	case l.Groups < 0 || n%max(1, l.Groups) != 0:
		return nil, fmt.Errorf("%d channels in %d groups; the number of groups must divide that of channels", n, l.Groups)
	}
	b := &boundChannels{passive: passive{in}, out: in, from: make([]int, n)}
	b.out.C = n
	groups := max(1, l.Groups)
	for k := range b.from {
		b.from[k] = l.First + k%groups*(n/groups) + k/groups
	}
	return b, nil
}

type boundChannels struct {
	passive
	out  Flow
	from []int // the channel of the input after each of the output
}

func (b *boundChannels) Out() Flow { return b.out }

func (b *boundChannels) Traits() Traits { return Traits{PerSample: b.in.Image()} }

func (b *boundChannels) NewState(e *Env) State {
	s := &channelsState{b: b, y: e.Output()}
	s.dx = e.Gradient()
	return s
}

type channelsState struct {
	b     *boundChannels
	y, dx Act
}

func (s *channelsState) Forward(r *Run, x Act, lo, hi int) Act {
	s.pixels(s.y, x, lo, hi, s.pick)
	return s.y
}

func (s *channelsState) Backward(r *Run, dy Act, lo, hi int) Act {
	if s.dx.Data != nil {
		s.pixels(s.dx, dy, lo, hi, s.putBack)
	}
	return s.dx
}

// pixels calls f for each pixel of the samples [lo, hi).
func (s *channelsState) pixels(dst, src Act, lo, hi int, f func(dst, src []float32)) {
	for i := lo; i < hi; i++ {
		for y := range s.b.in.H {
			for x := range s.b.in.W {
				f(dst.At(i, y, x), src.At(i, y, x))
			}
		}
	}
}

func (s *channelsState) pick(dst, src []float32) {
	for k, from := range s.b.from {
		dst[k] = src[from]
	}
}

// putBack gives channels that are not taken a gradient of 0.
func (s *channelsState) putBack(dst, src []float32) {
	clear(dst[:s.b.in.C])
	for k, from := range s.b.from {
		dst[from] = src[k]
	}
}
