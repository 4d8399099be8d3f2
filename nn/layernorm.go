package nn

import (
	"cmp"
	"errors"
	"fmt"

	"github.com/fedfast/fedfast/kernels"
)

// LayerNorm shifts and scales the channels of every step of a sequence, of every
// pixel of an image, or of a vector, to mean 0 and variance 1 (Ba et al. 2016), then
// each by learned amounts:
//
//	y = (x - mean) / sqrt(variance + Epsilon) * weight + bias
//
// The parameters are weight [channels], which starts at 1, and bias [channels],
// which starts at 0. With RMS it divides the channels by their root mean square instead (Zhang and
// Sennrich 2019), as PyTorch's RMSNorm does, and has no bias:
//
//	y = x / sqrt(mean of x² + Epsilon) * weight
type LayerNorm struct {
	Epsilon float64 // 0 means PyTorch's: 1e-5, with RMS 2^-23
	RMS     bool
}

// Kind returns "layernorm", or "rmsnorm" with RMS.
func (l LayerNorm) Kind() string {
	if l.RMS {
		return "rmsnorm"
	}
	return "layernorm"
}

// Abilities returns what the layer can do.
func (l LayerNorm) Abilities() Abilities {
	a := Abilities{Narrow: Narrowing.Follow, Normalizes: true}
	if l.RMS {
		a.Blocks = ChannelBlocks("weight")
		a.Torch = func(t *Torch) {
			t.Need("RMSNorm", torchRMSNorm)
			t.rows(t.Module("RMSNorm(%d, %v)", t.In.C, l.epsilon()))
		}
		return a
	}
	a.Blocks = ChannelBlocks("weight", "bias")
	a.Torch = func(t *Torch) { t.rows(t.Module("nn.LayerNorm(%d, eps=%v)", t.In.C, l.epsilon())) }
	return a
}

func (l LayerNorm) epsilon() float64 {
	if l.RMS {
		return cmp.Or(l.Epsilon, 0x1p-23)
	}
	return cmp.Or(l.Epsilon, 1e-5)
}

const torchRMSNorm = `
class RMSNorm(nn.Module):
    def __init__(self, size, eps):
        super().__init__()
        self.weight, self.eps = nn.Parameter(torch.ones(size)), eps

    def forward(self, x):
        return x * torch.rsqrt(x.square().mean(-1, keepdim=True) + self.eps) * self.weight
`

// rows writes a normalization of the last dimension, applied to the channels.
func (t *Torch) rows(norm string) {
	if t.Flat || t.In.Seq > 0 {
		t.Set("%s(%s)", norm, t.X)
		return
	}
	t.Need("rows", torchRows)
	t.Set("rows(%s, %s)", norm, t.X)
}

const torchRows = `
def rows(norm, x):
    """Normalizes the channels of each pixel."""
    return norm(x.permute(0, 2, 3, 1)).permute(0, 3, 1, 2)
`

// Bind fixes the layer for its input.
func (l LayerNorm) Bind(in Flow) (Bound, error) {
	switch {
	case in.Vocab > 0 || in.Raw:
		return nil, errors.New("a normalization cannot be the first layer")
	case !(l.Epsilon >= 0 && l.Epsilon < 1):
		return nil, fmt.Errorf("epsilon %v; it must be at least 0 and below 1", l.Epsilon)
	}
	return &boundRowNorm{passive: passive{in}, epsilon: l.epsilon(), center: !l.RMS}, nil
}

type boundRowNorm struct {
	passive
	epsilon float64
	center  bool // without RMS
}

func (b *boundRowNorm) Traits() Traits { return Traits{PerSample: b.in.Image(), ReadsInput: true} }

func (b *boundRowNorm) Params() []Param {
	both := normParams(b.in.C)
	if !b.center {
		return both[:1]
	}
	return both
}

// rowNormState is a LayerNorm in one workspace.
type rowNormState struct {
	b            *boundRowNorm
	weight, bias int // offsets of the parameters
	x, y, dx     Act
	mean, scale  []float32 // of each row
	none, lost   []float32 // the bias that it lacks with RMS, and its gradient
	norm         kernels.RowNorm
	grad         kernels.RowNormGrad
}

func (b *boundRowNorm) NewState(e *Env) State {
	rows, ld := b.in.Rows(e.Samples)*b.in.H*b.in.W, b.in.Ld()
	s := &rowNormState{
		b: b, weight: e.Offset, bias: e.Offset + ld, y: e.Output(),
		mean: e.Arena.Alloc(rows), scale: e.Arena.Alloc(rows),
		norm: kernels.RowNorm{Center: b.center, Epsilon: b.epsilon},
		grad: kernels.RowNormGrad{Center: b.center},
	}
	if !b.center {
		s.none, s.lost = e.Arena.Alloc(ld)[:b.in.C], e.Arena.Alloc(ld)[:b.in.C]
	}
	s.dx = e.Gradient()
	return s
}

func (s *rowNormState) Forward(r *Run, x Act, lo, hi int) Act {
	s.x = x
	f, n := s.b.in, &s.norm
	n.N, n.Weight, n.Bias = f.C, r.W[s.weight:], s.none
	if s.b.center {
		n.Bias = r.W[s.bias:]
	}
	s.b.rows(lo, hi, func(i, row, at, count int) {
		n.Rows, n.Mean, n.Scale = count, s.mean[at:], s.scale[at:]
		n.X, n.LdX = x.At(i, row, 0), s.b.apart(x)
		n.Y, n.LdY = s.y.At(i, row, 0), s.b.apart(s.y)
		kernels.RowNormForward(n)
	})
	return s.y
}

// rows calls f for all rows of the samples [lo, hi) that lie equally far apart: those of
// a line of an image, or of all steps. It gets the sample and the line where they begin,
// their number from the first of the chunk, and how many there are.
func (b *boundRowNorm) rows(lo, hi int, f func(i, row, at, count int)) {
	if !b.in.Image() {
		f(b.in.Rows(lo), 0, b.in.Rows(lo), b.in.Rows(hi)-b.in.Rows(lo))
		return
	}
	for i := lo; i < hi; i++ {
		for row := range b.in.H {
			f(i, row, (i*b.in.H+row)*b.in.W, b.in.W)
		}
	}
}

// apart returns how far apart the rows of an Act are.
func (b *boundRowNorm) apart(a Act) int {
	if b.in.Image() {
		return a.Pixel
	}
	return a.Sample
}

func (s *rowNormState) Backward(r *Run, dy Act, lo, hi int) Act {
	f, g := s.b.in, &s.grad
	g.N, g.Weight, g.WeightGrad, g.BiasGrad = f.C, r.W[s.weight:], r.G[s.weight:][:f.C], s.lost
	if s.b.center {
		g.BiasGrad = r.G[s.bias:][:f.C]
	}
	if r.Starts(lo) {
		clear(g.WeightGrad)
		clear(g.BiasGrad)
	}
	s.b.rows(lo, hi, func(i, row, at, count int) {
		g.Rows, g.Mean, g.Scale = count, s.mean[at:], s.scale[at:]
		g.X, g.LdX = s.x.At(i, row, 0), s.b.apart(s.x)
		g.DY, g.LdDY = dy.At(i, row, 0), s.b.apart(dy)
		if s.dx.Data != nil {
			g.DX, g.LdDX = s.dx.At(i, row, 0), s.b.apart(s.dx)
		}
		kernels.RowNormBackward(g)
	})
	return s.dx
}
