package tensor

import "github.com/fedfast/fedfast/kernels"

// DenseBF16 is Dense with the factors of all products rounded to bf16. Weights are
// rounded part by part while they go through the cache, so that nothing is kept of
// them between two calls. Sums over the rows of samples take them in pairs from the
// first row of a call.
type DenseBF16 struct{ Dense }

// blockPairs is the pairs of weights that Forward works on at a time, 256 KiB.
const blockPairs = 1 << 16

// columns returns the pairs of neighbours in a row of outputs: those of a multiple
// of 32 outputs.
func (d DenseBF16) columns() int {
	return (d.N + 2*kernels.Width - 1) / (2 * kernels.Width) * kernels.Width
}

// panels returns how many panels Forward works on at a time.
func (d DenseBF16) panels() int {
	return min(max(blockPairs/(PairedRows(d.K)*kernels.Width), 1), d.N/kernels.Width)
}

// Space returns the floats of scratch memory that the methods need for m rows.
func (d DenseBF16) Space(m int) int {
	forward := PairedRows(d.K) * (m + d.panels()*kernels.Width)
	_, _, _, rest := d.space(m, nil)
	return max(forward, rest)
}

// space divides the scratch memory of the backward pass: the output's gradient in
// pairs of columns, the inputs and the output's gradient in pairs of rows, and a
// part of the weights, which begins after at floats.
func (d DenseBF16) space(m int, scratch []float32) (columns, x, dy []float32, at int) {
	sizes := [3]int{m * d.columns(), PairedRows(m) * d.K, PairedRows(m) * d.N}
	if scratch == nil {
		return nil, nil, nil, sizes[0] + sizes[1] + sizes[2] + d.rows()*min(blockCols/2, d.columns()) + 3*line
	}
	next := func(n int) []float32 {
		part := scratch[at:][:n]
		at += (n + line - 1) / line * line
		return part
	}
	return next(sizes[0]), next(sizes[1]), next(sizes[2]), at
}

// Forward is that of Dense.
func (d DenseBF16) Forward(y []float32, ldy int, x []float32, ldx, m int, w, bias []float32, relu bool, scratch []float32) {
	k := PairedRows(d.K)
	rows, pairs := scratch[:m*k], scratch[m*k:]
	for i := range m {
		kernels.RoundPairs(rows[i*k:], x[i*ldx:][:d.K])
	}
	step := d.panels() * kernels.Width
	for j := 0; j < d.N; j += step {
		n := min(step, d.N-j)
		PairWeights(pairs, w[j*d.K:][:n*d.K], d.K, n)
		kernels.GemmNN(&kernels.NN{M: m, N: n, K: k, A: rows, Lda: k, B: pairs, Bias: bias[j:], C: y[j:], Ldc: ldy, ReLU: relu, BF16: true})
	}
}

// Load rounds what the other methods of the backward pass multiply: m rows of inputs
// and of gradients of the outputs.
func (d DenseBF16) Load(x []float32, ldx int, dy []float32, lddy, m int, scratch []float32) {
	columns, in, out, _ := d.space(m, scratch)
	PairSamples(in, x, ldx, m, d.K)
	PairSamples(out, dy, lddy, m, d.N)
	for i := range m {
		row := columns[i*d.columns():][:d.columns()]
		kernels.RoundPairs(row, dy[i*lddy:][:d.N])
		clear(row[d.N/2:])
	}
}

// BackwardInput is that of Dense for the m rows of Load.
func (d DenseBF16) BackwardInput(dx []float32, lddx, m int, w, lanes, scratch []float32) {
	for i := 0; i < m; i += laneRows {
		for p := d.LastPart(); p.Rows > 0; p = d.Before(p) {
			d.InputPart(p, dx, lddx, i, min(laneRows, m-i), m, w, lanes, scratch)
		}
	}
}

// InputPart is the part of BackwardInput for a part of W, for n of the m rows of
// Load, at most StepRows, from row i on. The parts must be taken in their order.
func (d DenseBF16) InputPart(p Part, dx []float32, lddx, i, n, m int, w, lanes, scratch []float32) {
	dy, _, _, at := d.space(m, scratch)
	pairs, panels := scratch[at:], p.Cols/kernels.Width
	for q := 0; q < panels; q += 2 {
		a, b := w[d.At(p)+q*d.K*kernels.Width:], []float32(nil)
		if q+1 < panels {
			b = a[d.K*kernels.Width:]
		}
		kernels.JoinPanels(pairs[q/2*p.Rows*kernels.Width:], a, b, p.Rows)
	}
	kernels.GemmNT(&kernels.NT{
		M: n, K: p.Rows, N: (panels + 1) / 2 * kernels.Width, A: dy[i*d.columns()+p.J/2:], Lda: d.columns(), B: pairs,
		L: lanes, LRows: laneStride(p.Rows), Accumulate: p.J > 0, BF16: true,
	})
	if p.J+p.Cols == d.N {
		d.sumLanes(p, dx[i*lddx:], lddx, n, lanes)
	}
}

// WeightsPart is that of Dense for the m rows of Load.
func (d DenseBF16) WeightsPart(p Part, gw []float32, rows, m int, accumulate bool, scratch []float32) {
	_, x, dy, _ := d.space(m, scratch)
	kernels.GemmTN(&kernels.TN{
		M: PairedRows(m), K: p.Rows, N: p.Cols, A: x[p.K:], Lda: d.K, G: dy[p.J:], Ldg: d.N, C: gw, CRows: rows, Accumulate: accumulate, BF16: true,
	})
}

// Whole returns all of the weights as one part.
func (d Dense) Whole() Part { return Part{0, d.K, 0, d.N} }
