package nn

import (
	"errors"
	"fmt"

	"github.com/fedfast/fedfast/kernels"
)

// LSTM is a stack of long short-term memory layers over a sequence:
//
//	i, f, g, o = W_ih x_t + b_ih + W_hh h_{t-1} + b_hh
//	c_t = sigmoid(f + ForgetBias) c_{t-1} + sigmoid(i) tanh(g)
//	h_t = sigmoid(o) tanh(c_t),   h_0 = c_0 = 0
//
// The next layer of the stack reads h_t. The parameters are weight_ih_lN [4H, I],
// weight_hh_lN [4H, H], bias_ih_lN [4H] and bias_hh_lN [4H] with the gates in the
// order i, f, g, o, as in PyTorch. The two biases of a layer get the same
// gradient.
//
// Sums over a sequence run in time-major order within a chunk of the batch. The
// size of a chunk is fixed by the model (see [Traits]), so the bits of a gradient
// depend on nothing but weights, batch and options.
type LSTM struct {
	Hidden int
	Layers int // 0 means 1
	// Dropout is the rate at which the values between two layers of the stack
	// are dropped; none are after the last. Droppable puts a dropout layer there
	// even at rate 0, whose rate TrainOpts.Dropout can then replace.
	Dropout   float32
	Droppable bool
	// EveryStep gives the last layer's h_t of every step, else of the last one.
	EveryStep bool
	// OneBias leaves out bias_hh, as TensorFlow and Keras do.
	OneBias bool
	// ForgetBias is a constant that is added to the forget gate and not trained:
	// 1 in TensorFlow's BasicLSTMCell, whose bias starts at 0.
	ForgetBias float32
	// Init: PyTorch draws everything uniform in +-1/sqrt(Hidden). Keras draws
	// weight_ih Glorot uniform and weight_hh with orthonormal columns, and starts
	// the trained bias of the forget gates at 1. The others see one kernel of I+H
	// inputs and 4H outputs, with a zero bias.
	Init Init

	bf16, amx bool // rounds the factors of products; their sums have the order of AMX
}

// Kind returns "lstm".
func (LSTM) Kind() string { return "lstm" }

// Abilities returns what the layer can do.
func (l LSTM) Abilities() Abilities {
	return Abilities{
		Init:    func(i Init) Layer { l.Init = i; return l },
		Rounded: func(p Precision) Layer { l.bf16, l.amx = true, p == BF16AMX; return l },
		Narrow: func(n Narrowing) (Narrowed, error) {
			l.Hidden = n.Of(l.Hidden)
			return n.Made(l, l.Hidden)
		},
		Blocks: func(_ Stage, in []int) Blocks { return gateBlocks(4, l.Hidden, max(l.Layers, 1), in) },
		Torch: func(t *Torch) {
			kind, dropout := "nn.LSTM", ""
			if l.OneBias {
				kind = "OneBiasLSTM"
				t.Need(kind, torchOneBias)
			}
			if l.Dropout > 0 && l.Layers > 1 {
				dropout = fmt.Sprintf(", dropout=%v", l.Dropout)
			}
			t.Set("%s(%s)[0]", t.Module("%s(%d, %d, %d, batch_first=True%s)", kind, t.In.C, l.Hidden, max(1, l.Layers), dropout), t.X)
			t.recurrent(l.EveryStep)
		},
	}
}

const torchOneBias = `
class OneBiasLSTM(nn.LSTM):
    """An LSTM whose second biases stay 0."""

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        for i in range(self.num_layers):
            nn.init.zeros_(getattr(self, f"bias_hh_l{i}")).requires_grad_(False)
`

// Bind fixes the layer for a sequence of vectors.
func (l LSTM) Bind(in Flow) (Bound, error) {
	if err := bindRecurrent("an LSTM", in, l.Hidden, l.Init); err != nil {
		return nil, err
	}
	switch {
	case l.Layers < 0:
		return nil, errors.New("layers must be at least 1")
	case !(l.Dropout >= 0 && l.Dropout < 1):
		return nil, fmt.Errorf("dropout rate %v; it must be at least 0 and below 1", l.Dropout)
	}
	l.Layers = max(1, l.Layers)
	l.Droppable = l.Layers > 1 && (l.Droppable || l.Dropout > 0)
	return &boundLSTM{l: l, in: in, hp: kernels.Pad(l.Hidden)}, nil
}

type boundLSTM struct {
	l  LSTM
	in Flow
	hp int // hidden size padded to a multiple of 16
}

// inputs returns the width of layer i's input and its distance between rows.
func (b *boundLSTM) inputs(i int) (width, ld int) {
	if i == 0 {
		return b.in.C, b.in.Ld()
	}
	return b.l.Hidden, b.hp
}

func (b *boundLSTM) Out() Flow { return recurrentOut(b.in, b.l.Hidden, b.l.EveryStep) }

// lstmChunk is the number of samples that are worked on together. It enters the
// order of sums, so changing it changes the bits of results. 16 rows keep the
// recurrent products at the speed of large ones, while the activations of a
// character model of 80 steps and 2 x 256 units stay at about 20 MB.
const lstmChunk = 16

func (b *boundLSTM) Traits() Traits { return Traits{ReadsInput: true, Chunk: lstmChunk} }

func (b *boundLSTM) FLOPs() int64 {
	var n int64
	for i := range b.l.Layers {
		width, _ := b.inputs(i)
		n += 2 * int64(width+b.l.Hidden) * int64(4*b.l.Hidden)
	}
	return n * int64(b.in.Seq)
}

func (b *boundLSTM) Params() []Param {
	var ps []Param
	gates := func(name string, i, rows int, fill func([]float32, *kernels.Stream)) {
		at := func(g, u, k int) int { return gateRow(g, u, k, rows) }
		ps = append(ps, gateParam(fmt.Sprintf(name, i), 4, b.l.Hidden, rows, fill, at))
	}
	for i := range b.l.Layers {
		width, _ := b.inputs(i)
		init := lstmInit{b.l.Init, width, b.l.Hidden}
		gates("weight_ih_l%d", i, width, init.input)
		gates("weight_hh_l%d", i, b.l.Hidden, init.recurrent)
		gates("bias_ih_l%d", i, 1, init.bias)
		if b.l.ForgetBias != 0 {
			ps[len(ps)-1].Constant = b.l.addForgetBias
		}
		if !b.l.OneBias {
			gates("bias_hh_l%d", i, 1, init.bias)
		}
	}
	return ps
}

// gateRow returns where the packed row k of gate g of hidden unit u starts, for a weight of rows
// rows, or a bias with one.
//
// The four gates of an LSTM lie interleaved in blocks of 16 hidden units: 16
// input gates, 16 forget gates, 16 cell candidates, 16 output gates, then the
// next 16 units. One block of 64 pre-activations then holds all that the
// pointwise part of 16 units needs. The canonical layout (PyTorch's) has all
// input gates first, then all forget gates and so on; hidden units are padded to
// a multiple of 16 with zero columns.
func gateRow(g, u, k, rows int) int { return ((u/16*4+g)*rows+k)*16 + u%16 }

// addForgetBias adds sign times ForgetBias to the forget gates of a bias in
// PyTorch's order of gates.
func (l LSTM) addForgetBias(bias []float32, sign float32) {
	forget := bias[l.Hidden : 2*l.Hidden]
	for i := range forget {
		forget[i] += sign * l.ForgetBias
	}
}
