package tensor

import "github.com/fedfast/fedfast/kernels"

// stripFloats bounds the weights that the backward passes of Dense have in hand at
// a time: 128 KiB, so that a strip, its transpose and its gradient stay in a
// second-level cache.
const stripFloats = 1 << 15

// Dense is a fully connected product y = x W + b with packed W of K x N. N is the
// padded number of outputs, a multiple of 16.
type Dense struct{ K, N int }

// Forward computes m rows y = x W + bias, followed by a ReLU if relu. Rows of x
// and y are ldx and ldy floats apart; bias has N values.
func (d Dense) Forward(y []float32, ldy int, x []float32, ldx, m int, w, bias []float32, relu bool) {
	kernels.GemmNN(&kernels.NN{M: m, N: d.N, K: d.K, A: x, Lda: ldx, B: w, Bias: bias, C: y, Ldc: ldy, ReLU: relu})
}

// Strip returns the rows of W that the backward passes take at a time, a multiple
// of 16 unless there are fewer.
func (d Dense) Strip() int {
	return min(max(stripFloats/d.N/kernels.Width*kernels.Width, kernels.Width), d.K)
}

// StripSize returns the floats that Strip rows take, padded to whole panels.
func (d Dense) StripSize() int { return kernels.Pad(d.Strip()) * d.N }

// BackwardInput computes m rows dx = dy W^T of Pad(K) columns; strip is scratch
// memory of StripSize floats. The weights are transposed strip by strip, which
// saves a transposed copy's way to memory and back.
func (d Dense) BackwardInput(dx []float32, lddx int, dy []float32, lddy, m int, w, strip []float32) {
	step := d.Strip()
	for k := 0; k < d.K; k += step {
		d.InputStrip(dx, lddx, dy, lddy, m, w, strip, k)
	}
}

// InputStrip is the part of BackwardInput for the strip of W that starts at row k.
func (d Dense) InputStrip(dx []float32, lddx int, dy []float32, lddy, m int, w, strip []float32, k int) {
	cols := min(d.Strip(), d.K-k)
	kernels.PackT(strip, d.N, w[k*kernels.Width:], d.K, cols, d.N)
	kernels.GemmNN(&kernels.NN{M: m, N: kernels.Pad(cols), K: d.N, A: dy, Lda: lddy, B: strip, C: dx[k:], Ldc: lddx})
}

// BackwardWeights computes the weights' gradient gw = x^T dy over m rows, or adds
// it to gw if accumulate.
func (d Dense) BackwardWeights(gw, x []float32, ldx int, dy []float32, lddy, m int, accumulate bool) {
	kernels.GemmTN(&kernels.TN{M: m, K: d.K, N: d.N, A: x, Lda: ldx, G: dy, Ldg: lddy, C: gw, Accumulate: accumulate})
}

// WeightsStrip is the part of BackwardWeights for the strip that starts at row k.
// gw starts at the strip; its panels are rows rows apart, K within a whole
// gradient.
func (d Dense) WeightsStrip(gw []float32, rows int, x []float32, ldx int, dy []float32, lddy, m, k int, accumulate bool) {
	kernels.GemmTN(&kernels.TN{M: m, K: min(d.Strip(), d.K-k), N: d.N, A: x[k:], Lda: ldx, G: dy, Ldg: lddy, C: gw, CRows: rows, Accumulate: accumulate})
}

// BackwardBias computes the bias' gradient gb, the column sums of m rows of dy, or
// adds them to gb if accumulate.
func (d Dense) BackwardBias(gb, dy []float32, lddy, m int, accumulate bool) {
	if !accumulate {
		clear(gb[:d.N])
	}
	kernels.ColSum(gb, dy, m, d.N, lddy)
}
