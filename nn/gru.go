package nn

import (
	"fmt"
	"slices"

	"github.com/fedfast/fedfast/kernels"
)

// GRU is a layer of gated recurrent units over a sequence, with PyTorch's equations:
//
//	r, z = sigmoid(W_ih x_t + b_ih + W_hh h_{t-1} + b_hh)
//	n = tanh(W_in x_t + b_in + r (W_hn h_{t-1} + b_hn))
//	h_t = (1 - z) n + z h_{t-1},   h_0 = 0
//
// The parameters are weight_ih_l0 [3H, I], weight_hh_l0 [3H, H], bias_ih_l0 [3H] and
// bias_hh_l0 [3H] with the gates in the order r, z, n, as in PyTorch. Several layers
// are several GRUs, of which all but the last give every step. Sums over a sequence run
// as in an [LSTM].
type GRU struct {
	Hidden int
	// EveryStep gives h_t of every step, else of the last one.
	EveryStep bool
	// Init: PyTorch draws everything uniform in +-1/sqrt(Hidden). Keras draws
	// weight_ih Glorot uniform and weight_hh with orthonormal columns. The others see
	// one kernel of I+H inputs and 3H outputs. Their biases are zero.
	Init Init

	bf16, amx bool // rounds the factors of products; their sums have the order of AMX
}

// Kind returns "gru".
func (GRU) Kind() string { return "gru" }

// Abilities returns what the layer can do.
func (l GRU) Abilities() Abilities {
	return Abilities{
		Init:    func(i Init) Layer { l.Init = i; return l },
		Rounded: func(p Precision) Layer { l.bf16, l.amx = true, p == BF16AMX; return l },
		Narrow: func(n Narrowing) (Narrowed, error) {
			l.Hidden = n.Of(l.Hidden)
			return n.Made(l, l.Hidden)
		},
		Blocks: func(_ Stage, in []int) Blocks { return gateBlocks(3, l.Hidden, 1, in) },
		Torch: func(t *Torch) {
			t.Set("%s(%s)[0]", t.Module("nn.GRU(%d, %d, batch_first=True)", t.In.C, l.Hidden), t.X)
			t.recurrent(l.EveryStep)
		},
	}
}

// gateBlocks returns the Blocks of a recurrent layer with n gates.
func gateBlocks(n, hidden, layers int, in []int) Blocks {
	b, rows := Blocks{Params: map[string][2][]int{}}, slices.Repeat([]int{hidden}, n)
	for i := range layers {
		b.Params[fmt.Sprintf("weight_ih_l%d", i)] = [2][]int{rows, in}
		for _, name := range []string{"weight_hh_l%d", "bias_ih_l%d", "bias_hh_l%d"} {
			b.Params[fmt.Sprintf(name, i)] = [2][]int{rows, nil}
		}
		in = nil
	}
	return b
}

// recurrent writes what goes on of the steps of a recurrent layer.
func (t *Torch) recurrent(every bool) {
	if !every {
		t.Set("%s[:, -1]", t.X)
	}
	t.Flat = !every
}

// Bind fixes the layer for a sequence of vectors.
func (l GRU) Bind(in Flow) (Bound, error) {
	if err := bindRecurrent("a GRU", in, l.Hidden, l.Init); err != nil {
		return nil, err
	}
	return &boundGRU{l: l, in: in, hp: kernels.Pad(l.Hidden)}, nil
}

type boundGRU struct {
	l  GRU
	in Flow
	hp int // hidden size padded to a multiple of 16
}

func (b *boundGRU) Out() Flow { return recurrentOut(b.in, b.l.Hidden, b.l.EveryStep) }

func (b *boundGRU) Traits() Traits {
	return Traits{ReadsInput: true, Chunk: lstmChunk, Extra: b.in.Seq * 8 * b.hp}
}

func (b *boundGRU) FLOPs() int64 {
	return 2 * int64(b.in.C+b.l.Hidden) * int64(3*b.l.Hidden) * int64(b.in.Seq)
}

func (b *boundGRU) Params() []Param {
	hidden, width := b.l.Hidden, b.in.C
	gates := func(name string, rows int, fill func([]float32, *kernels.Stream)) Param {
		return gateParam(name, 3, hidden, rows, fill, func(g, u, k int) int { return packedAt(k, g*b.hp+u, rows) })
	}
	input, recurrent := b.l.Init.gates(width, hidden)
	bias := func(t []float32, s *kernels.Stream) { b.l.Init.bias(t, hidden, s) }
	return []Param{
		gates("weight_ih_l0", width, input), gates("weight_hh_l0", hidden, recurrent), gates("bias_ih_l0", 1, bias), gates("bias_hh_l0", 1, bias),
	}
}

// gates returns how the two weights of a GRU are drawn.
func (i Init) gates(width, hidden int) (input, recurrent func([]float32, *kernels.Stream)) {
	switch i {
	case InitTorch:
		f := func(t []float32, s *kernels.Stream) { i.bias(t, hidden, s) }
		return f, f
	case InitKeras:
		input = func(t []float32, s *kernels.Stream) { i.weight(t, width, 3*hidden, s) }
		return input, func(t []float32, s *kernels.Stream) { fillOrthonormal(t, hidden, s) }
	default:
		f := func(t []float32, s *kernels.Stream) { i.weight(t, width+hidden, 3*hidden, s) }
		return f, f
	}
}
