package nn

import (
	"cmp"
	"errors"
	"fmt"

	"github.com/fedfast/fedfast/kernels"
)

// GroupNorm divides the channels of an image into Groups of neighbours and shifts
// and scales the values of each group of each sample to mean 0 and variance 1
// (Wu and He 2018), then every channel by learned amounts:
//
//	y = (x - mean) / sqrt(variance + Epsilon) * weight + bias
//
// The parameters are weight [channels], which starts at 1, and bias [channels],
// which starts at 0. A ReLU or hard swish that follows is computed within the layer.
type GroupNorm struct {
	Groups  int
	Epsilon float64 // 0 means 1e-5, PyTorch's
	// NoAffine leaves the learned amounts out, so that there are no parameters.
	NoAffine bool
}

// Kind returns "groupnorm".
func (GroupNorm) Kind() string { return "groupnorm" }

// Abilities returns what the layer can do.
func (l GroupNorm) Abilities() Abilities {
	return Abilities{
		ReLU: func() Layer { return groupNormReLU{l} },
		Narrow: func(n Narrowing) (Narrowed, error) {
			if n.Width < 1 {
				l.Groups = gcd(l.Groups, n.Channels)
			}
			return n.Kept(l)
		},
		Normalizes: true,
		Blocks:     ChannelBlocks("weight", "bias"),
		Torch: func(t *Torch) {
			epsilon := cmp.Or(l.Epsilon, 1e-5)
			if l.NoAffine { // no module, whose name others could begin with
				t.Set("F.group_norm(%s, %d, eps=%v)", t.X, l.Groups, epsilon)
				return
			}
			t.Set("%s(%s)", t.Module("nn.GroupNorm(%d, %d, eps=%v)", l.Groups, t.In.C, epsilon), t.X)
		},
	}
}

// gcd returns the largest number that divides both.
func gcd(a, b int) int {
	for b > 0 {
		a, b = b, a%b
	}
	return a
}

// Bind fixes the layer for its input.
func (l GroupNorm) Bind(in Flow) (Bound, error) { return l.bind(in, false, false) }

// groupNormReLU is a group normalisation followed by a ReLU.
type groupNormReLU struct{ GroupNorm }

func (l groupNormReLU) Bind(in Flow) (Bound, error) { return l.bind(in, true, false) }

// groupNormSwish is a group normalisation followed by a hard swish.
type groupNormSwish struct{ GroupNorm }

func (l groupNormSwish) Bind(in Flow) (Bound, error) { return l.bind(in, false, true) }

func (l GroupNorm) bind(in Flow, relu, swish bool) (Bound, error) {
	switch {
	case in.Seq > 0 || in.Raw:
		return nil, errors.New("a group normalisation needs the image of a convolution as its input")
	case l.Groups < 1 || in.C%l.Groups != 0:
		return nil, fmt.Errorf("%d groups of %d channels; the groups must divide the channels", l.Groups, in.C)
	case !(l.Epsilon >= 0 && l.Epsilon < 1):
		return nil, fmt.Errorf("epsilon %v; it must be at least 0 and below 1", l.Epsilon)
	}
	l.Epsilon = cmp.Or(l.Epsilon, 1e-5)
	return &boundGroupNorm{l: l, passive: passive{in}, relu: relu, swish: swish}, nil
}

type boundGroupNorm struct {
	passive
	l GroupNorm
	// relu and swish say which activation is behind.
	relu, swish bool
}

func (b *boundGroupNorm) Traits() Traits {
	return Traits{PerSample: true, ReadsInput: true, remakes: true}
}

func (b *boundGroupNorm) Params() []Param {
	if b.l.NoAffine {
		return nil
	}
	return normParams(b.in.C)
}

// normParams are the weight and the bias of a normalisation: 1 and 0 at first.
func normParams(channels int) []Param {
	weight := biasParam(channels, func(t []float32, _ *kernels.Stream) {
		for i := range t {
			t[i] = 1
		}
	})
	weight.Name = "weight"
	return []Param{weight, biasParam(channels, func([]float32, *kernels.Stream) {})}
}

// normWeights is where the weight and the bias of a normalisation lie, or what stands for them and
// takes their gradients where it has none.
type normWeights struct {
	weight, bias, ld    int
	ones, zeros, unread []float32
}

func newNormWeights(e *Env, ld int, none bool) normWeights {
	a := normWeights{weight: e.Offset, bias: e.Offset + ld, ld: ld}
	if none {
		a.ones, a.zeros, a.unread = e.Arena.Alloc(ld), e.Arena.Alloc(ld), e.Arena.Alloc(ld)
		for i := range e.in.C {
			a.ones[i] = 1
		}
	}
	return a
}

func (a *normWeights) of(r *Run) (weight, bias []float32) {
	if a.ones != nil {
		return a.ones, a.zeros
	}
	return r.W[a.weight:], r.W[a.bias:]
}

// gradients returns where those of both go, zeroed at the start.
func (a *normWeights) gradients(r *Run, start bool) (weight, bias []float32) {
	if weight, bias = a.unread, a.unread; a.ones == nil {
		weight, bias = r.G[a.weight:][:a.ld], r.G[a.bias:][:a.ld]
	}
	if start {
		clear(weight)
		clear(bias)
	}
	return weight, bias
}
