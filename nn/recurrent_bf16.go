package nn

import (
	"github.com/fedfast/fedfast/kernels"
	"github.com/fedfast/fedfast/tensor"
)

// recurrentBF16 holds what a layer of an LSTM or a GRU multiplies in bf16, in pairs. The
// weights are rounded once a batch, a step's h when it is known, all else once a layer.
type recurrentBF16 struct {
	width, ld  int // of the input
	hidden, hp int
	columns    int       // of the gates
	wx, wh     []float32 // pairs of rows
	wxT, whT   []float32 // of the transposed weights; wxT is nil without
	x, h       []float32 // pairs of neighbours in a row; h of one step
	gates      []float32 // so are the gradients of what W_ih gives
	recur      []float32 // and of what W_hh gives, which are the same in an LSTM
	// The operands of the weights' gradients: pairs of rows of the input or h, and
	// of the gradients of the gates.
	in, out []float32
	panel   []float32 // of weights that are turned
}

func newRecurrentBF16(e *Env, rows, width, ld, hidden, gates int, input bool) *recurrentBF16 {
	hp := kernels.Pad(hidden)
	columns := gates * hp
	b := &recurrentBF16{
		width: width, ld: ld, hidden: hidden, hp: hp, columns: columns,
		wx:    e.Arena.Alloc(tensor.PairedRows(width) * columns),
		wh:    e.Arena.Alloc(tensor.PairedRows(hidden) * columns),
		whT:   e.Arena.Alloc(tensor.TurnedPairs(hidden, columns)),
		x:     e.Arena.Alloc(rows * ld / 2),
		h:     e.Arena.Alloc(e.Samples * hp / 2),
		gates: e.Arena.Alloc(rows * columns / 2),
		in:    e.Arena.Alloc(tensor.PairedRows(rows) * max(ld, hp)),
		out:   e.Arena.Alloc(tensor.PairedRows(rows) * columns),
		panel: e.Arena.Alloc(kernels.Width * max(width, hidden)),
	}
	b.recur = b.gates
	if input {
		b.wxT = e.Arena.Alloc(tensor.TurnedPairs(width, columns))
	}
	return b
}

// load rounds the weights with the first chunk of a batch.
func (b *recurrentBF16) load(r *Run, wx, wh int) {
	if r.loads(0) {
		tensor.PairWeights(b.wx, r.W[wx:][:b.width*b.columns], b.width, b.columns)
		tensor.PairWeights(b.wh, r.W[wh:][:b.hidden*b.columns], b.hidden, b.columns)
	}
}

// project is the product of the inputs of all steps.
func (b *recurrentBF16) project(gates, bias, x []float32, rows int) {
	kernels.RoundPairs(b.x, x[:rows*b.ld])
	kernels.GemmNN(&kernels.NN{M: rows, N: b.columns, K: tensor.PairedRows(b.width), A: b.x, Lda: b.ld / 2, B: b.wx, Bias: bias, C: gates, Ldc: b.columns, BF16: true})
}

// step is the product of the h of the step before; without a bias it is added.
func (b *recurrentBF16) step(gates, bias, h []float32, n int) {
	kernels.RoundPairs(b.h, h[:n*b.hp])
	kernels.GemmNN(&kernels.NN{M: n, N: b.columns, K: tensor.PairedRows(b.hidden), A: b.h, Lda: b.hp / 2, B: b.wh, Bias: bias, C: gates, Ldc: b.columns, Accumulate: bias == nil, BF16: true})
}

// turn rounds and transposes the weights.
func (b *recurrentBF16) turn(r *Run, wx, wh int) {
	tensor.TurnPairs(b.whT, r.W[wh:][:b.hidden*b.columns], b.hidden, b.columns, b.panel)
	if b.wxT != nil {
		tensor.TurnPairs(b.wxT, r.W[wx:][:b.width*b.columns], b.width, b.columns, b.panel)
	}
}

// back computes the gradient of a step's h from those of the gates of the step
// after, from row on, or adds it.
func (b *recurrentBF16) back(dh []float32, row, n int, add bool) {
	half := b.columns / 2
	kernels.GemmNN(&kernels.NN{M: n, N: b.hp, K: half, A: b.recur[row*half:], Lda: half, B: b.whT, C: dh, Ldc: b.hp, Accumulate: add, BF16: true})
}

// weights computes the gradients of both weights, or adds them, from those of what they
// gave in all rows, n of a step.
func (b *recurrentBF16) weights(gx, gh, x, h, gates, recur []float32, rows, n int, add bool) {
	tensor.PairSamples(b.in, x, b.ld, rows, b.ld)
	tensor.PairSamples(b.out, gates, b.columns, rows, b.columns)
	t := kernels.TN{M: tensor.PairedRows(rows), K: b.width, N: b.columns, A: b.in, Lda: b.ld, G: b.out, Ldg: b.columns, C: gx[:b.width*b.columns], Accumulate: add, BF16: true}
	kernels.GemmTN(&t)
	rows -= n
	tensor.PairSamples(b.in, h, b.hp, rows, b.hp)
	t.M, t.K, t.Lda, t.C = tensor.PairedRows(rows), b.hidden, b.hp, gh[:b.hidden*b.columns]
	if n%2 == 0 && &gates[0] == &recur[0] {
		t.G = b.out[n/2*b.columns:]
	} else { // other numbers, or pairs that fall between the steps
		tensor.PairSamples(b.out, recur[n*b.columns:], b.columns, rows, b.columns)
	}
	kernels.GemmTN(&t)
}

// input computes the gradient of the layer's input.
func (b *recurrentBF16) input(rows int, dx []float32, ld int) {
	half := b.columns / 2
	kernels.GemmNN(&kernels.NN{M: rows, N: kernels.Pad(b.width), K: half, A: b.gates, Lda: half, B: b.wxT, C: dx, Ldc: ld, BF16: true})
}
