package nn

import (
	"errors"
	"fmt"
	"slices"

	"github.com/fedfast/fedfast/kernels"
	"github.com/fedfast/fedfast/tensor"
)

// Dense is a fully connected layer. After an image it takes all of the image's
// values. The parameters are weight [Units, inputs] and, unless NoBias, bias [Units]; an
// image's inputs are in PyTorch's order: channel, row, column.
type Dense struct {
	Units  int
	NoBias bool
	Init   Init

	bf16, amx bool // rounds the factors of products; their sums have the order of AMX
	// steps says that there are many rows, those of all steps of sequences, so that the
	// gradient of the input is best made with transposed weights: each element is then
	// one chain over the outputs, and no sum of lanes.
	steps bool
}

// Kind returns "dense".
func (Dense) Kind() string { return "dense" }

// Abilities returns what the layer can do.
func (l Dense) Abilities() Abilities {
	return Abilities{
		Init:    func(i Init) Layer { l.Init = i; return l },
		ReLU:    func() Layer { return denseReLU{l} },
		Rounded: func(p Precision) Layer { l.bf16, l.amx = true, p == BF16AMX; return l },
		Narrow: func(n Narrowing) (Narrowed, error) {
			if n.Outputs {
				return Narrowed{Channels: l.Units}, nil
			}
			l.Units = n.Of(l.Units)
			return n.Made(l, l.Units)
		},
		Blocks:  inputBlocks("weight"),
		Outputs: true,
		Torch: func(t *Torch) {
			if !t.Flat && t.In.Seq == 0 {
				t.Set("%s.flatten(1)", t.X)
			}
			t.Set("%s(%s)", t.Module("nn.Linear(%d, %d%s)", t.In.H*t.In.W*t.In.C, l.Units, torchBias(l.NoBias)), t.X)
			t.Flat = t.In.Seq == 0
		},
		within: func(to binding) Layer { l.steps = to.steps; return l },
	}
}

// Bind fixes the layer for its input.
func (l Dense) Bind(in Flow) (Bound, error) { return l.bind(in, false) }

// denseReLU is a dense layer followed by a ReLU.
type denseReLU struct{ Dense }

func (l denseReLU) Bind(in Flow) (Bound, error) { return l.bind(in, true) }

func (l Dense) bind(in Flow, relu bool) (Bound, error) {
	if in.Vocab > 0 {
		return nil, errors.New("a dense layer cannot read tokens; an embedding must come before")
	}
	if l.Units < 1 {
		return nil, fmt.Errorf("%d units; must be at least 1", l.Units)
	}
	if err := l.Init.check(); err != nil {
		return nil, err
	}
	b := &boundDense{l: l, in: in, relu: relu}
	b.t = tensor.Dense{K: in.C, N: kernels.Pad(l.Units), Cols: l.Units}
	if in.Image() {
		b.t.K = in.H * in.W * in.Ld()
	}
	return b, nil
}

type boundDense struct {
	l    Dense
	in   Flow
	relu bool
	t    tensor.Dense
}

func (b *boundDense) Out() Flow {
	return Flow{H: 1, W: 1, C: b.l.Units, Seq: b.in.Seq, Lead: b.in.Lead}
}

func (b *boundDense) Traits() Traits {
	return Traits{ReadsInput: true, ReadsOutput: b.relu, updates: true}
}

func (b *boundDense) FLOPs() int64 {
	return 2 * int64(b.in.Rows(1)) * int64(b.in.H*b.in.W*b.in.C) * int64(b.l.Units)
}

func (b *boundDense) Params() []Param {
	in, out := b.in.H*b.in.W*b.in.C, b.l.Units
	ps := []Param{{
		Name:   "weight",
		Shape:  []int{out, in},
		Size:   b.t.K * b.t.N,
		Pixels: b.in.H * b.in.W,
		Init:   func(t []float32, s *kernels.Stream) { b.l.Init.weight(t, in, out, s) },
		Pack:   func(packed, t []float32) { b.walk(func(at, i int) { packed[at] = t[i] }) },
		Unpack: func(t, packed []float32) { b.walk(func(at, i int) { t[i] = packed[at] }) },
	}}
	if b.l.NoBias {
		return ps
	}
	return append(ps, biasParam(out, func(t []float32, s *kernels.Stream) { b.l.Init.bias(t, in, s) }))
}

// biases returns the bias, which begins at at, within all parameters or gradients p, or
// nil.
func (b *boundDense) biases(p []float32, at int) []float32 {
	if b.l.NoBias {
		return nil
	}
	return p[at : at+b.t.N]
}

// updateBias updates the bias, if there is one, at the end of a step.
func (b *boundDense) updateBias(r *Run, at int) {
	if g := b.biases(r.G, at); g != nil && r.update != nil {
		r.update.apply(r.W, g, at)
	}
}

// walk calls f with the packed and the canonical place of every weight.
func (b *boundDense) walk(f func(at, i int)) {
	i, ld := 0, b.in.Ld()
	for j := range b.l.Units {
		for c := range b.in.C {
			for p := range b.in.H * b.in.W {
				f(packedAt(p*ld+c, j, b.t.K), i)
				i++
			}
		}
	}
}

// packedAt returns the place of row k, column j in a packed matrix of rows rows.
func packedAt(k, j, rows int) int {
	return (j/kernels.Width*rows+k)*kernels.Width + j%kernels.Width
}

func biasParam(n int, init func([]float32, *kernels.Stream)) Param {
	return Param{
		Name:   "bias",
		Shape:  []int{n},
		Size:   kernels.Pad(n),
		Init:   init,
		Pack:   func(packed, t []float32) { copy(packed, t) },
		Unpack: func(t, packed []float32) { copy(t, packed) },
	}
}

func (b *boundDense) NewState(e *Env) State {
	rows, across := b.in.Rows(e.Samples), b.l.steps
	s := &denseState{b: b, w: e.Offset, bias: e.Offset + b.t.K*b.t.N, y: e.Output(), dx: e.Gradient()}
	s.late = b.newDeferred(e)
	if b.l.bf16 {
		across = across && b.t.N%(2*kernels.Width) == 0
		s.half = &tensor.DenseBF16{Dense: b.t, Blocks: across && b.l.amx}
		s.scratch = e.Scratch(s.half.Space(rows))
		if across {
			s.pairs = e.Arena.Alloc(tensor.PairedRows(b.t.K) * b.t.N)
		}
	} else if s.thin = b.thin(e); b.t.N%pageFloats == 0 {
		s.apart = e.Arena.Alloc(min(tensor.StepRows, rows) * (b.t.N + kernels.Width))
	}
	switch {
	case !e.NeedDX:
	case !across:
		s.lanes = e.Arena.Alloc(b.t.LaneSize(rows))
	case s.half != nil:
		s.across, s.panel = e.Arena.Alloc(tensor.TurnedPairs(b.t.K, b.t.N)), e.Arena.Alloc(kernels.Width*b.t.K)
	default:
		s.across = e.Arena.Alloc(kernels.Pad(b.t.K) * b.t.N)
	}
	s.rule.grad = e.Arena.Alloc(b.t.PartSize())
	return s
}

// Lost says that no step of SGD or Adam from weights w brings back a number: the biases of
// the last layer, which is dense, are NaN. Its outputs are NaN then whatever its inputs
// are, hence every loss, and a bias that has NaN stays that. It does not tell of weights
// that are lost otherwise.
func (m *Model) Lost(w []float32) bool {
	last := m.nodes[len(m.nodes)-1]
	dense, ok := last.Bound.(*boundDense)
	if !ok || dense.relu || dense.l.NoBias {
		return false
	}
	biases := dense.biases(w, last.offset+dense.t.K*dense.t.N)[:dense.l.Units]
	return !slices.ContainsFunc(biases, func(b float32) bool { return b == b })
}
