package nn

import (
	"errors"
	"fmt"

	"github.com/fedfast/fedfast/kernels"
	"github.com/fedfast/fedfast/tensor"
)

// SqueezeExcitation multiplies every channel of an image by a share that depends on
// the means of all channels (Hu et al. 2018): a dense layer of Units with a ReLU and
// one of as many outputs as channels with a hard sigmoid (Howard et al. 2019) make it
// of them. The parameters belong to the two layers, which PyTorch's users write as
// 1x1 convolutions: fc1.weight [Units, channels, 1, 1], fc1.bias [Units], fc2.weight
// [channels, Units, 1, 1] and fc2.bias [channels].
type SqueezeExcitation struct {
	Units int
	Init  Init

	bf16 bool // rounds the factors of products
}

// Kind returns "squeeze".
func (SqueezeExcitation) Kind() string { return "squeeze" }

// Abilities returns what the layer can do.
func (l SqueezeExcitation) Abilities() Abilities {
	return Abilities{
		Init:    func(i Init) Layer { l.Init = i; return l },
		Rounded: func(Precision) Layer { l.bf16 = true; return l },
		Narrow: func(n Narrowing) (Narrowed, error) {
			l.Units = n.Of(l.Units)
			return n.Kept(l)
		},
		Blocks: func(_ Stage, in []int) Blocks {
			return Blocks{Params: map[string][2][]int{"fc1.weight": {nil, in}, "fc2.weight": {in, nil}, "fc2.bias": {in, nil}}, Out: in}
		},
		Torch: func(t *Torch) {
			t.Image()
			t.Need("Squeeze", torchSqueeze)
			t.Set("%s(%s)", t.Module("Squeeze(%d, %d)", t.In.C, l.Units), t.X)
		},
	}
}

const torchSqueeze = `
class Squeeze(nn.Module):
    """Squeeze-and-excitation."""

    def __init__(self, size, units):
        super().__init__()
        self.fc1, self.fc2 = nn.Conv2d(size, units, 1), nn.Conv2d(units, size, 1)

    def forward(self, x):
        return x * F.hardsigmoid(self.fc2(F.relu(self.fc1(x.mean((2, 3), keepdim=True)))))
`

// Bind fixes the layer for its input.
func (l SqueezeExcitation) Bind(in Flow) (Bound, error) {
	switch {
	case in.Seq > 0 || in.Raw:
		return nil, errors.New("squeeze-and-excitation needs the image of a convolution as its input")
	case l.Units < 1:
		return nil, fmt.Errorf("%d units; must be at least 1", l.Units)
	}
	if err := l.Init.check(); err != nil {
		return nil, err
	}
	b := &boundSqueeze{l: l, in: in}
	b.down, b.up = tensor.Dense{K: in.C, N: kernels.Pad(l.Units)}, tensor.Dense{K: l.Units, N: in.Ld()}
	return b, nil
}

type boundSqueeze struct {
	l        SqueezeExcitation
	in       Flow
	down, up tensor.Dense
}

func (b *boundSqueeze) Out() Flow { return b.in }

func (b *boundSqueeze) Traits() Traits {
	return Traits{PerSample: true, ReadsInput: true, remakes: true, Group: b.wish(), Extra: 5*b.in.Ld() + 2*kernels.Pad(b.l.Units)}
}

// wish returns how many samples should go through the dense layers together: several where
// their weights do not stay in the first cache, or not in the second, so that these are read
// less often, and the images are small, so that several stay in the second one.
func (b *boundSqueeze) wish() int {
	const nearPixels, firstFloats, secondFloats = 16, 4096, 65536
	switch weights := b.in.Ld() * b.l.Units; {
	case b.in.H*b.in.W > nearPixels || weights <= firstFloats:
		return 1
	case weights <= secondFloats:
		return fewImages
	}
	return 2 * fewImages
}

// FLOPs counts the two dense layers.
func (b *boundSqueeze) FLOPs() int64 { return 4 * int64(b.in.C) * int64(b.l.Units) }

func (b *boundSqueeze) Params() []Param {
	var ps []Param
	for i, n := range [][2]int{{b.in.C, b.l.Units}, {b.l.Units, b.in.C}} {
		dense := boundDense{l: Dense{Units: n[1], Init: b.l.Init}, in: Flow{H: 1, W: 1, C: n[0]}, t: []tensor.Dense{b.down, b.up}[i]}
		for _, p := range dense.Params() {
			p.Name = fmt.Sprintf("fc%d.%s", i+1, p.Name)
			if len(p.Shape) == 2 {
				p.Shape = append(p.Shape, 1, 1)
			}
			ps = append(ps, p)
		}
	}
	return ps
}

// squeezeState is the layer in one workspace.
type squeezeState struct {
	held
	b                      *boundSqueeze
	w1, b1, w2, b2, end    int // offsets of the parameters
	x, y, dx               Act
	means, hidden          []float32 // of each sample
	gate, slope            []float32
	dGate, dHidden, dMeans []float32
	lanes                  []float32
	norm                   kernels.ImageNorm
	zero                   []float32
	scratch                *scratch // of products of bf16
}

func (b *boundSqueeze) NewState(e *Env) State {
	ld, units := b.in.Ld(), kernels.Pad(b.l.Units)
	s := &squeezeState{b: b, w1: e.Offset}
	s.held = e.nearOutput(&s.y)
	s.b1 = s.w1 + b.down.K*b.down.N
	s.w2 = s.b1 + units
	s.b2 = s.w2 + b.up.K*b.up.N
	s.end = s.b2 + ld
	for _, f := range []*[]float32{&s.means, &s.gate, &s.slope, &s.dGate, &s.dMeans} {
		*f = e.Arena.Alloc(e.Samples * ld)
	}
	s.hidden, s.dHidden = e.Arena.Alloc(e.Samples*units), e.Arena.Alloc(e.Samples*units)
	s.zero = e.Arena.Alloc(ld)
	s.lanes = e.Arena.Alloc(max(b.down.LaneSize(e.Samples), b.up.LaneSize(e.Samples)))
	s.norm = kernels.ImageNorm{H: b.in.H, W: b.in.W, C: ld, Sum: make([]float64, ld), Inner: make([]float64, ld)}
	e.nearGradient(&s.dx)
	if b.l.bf16 {
		s.scratch = e.Scratch(max(alone(b.down).Space(e.Samples), alone(b.up).Space(e.Samples)))
	}
	return s
}

// multiply is the forward pass of one of the two layers for n samples.
func (s *squeezeState) multiply(d tensor.Dense, n int, y, x, w, bias []float32, relu bool) {
	ldx := kernels.Pad(d.K)
	if !s.b.l.bf16 {
		d.Forward(y, d.N, x, ldx, n, w, bias, relu)
		return
	}
	alone(d).Forward(y, d.N, x, ldx, n, w, bias, relu, s.scratch.floats)
}

// alone returns a layer of which the gradient of the weights does not depend on how many
// samples a call has.
func alone(d tensor.Dense) tensor.DenseBF16 { return tensor.DenseBF16{Dense: d, Alone: true} }

// input computes the gradient dx of the input of one of the two layers, with weights at w,
// for n samples from that of its output; x is its input.
func (s *squeezeState) input(r *Run, d tensor.Dense, n, w int, dx, x, dy []float32) {
	ldx, weights := kernels.Pad(d.K), r.W[w:w+d.K*d.N]
	if !s.b.l.bf16 {
		d.BackwardInput(dx, ldx, dy, d.N, n, weights, s.lanes)
		return
	}
	half := alone(d)
	half.Load(x, ldx, dy, d.N, n, s.scratch.floats)
	half.BackwardInput(dx, ldx, n, weights, s.lanes, s.scratch.floats)
}

// parameters computes the gradients of one of the two layers, whose biases follow its weights
// at w, from all samples of a chunk, so that they are read and written once.
func (s *squeezeState) parameters(r *Run, d tensor.Dense, w int, x, dy []float32) {
	size, ldx, add := d.K*d.N, kernels.Pad(d.K), !r.Starts(0)
	gw := r.G[w : w+size]
	d.BackwardBias(r.G[w+size:][:d.N], dy, d.N, r.N, add)
	if !s.b.l.bf16 {
		d.BackwardWeights(gw, x, ldx, dy, d.N, r.N, add)
		return
	}
	half := alone(d)
	half.Load(x, ldx, dy, d.N, r.N, s.scratch.floats)
	half.WeightsPart(d.Whole(), gw, d.K, r.N, add, s.scratch.floats)
}

func (s *squeezeState) Forward(r *Run, x Act, lo, hi int) Act {
	s.x = x
	b := s.b
	ld, units := b.in.Ld(), b.down.N
	means, hidden, gate := s.means[lo*ld:hi*ld], s.hidden[lo*units:hi*units], s.gate[lo*ld:hi*ld]
	clear(means)
	for i := lo; i < hi; i++ {
		for y := range b.in.H {
			kernels.ColSum(s.means[i*ld:][:ld], x.At(i, y, 0), b.in.W, ld, ld)
		}
	}
	kernels.Scale(means, 1/float32(b.in.H*b.in.W))
	s.multiply(b.down, hi-lo, hidden, means, r.W[s.w1:s.b1], r.W[s.b1:s.w2], true)
	s.multiply(b.up, hi-lo, gate, hidden, r.W[s.w2:s.b2], r.W[s.b2:s.end], false)
	kernels.Curves(kernels.CurveHardSigmoid, gate, s.slope[lo*ld:hi*ld], gate)
	for i := lo; i < hi; i++ {
		s.multiplyImage(i)
	}
	s.hold(max(lo, (hi-1)&s.y.Fold), hi)
	return s.y
}

// multiplyImage multiplies the channels of image i by their shares.
func (s *squeezeState) multiplyImage(i int) {
	n, ld := &s.norm, s.b.in.Ld()
	n.X, n.XRow, n.Y, n.YRow = s.x.At(i, 0, 0), s.x.Row, s.y.At(i, 0, 0), s.y.Row
	n.Value, n.Shift = s.gate[i*ld:][:ld], s.zero
	kernels.NormForward(n)
}

func (s *squeezeState) remake(_ *Run, lo, hi int) {
	for i := lo; i < hi; i++ {
		s.multiplyImage(i)
	}
	s.hold(lo, hi)
}

// Backward: the share of a channel has as its gradient the sum over the image of dy*x.
func (s *squeezeState) Backward(r *Run, dy Act, lo, hi int) Act {
	b, n := s.b, &s.norm
	ld, units := b.in.Ld(), b.down.N
	for i := lo; i < hi; i++ {
		n.X, n.XRow, n.Y, n.YRow = s.x.At(i, 0, 0), s.x.Row, dy.At(i, 0, 0), dy.Row
		kernels.NormSums(n)
		for c := range b.in.C {
			s.dGate[i*ld+c] = float32(n.Inner[c]) * s.slope[i*ld+c]
		}
	}
	hidden, dHidden := s.hidden[lo*units:hi*units], s.dHidden[lo*units:hi*units]
	s.input(r, b.up, hi-lo, s.w2, dHidden, hidden, s.dGate[lo*ld:])
	kernels.ReLUBackward(dHidden, dHidden, hidden)
	if hi == r.N {
		s.parameters(r, b.up, s.w2, s.hidden, s.dGate)
		s.parameters(r, b.down, s.w1, s.means, s.dHidden)
	}
	if s.dx.Data == nil {
		return s.dx
	}
	dMeans := s.dMeans[lo*ld : hi*ld]
	s.input(r, b.down, hi-lo, s.w1, dMeans, s.means[lo*ld:], dHidden)
	kernels.Scale(dMeans, 1/float32(b.in.H*b.in.W))
	for i := lo; i < hi; i++ {
		n.X, n.XRow, n.Y, n.YRow = dy.At(i, 0, 0), dy.Row, s.dx.At(i, 0, 0), s.dx.Row
		n.Value, n.Shift = s.gate[i*ld:][:ld], s.dMeans[i*ld:][:ld]
		kernels.NormForward(n)
	}
	return s.dx
}
