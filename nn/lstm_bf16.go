package nn

import (
	"github.com/fedfast/fedfast/kernels"
	"github.com/fedfast/fedfast/tensor"
)

// lstmBF16 holds what a layer of an LSTM multiplies in bf16, in pairs. The weights
// are rounded once a batch, a step's h when it is known, all else once a layer.
type lstmBF16 struct {
	wx, wh   []float32 // pairs of rows
	wxT, whT []float32 // of the transposed weights; wxT is nil without
	x, h     []float32 // pairs of neighbours in a row; h of one step
	gates    []float32 // so are their gradients
	// The operands of the weights' gradients: pairs of rows of the input or h, and
	// of the gradients of the gates.
	in, out []float32
	panel   []float32 // of weights that are turned
}

func newLSTMBF16(l *lstmLayer, e *Env, rows, hidden, hp int, input bool) *lstmBF16 {
	g4 := 4 * hp
	b := &lstmBF16{
		wx:    e.Arena.Alloc(tensor.PairedRows(l.width) * g4),
		wh:    e.Arena.Alloc(tensor.PairedRows(hidden) * g4),
		whT:   e.Arena.Alloc(g4 / 2 * hp),
		x:     e.Arena.Alloc(rows * l.ld / 2),
		h:     e.Arena.Alloc(e.Samples * hp / 2),
		gates: e.Arena.Alloc(rows * g4 / 2),
		in:    e.Arena.Alloc(tensor.PairedRows(rows) * max(l.ld, hp)),
		out:   e.Arena.Alloc(tensor.PairedRows(rows) * g4),
		panel: e.Arena.Alloc(kernels.Width * max(l.width, hidden)),
	}
	if input {
		b.wxT = e.Arena.Alloc(g4 / 2 * kernels.Pad(l.width))
	}
	return b
}

// load rounds the weights with the first chunk of a batch.
func (b *lstmBF16) load(r *Run, l *lstmLayer, hidden, g4 int) {
	if r.loads(0) {
		tensor.PairWeights(b.wx, r.W[l.wx:][:l.width*g4], l.width, g4)
		tensor.PairWeights(b.wh, r.W[l.wh:][:hidden*g4], hidden, g4)
	}
}

// project is the product of the inputs of all steps.
func (b *lstmBF16) project(l *lstmLayer, x []float32, rows, g4 int) {
	kernels.RoundPairs(b.x, x[:rows*l.ld])
	kernels.GemmNN(&kernels.NN{M: rows, N: g4, K: tensor.PairedRows(l.width), A: b.x, Lda: l.ld / 2, B: b.wx, Bias: l.bias, C: l.gates, Ldc: g4, BF16: true})
}

// recur adds the product of the h of the step before.
func (b *lstmBF16) recur(gates, h []float32, n, hidden, hp int) {
	kernels.RoundPairs(b.h, h)
	kernels.GemmNN(&kernels.NN{M: n, N: 4 * hp, K: tensor.PairedRows(hidden), A: b.h, Lda: hp / 2, B: b.wh, C: gates, Ldc: 4 * hp, Accumulate: true, BF16: true})
}

// turn rounds and transposes the weights.
func (b *lstmBF16) turn(r *Run, l *lstmLayer, hidden, hp int) {
	tensor.TurnPairs(b.whT, r.W[l.wh:][:hidden*4*hp], hidden, 4*hp, b.panel)
	if b.wxT != nil {
		tensor.TurnPairs(b.wxT, r.W[l.wx:][:l.width*4*hp], l.width, 4*hp, b.panel)
	}
}

// back computes the gradient of a step's h from those of the gates of the step
// behind, from row on, or adds it.
func (b *lstmBF16) back(dh []float32, row, n, hp int, add bool) {
	kernels.GemmNN(&kernels.NN{M: n, N: hp, K: 2 * hp, A: b.gates[row*2*hp:], Lda: 2 * hp, B: b.whT, C: dh, Ldc: hp, Accumulate: add, BF16: true})
}

// weights computes the gradients of both weights, or adds them.
func (b *lstmBF16) weights(gx, gh []float32, l *lstmLayer, x []float32, rows, n, hidden, hp int, add bool) {
	g4 := 4 * hp
	tensor.PairSamples(b.in, x, l.ld, rows, l.ld)
	tensor.PairSamples(b.out, l.gates, g4, rows, g4)
	t := kernels.TN{M: tensor.PairedRows(rows), K: l.width, N: g4, A: b.in, Lda: l.ld, G: b.out, Ldg: g4, C: gx, Accumulate: add, BF16: true}
	kernels.GemmTN(&t)
	rows -= n
	tensor.PairSamples(b.in, l.h, hp, rows, hp)
	t.M, t.K, t.Lda, t.C = tensor.PairedRows(rows), hidden, hp, gh
	if n%2 == 0 {
		t.G = b.out[n/2*g4:]
	} else { // the pairs fall between the steps
		tensor.PairSamples(b.out, l.gates[n*g4:], g4, rows, g4)
	}
	kernels.GemmTN(&t)
}

// input computes the gradient of the layer's input.
func (b *lstmBF16) input(l *lstmLayer, rows, hp int, dx []float32, ld int) {
	kernels.GemmNN(&kernels.NN{M: rows, N: kernels.Pad(l.width), K: 2 * hp, A: b.gates, Lda: 2 * hp, B: b.wxT, C: dx, Ldc: ld, BF16: true})
}
