package nn

import (
	"errors"
	"fmt"
	"strings"

	"github.com/fedfast/fedfast/kernels"
	"github.com/fedfast/fedfast/tensor"
)

// bindRecurrent returns why a layer of a kind cannot stand after a flow.
func bindRecurrent(kind string, in Flow, hidden int, init Init) error {
	switch {
	case in.Vocab > 0:
		return fmt.Errorf("an embedding must come before %s on tokens", kind)
	case in.Seq < 1:
		return fmt.Errorf("%s needs a sequence as its input", kind)
	case hidden < 1:
		return errors.New("the hidden size must be at least 1")
	}
	return init.check()
}

// recurrentOut is what a layer with some hidden units gives, of every step or of the last one.
func recurrentOut(in Flow, hidden int, every bool) Flow {
	f := Flow{H: 1, W: 1, C: hidden}
	if every {
		f.Seq, f.Lead = in.Seq, in.Lead
	}
	return f
}

// gatePlace returns where row k of hidden unit u of gate g lies.
type gatePlace func(g, u, k int) int

// gateParam describes a weight of some rows, or a bias, of one, of all gates.
func gateParam(name string, gates, hidden, rows int, init func([]float32, *kernels.Stream), at gatePlace) Param {
	walk := func(f func(at, i int)) {
		for i := range gates * hidden * rows {
			f(at(i/rows/hidden, i/rows%hidden, i%rows), i)
		}
	}
	shape := []int{gates * hidden, rows}
	if strings.HasPrefix(name, "bias") {
		shape = shape[:1]
	}
	return Param{
		Name: name, Shape: shape, Size: rows * gates * kernels.Pad(hidden), Init: init,
		Pack:   func(packed, t []float32) { walk(func(at, i int) { packed[at] = t[i] }) },
		Unpack: func(t, packed []float32) { walk(func(at, i int) { t[i] = packed[at] }) },
	}
}

// recurrent holds the two weights of a layer of an LSTM or a GRU in one workspace, which multiply
// rows of the input and of h.
type recurrent struct {
	width, hidden, hp int
	columns           int       // of the gates
	wx, wh, biases    int       // offsets of the parameters
	wxT, whT          []float32 // transposed for the backward pass; wxT is nil without
	pairs             *recurrentPairs
}

// recurrentPairs are the factors of products in bf16. The weights are rounded once a batch, a
// step's h when it is known, all else once a layer.
type recurrentPairs struct {
	wx, wh []float32 // pairs of rows
	x, h   []float32 // pairs of neighbours in a row; h of one step
	grads  []float32 // so are the gradients of what the weights give
	// The operands of the weights' gradients: pairs of rows of the input or h, and
	// of the gradients of the gates.
	in, out []float32
	panel   []float32 // of weights that are turned
	blocks  bool      // sums are in blocks
}

// newRecurrent makes room for rows of an input of a width, ld apart, and parameters at an offset.
func newRecurrent(e *Env, at, rows, width, ld, hidden, gates int, input, bf16, blocks bool) recurrent {
	hp := kernels.Pad(hidden)
	columns := gates * hp
	w := recurrent{width: width, hidden: hidden, hp: hp, columns: columns, wx: at, wh: at + width*columns}
	w.biases = w.wh + hidden*columns
	turned := func(rows int) []float32 { return e.Arena.Alloc(columns * kernels.Pad(rows)) }
	if bf16 {
		turned = func(rows int) []float32 { return e.Arena.Alloc(tensor.TurnedPairs(rows, columns)) }
		w.pairs = &recurrentPairs{
			blocks: blocks,
			wx:     e.Arena.Alloc(tensor.PairedRows(width) * columns),
			wh:     e.Arena.Alloc(tensor.PairedRows(hidden) * columns),
			x:      e.Arena.Alloc(rows * ld / 2),
			h:      e.Arena.Alloc(e.Samples * hp / 2),
			grads:  e.Arena.Alloc(rows * columns / 2),
			in:     e.Arena.Alloc(tensor.PairedRows(rows) * max(ld, hp)),
			out:    e.Arena.Alloc(tensor.PairedRows(rows) * columns),
			panel:  e.Arena.Alloc(kernels.Width * max(width, hidden)),
		}
	}
	if w.whT = turned(hidden); input {
		w.wxT = turned(width)
	}
	return w
}

// project computes what W_ih gives of the inputs of all steps.
func (w *recurrent) project(r *Run, gates, bias, x []float32, ldx, rows int) {
	g := kernels.NN{M: rows, N: w.columns, K: w.width, A: x, Lda: ldx, B: r.W[w.wx:], Bias: bias, C: gates, Ldc: w.columns}
	if p := w.pairs; p != nil {
		if r.loads(0) {
			tensor.PairWeights(p.wx, r.W[w.wx:w.wh], w.width, w.columns)
			tensor.PairWeights(p.wh, r.W[w.wh:w.biases], w.hidden, w.columns)
		}
		kernels.RoundPairs(p.x, x[:rows*ldx])
		g.K, g.A, g.Lda, g.B, g.BF16 = tensor.PairedRows(w.width), p.x, ldx/2, p.wx, true
		g.Blocks = p.blocks
	}
	kernels.GemmNN(&g)
}

// step computes what W_hh gives of the h of a step, with a bias; without one it is added.
func (w *recurrent) step(r *Run, to, bias, h []float32, n int) {
	g := kernels.NN{M: n, N: w.columns, K: w.hidden, A: h, Lda: w.hp, B: r.W[w.wh:], Bias: bias, C: to, Ldc: w.columns}
	g.Accumulate = bias == nil
	if p := w.pairs; p != nil {
		kernels.RoundPairs(p.h, h[:n*w.hp])
		g.K, g.A, g.Lda, g.B, g.BF16 = tensor.PairedRows(w.hidden), p.h, w.hp/2, p.wh, true
		g.Blocks = p.blocks
	}
	kernels.GemmNN(&g)
}

// turn transposes the weights, which change from batch to batch only.
func (w *recurrent) turn(r *Run) {
	if r.Base > 0 {
		return
	}
	w.transpose(w.whT, r.W[w.wh:w.biases], w.hidden)
	if w.wxT != nil {
		w.transpose(w.wxT, r.W[w.wx:w.wh], w.width)
	}
}

func (w *recurrent) transpose(to, from []float32, rows int) {
	if w.pairs != nil {
		tensor.TurnPairs(to, from, rows, w.columns, w.pairs.panel)
		return
	}
	kernels.PackT(to, w.columns, from, rows, rows, w.columns)
}

// back computes the gradient of a step's h, or adds it, from grads: those of what W_hh gave in n
// rows.
func (w *recurrent) back(dh, grads []float32, n int, add bool) {
	w.turned(dh, w.hp, w.hp, grads, n, w.whT, add)
}

// input computes the gradient of the input from those of what W_ih gave in some rows.
func (w *recurrent) input(dx []float32, ld int, grads []float32, rows int) {
	w.turned(dx, ld, kernels.Pad(w.width), grads, rows, w.wxT, false)
}

func (w *recurrent) turned(to []float32, ld, columns int, grads []float32, rows int, weights []float32, add bool) {
	g := kernels.NN{M: rows, N: columns, K: w.columns, A: grads, Lda: w.columns, B: weights, C: to, Ldc: ld}
	g.Accumulate = add
	if p := w.pairs; p != nil {
		kernels.RoundPairs(p.grads, grads[:rows*w.columns])
		g.K, g.A, g.Lda, g.BF16 = w.columns/2, p.grads, w.columns/2, true
		g.Blocks = p.blocks
	}
	kernels.GemmNN(&g)
}

// weights adds the gradients of both weights, each by one product over the rows of all steps, n of
// a step, from those of what the weights gave, which are the same in an LSTM.
func (w *recurrent) weights(r *Run, x []float32, ldx int, h, gates, recur []float32, rows, n int) {
	add := !r.Starts(0)
	w.product(kernels.TN{M: rows, K: w.width, A: x, Lda: ldx, G: gates, C: r.G[w.wx:w.wh]}, add, nil)
	var paired []float32
	if w.pairs != nil && n%2 == 0 && &gates[0] == &recur[0] { // else other numbers, or pairs fall between the steps
		paired = w.pairs.out[n/2*w.columns:]
	}
	wh := kernels.TN{M: rows - n, K: w.hidden, A: h, Lda: w.hp, G: recur[n*w.columns:], C: r.G[w.wh:w.biases]}
	w.product(wh, add, paired)
}

// product multiplies rows by gradients, whose pairs may be there already.
func (w *recurrent) product(t kernels.TN, add bool, paired []float32) {
	t.N, t.Ldg, t.Accumulate = w.columns, w.columns, add
	if p := w.pairs; p != nil {
		tensor.PairSamples(p.in, t.A, t.Lda, t.M, t.Lda)
		if paired == nil {
			paired = p.out
			tensor.PairSamples(paired, t.G, w.columns, t.M, w.columns)
		}
		t.M, t.A, t.G, t.BF16 = tensor.PairedRows(t.M), p.in, paired, true
		t.Blocks = p.blocks
	}
	kernels.GemmTN(&t)
}
