package nn

import (
	"cmp"
	"errors"
	"fmt"

	"github.com/fedfast/fedfast/kernels"
)

// BatchNorm shifts and scales the values of each channel to mean 0 and variance 1 (Ioffe
// and Szegedy 2015), then by learned amounts:
//
//	y = (x - mean) / sqrt(variance + Epsilon) * weight + bias
//
// In training mean and variance belong to the batch, over samples and pixels or steps;
// in evaluation they are the running ones, which each training pass moves towards the
// batch's, the variance with n/(n-1) for n values:
//
//	running = (1 - Momentum) running + Momentum batch's
//
// The parameters are weight [channels], which starts at 1, and bias [channels], which
// starts at 0; the buffers running_mean, which starts at 0, and running_var, which starts
// at 1. A ReLU that follows is computed within the layer.
type BatchNorm struct {
	Epsilon float64 // 0 means 1e-5, PyTorch's
	// Momentum is the momentum of the running statistics, in [0, 1].
	Momentum float64
	// Cumulative has them be the means over all batches: momentum is 1/n in the n-th pass,
	// which the buffer num_batches_tracked counts.
	Cumulative bool
	// NoAffine leaves the learned amounts out, so that there are no parameters.
	NoAffine bool
}

// Kind returns "batchnorm".
func (BatchNorm) Kind() string { return "batchnorm" }

// Abilities returns what the layer can do. It cannot be narrowed: a sub-network's
// statistics are not those of the whole one.
func (l BatchNorm) Abilities() Abilities {
	return Abilities{
		ReLU: func() Layer { return batchNormReLU{l} },
		Torch: func(t *Torch) {
			momentum := "None"
			if !l.Cumulative {
				momentum = fmt.Sprint(l.Momentum)
			}
			affine := ""
			if l.NoAffine {
				affine = ", affine=False"
			}
			dims := 2
			if t.Flat || t.In.Seq > 0 {
				dims = 1
			}
			eps := cmp.Or(l.Epsilon, 1e-5)
			call := t.Module("nn.BatchNorm%dd(%d, eps=%v, momentum=%s%s)", dims, t.In.C, eps, momentum, affine)
			if t.In.Seq > 0 {
				t.Set("%s(%s.transpose(1, 2)).transpose(1, 2)", call, t.X)
				return
			}
			t.Set("%s(%s)", call, t.X)
		},
	}
}

// Bind fixes the layer for its input.
func (l BatchNorm) Bind(in Flow) (Bound, error) { return l.bind(in, false) }

// batchNormReLU is a batch normalization followed by a ReLU.
type batchNormReLU struct{ BatchNorm }

func (l batchNormReLU) Bind(in Flow) (Bound, error) { return l.bind(in, true) }

func (l BatchNorm) bind(in Flow, relu bool) (Bound, error) {
	switch {
	case in.Vocab > 0:
		return nil, errors.New("a batch normalization needs numbers as its input; an embedding must come before on tokens")
	case !(l.Epsilon >= 0 && l.Epsilon < 1):
		return nil, fmt.Errorf("epsilon %v; it must be at least 0 and below 1", l.Epsilon)
	case !(l.Momentum >= 0 && l.Momentum <= 1):
		return nil, fmt.Errorf("momentum %v; it must be in [0, 1]", l.Momentum)
	case l.Cumulative && l.Momentum > 0:
		return nil, fmt.Errorf("momentum %v; cumulative statistics have none", l.Momentum)
	}
	l.Epsilon = cmp.Or(l.Epsilon, 1e-5)
	b := &boundBatchNorm{l: l, passive: passive{in}, relu: relu, raw: in.Raw}
	b.in.Raw = false
	return b, nil
}

type boundBatchNorm struct {
	passive
	l    BatchNorm
	relu bool
	raw  bool // it is the first layer, and pads the channels of its input
}

// gathers reports whether images come in groups, whose sums it gathers, and are made again.
func (b *boundBatchNorm) gathers() bool { return b.in.Image() && !b.raw }

func (b *boundBatchNorm) Traits() Traits {
	t := Traits{Whole: true, PerSample: b.gathers(), gathers: b.gathers(), remakes: b.gathers(), ReadsInput: true}
	if b.in.Rows(1)*b.in.H*b.in.W == 1 {
		t.Least = 2
	}
	return t
}

func (b *boundBatchNorm) Params() []Param {
	constant := func(name string, x float32) Param {
		p := biasParam(b.in.C, func(t []float32, _ *kernels.Stream) {
			for i := range t {
				t[i] = x
			}
		})
		p.Name, p.norm = name, true
		return p
	}
	var ps []Param
	if !b.l.NoAffine {
		ps = append(ps, constant("weight", 1), constant("bias", 0))
	}
	buffers := []Param{constant("running_mean", 0), constant("running_var", 1)}
	if b.l.Cumulative {
		count := constant("num_batches_tracked", 0)
		count.Shape, count.Size = []int{}, kernels.Pad(1)
		buffers = append(buffers, count)
	}
	for _, p := range buffers {
		p.Buffer = true
		ps = append(ps, p)
	}
	return ps
}
