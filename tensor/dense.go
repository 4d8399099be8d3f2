package tensor

import "github.com/fedfast/fedfast/kernels"

// stripFloats bounds the transposed weights that Dense.BackwardInput has in hand
// at a time, 256 KiB, so that they are read back from the second-level cache.
const stripFloats = 1 << 16

// Dense is a fully connected product y = x W + b with packed W of K x N. N is the
// padded number of outputs, a multiple of 16.
type Dense struct{ K, N int }

// Forward computes m rows y = x W + bias, followed by a ReLU if relu. Rows of x
// and y are ldx and ldy floats apart; bias has N values.
func (d Dense) Forward(y []float32, ldy int, x []float32, ldx, m int, w, bias []float32, relu bool) {
	kernels.GemmNN(&kernels.NN{M: m, N: d.N, K: d.K, A: x, Lda: ldx, B: w, Bias: bias, C: y, Ldc: ldy, ReLU: relu})
}

// StripSize returns the floats of scratch memory that BackwardInput needs.
func (d Dense) StripSize() int { return d.strip() * d.N }

func (d Dense) strip() int {
	return min(max(stripFloats/d.N/kernels.Width*kernels.Width, kernels.Width), kernels.Pad(d.K))
}

// BackwardInput computes m rows dx = dy W^T of Pad(K) columns; strip is scratch
// memory of StripSize floats. The weights are transposed strip by strip, which
// saves a transposed copy's way to memory and back.
func (d Dense) BackwardInput(dx []float32, lddx int, dy []float32, lddy, m int, w, strip []float32) {
	step := d.strip()
	for k := 0; k < d.K; k += step {
		cols := min(step, d.K-k)
		kernels.PackT(strip, d.N, w[k*kernels.Width:], d.K, cols, d.N)
		kernels.GemmNN(&kernels.NN{M: m, N: kernels.Pad(cols), K: d.N, A: dy, Lda: lddy, B: strip, C: dx[k:], Ldc: lddx})
	}
}

// BackwardWeights computes the weights' gradient gw = x^T dy over m rows, or adds
// it to gw if accumulate, and the bias' gradient gb, the column sums of dy.
func (d Dense) BackwardWeights(gw, gb, x []float32, ldx int, dy []float32, lddy, m int, accumulate bool) {
	kernels.GemmTN(&kernels.TN{M: m, K: d.K, N: d.N, A: x, Lda: ldx, G: dy, Ldg: lddy, C: gw, Accumulate: accumulate})
	if !accumulate {
		clear(gb[:d.N])
	}
	kernels.ColSum(gb, dy, m, d.N, lddy)
}
