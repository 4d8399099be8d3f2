package nn

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/fedfast/fedfast/kernels"
)

// Attention is multi-head self-attention over a sequence (Vaswani et al. 2017), as
// PyTorch's MultiheadAttention. Every step gets queries, keys and values of C/Heads
// channels a head by one dense layer, and C outputs by another one of what a head
// gives for step t:
//
//	sum over s of softmax_s(q_t k_s / sqrt(C/Heads)) v_s
//
// The parameters are in_proj_weight [3C, C], in_proj_bias [3C], out_proj.weight [C, C]
// and out_proj.bias [C]. The softmax is made of a block of queries at a time, and
// again in the backward pass, so that memory grows with the steps and not with their
// square.
//
// A score is one chain of products over the channels of a head, what a softmax divides
// by one sum over the steps, and what it gives one chain over them.
type Attention struct {
	Heads int
	// Causal keeps the steps after t from step t.
	Causal bool
	// MaskPadding keeps every step whose token is 0 from all; where nothing is left,
	// a head gives zeros.
	MaskPadding bool
	// Init: PyTorch draws in_proj_weight Glorot uniform and starts biases at zero; the
	// others start two dense layers.
	Init Init

	bf16, amx bool // rounds the factors of products; their sums have the order of AMX
	// factor, if not 0, multiplies queries, keys and values in training: HeteroFL's
	// scaler (Diao et al. 2021) of a sub-network.
	factor float32
}

// Kind returns "attention".
func (Attention) Kind() string { return "attention" }

// Abilities returns what the layer can do.
func (l Attention) Abilities() Abilities {
	return Abilities{
		Init:    func(i Init) Layer { l.Init = i; return l },
		Rounded: func(p Precision) Layer { l.bf16, l.amx = true, p == BF16AMX; return l },
		Narrow: func(n Narrowing) (Narrowed, error) {
			if n.Channels%max(l.Heads, 1) != 0 {
				return Narrowed{}, fmt.Errorf("%d heads of %d channels at width %v; the heads must divide the channels", l.Heads, n.Channels, n.Width)
			}
			l.factor = float32(1 / n.Width)
			return n.Made(l, n.Channels)
		},
		Blocks: func(s Stage, in []int) Blocks { // in_proj makes queries, keys and values, by heads
			heads := slices.Repeat([]int{s.In.C / l.Heads}, 3*l.Heads)
			return Blocks{Params: map[string][2][]int{"in_proj_weight": {heads, in}, "in_proj_bias": {heads, nil}, "out_proj.weight": {nil, heads[:l.Heads]}}}
		},
		Tokens: l.MaskPadding,
		Torch: func(t *Torch) {
			causal, padding := "", ""
			if l.Causal {
				causal = ", causal=True"
			}
			if l.MaskPadding {
				padding = ", tokens == 0"
				if t.In.Lead > 0 {
					padding = fmt.Sprintf(", nn.functional.pad(tokens == 0, (%d, 0))", t.In.Lead)
				}
			}
			t.Need("Attention", torchAttention)
			t.Set("%s(%s%s)", t.Module("Attention(%d, %d%s)", t.In.C, l.Heads, causal), t.X, padding)
		},
		few: true,
	}
}

const torchAttention = `
class Attention(nn.MultiheadAttention):
    """Self-attention, of each step to itself and those before if causal."""

    def __init__(self, size, heads, causal=False):
        super().__init__(size, heads, batch_first=True)
        self.causal = causal

    def forward(self, x, padding=None):
        mask = torch.ones(x.shape[1], x.shape[1], dtype=torch.bool, device=x.device).triu(1) if self.causal else None
        return super().forward(x, x, x, key_padding_mask=padding, attn_mask=mask, need_weights=False)[0]
`

// Bind fixes the layer for its input.
func (l Attention) Bind(in Flow) (Bound, error) {
	switch {
	case in.Vocab > 0:
		return nil, errors.New("an embedding must come before attention on tokens")
	case in.Seq < 1:
		return nil, errors.New("attention needs a sequence as its input")
	case l.Heads < 1 || in.C%l.Heads != 0:
		return nil, fmt.Errorf("%d heads of %d channels; the heads must divide the channels", l.Heads, in.C)
	case l.MaskPadding && in.aligned() != nil:
		return nil, in.aligned()
	}
	project, err := Dense{Units: 3 * in.C, Init: l.Init, steps: true, bf16: l.bf16, amx: l.amx}.bind(in, false)
	if err != nil {
		return nil, err
	}
	out, err := Dense{Units: in.C, Init: l.Init, steps: true, bf16: l.bf16, amx: l.amx}.bind(in, false)
	if err != nil {
		return nil, err
	}
	return &boundAttention{l: l, in: in, project: project.(*boundDense), out: out.(*boundDense), size: in.C / l.Heads}, nil
}

type boundAttention struct {
	l            Attention
	in           Flow
	project, out *boundDense
	size         int // channels of a head
}

func (b *boundAttention) Out() Flow { return b.in }

func (b *boundAttention) Traits() Traits {
	return Traits{ReadsInput: true, updates: true, Extra: b.in.Seq*(b.project.t.N+b.in.Ld()) + b.stats()}
}

// FLOPs counts the dense layers and the products of the heads, of the steps that a
// causal one does not see none.
func (b *boundAttention) FLOPs() int64 {
	pairs := int64(b.in.Seq) * int64(b.in.Seq)
	if b.l.Causal {
		pairs = (pairs + int64(b.in.Seq)) / 2
	}
	return b.project.FLOPs() + b.out.FLOPs() + 4*pairs*int64(b.in.C)
}

func (b *boundAttention) Params() []Param {
	in, out := b.project.Params(), b.out.Params()
	in[0].Name, in[1].Name = "in_proj_weight", "in_proj_bias"
	out[0].Name, out[1].Name = "out_proj.weight", "out_proj.bias"
	if b.l.Init == InitTorch {
		in[0].Init = func(t []float32, s *kernels.Stream) { fillUniform(t, math.Sqrt(6/float64(4*b.in.C)), s) }
		in[1].Init = func([]float32, *kernels.Stream) {}
		out[1].Init = in[1].Init
	}
	return append(in, out...)
}
