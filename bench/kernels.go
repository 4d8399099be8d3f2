package bench

import (
	"context"
	"fmt"

	"github.com/fedfast/fedfast/kernels"
	"github.com/fedfast/fedfast/nn"
	"github.com/fedfast/fedfast/tensor"
)

// kernelRows lists the matrix products at the shapes of the models.
func kernelRows(_ context.Context, cfg Config) ([]row, error) {
	heights := []int{1, 2, 3, 4, 8, 10, 16, 20, 32, 64, 128}
	switch {
	case cfg.Quick:
		heights = []int{1, 10, 64}
	case cfg.Full:
		heights = heights[:0]
		for m := 1; m <= 128; m++ {
			heights = append(heights, m)
		}
	}
	var rows []row
	for _, s := range []struct{ n, k int }{{1024, 256}, {1024, 264}, {64, 800}, {2048, 3136}} {
		if cfg.Quick && s.k > 1000 {
			continue
		}
		for _, m := range heights {
			rows = append(rows, gemmRow("gemm", m, s.n, s.k), gemmRow("gemm-dx", m, kernels.Pad(s.k), s.n))
		}
	}
	// Weight gradients: the gates of an LSTM over 80 steps of 10 samples, dense
	// layers at batch 10 and 20, convolutions as patches.
	for _, s := range []struct{ m, n, k int }{{800, 1024, 256}, {800, 1024, 264}, {10, 128, 9216}, {20, 2048, 3136}, {784, 32, 25}} {
		if cfg.Quick && s.k > 1000 {
			continue
		}
		rows = append(rows, gemmTNRow(s.m, s.n, s.k))
	}
	for _, n := range []int{1 << 12, 1 << 17, 2048 * 3136, 1 << 25} { // within each cache or so, and beyond them
		if cfg.Quick && n > 1<<20 {
			continue
		}
		rows = append(rows, readRow(n))
	}
	for _, m := range []int{10, 20, 64} {
		if cfg.Quick {
			break
		}
		rows = append(rows, denseRow(m, 2048, 3136, false), denseRow(m, 2048, 3136, true))
	}
	rows = append(rows, convRow(), convDWRow())
	return append(rows, pointwiseRows()...), nil
}

// gemmRow is an m x n x k product with weights in the packed layout; the input
// gradient of a layer is one too. Few rows are bound by the reading of the weights.
func gemmRow(name string, m, n, k int) row {
	r := row{
		name: name, shape: fmt.Sprintf("m=%d,n=%d,k=%d", m, n, k), batch: m, samples: m, flops: 2 * int64(m) * int64(n) * int64(k),
		reads: n * k,
		over: func(weights []float32) func() {
			g := kernels.NN{M: m, N: n, K: k, A: ramp(m * k), Lda: k, B: weights, Bias: ramp(n), C: make([]float32, m*n), Ldc: n}
			return func() { kernels.GemmNN(&g) }
		},
	}
	return r.low(func(low *row) {
		low.over = func(weights []float32) func() {
			d := tensor.DenseBF16{Dense: tensor.Dense{K: k, N: n}}
			x, bias, y, scratch := ramp(m*k), ramp(n), make([]float32, m*n), tensor.Aligned(d.Space(m))
			return func() { d.Forward(y, n, x, k, m, weights, bias, false, scratch) }
		}
	})
}

// low returns the row with one in bf16 beside it, which f makes of a copy. What it
// measures includes the rounding of what is multiplied, as a layer does it.
func (r row) low(f func(low *row)) row {
	r.lower = func(low *row, p nn.Precision) bool {
		if p != nn.BF16 {
			return false
		}
		f(low)
		return true
	}
	return r
}

// denseRow is the backward pass of a dense layer of k inputs and n outputs over m
// samples, with the update of its weights. What it has to read are the weights, and
// their velocity with momentum; it writes them too.
func denseRow(m, n, k int, momentum bool) row {
	r := row{
		name: "dense-step", shape: fmt.Sprintf("m=%d,n=%d,k=%d", m, n, k), batch: m, samples: m, flops: 4 * int64(m) * int64(n) * int64(k),
		reads: n * k, optimizer: "sgd",
	}
	if momentum {
		r.reads, r.optimizer = 2*n*k, "momentum"
	}
	r.over = func(x []float32) func() {
		d, ldy := tensor.Dense{K: k, N: n}, n+kernels.Width
		s := tensor.Step{
			M: m, X: ramp(m * k), LdX: k, DY: ramp(m * ldy), LdY: ldy, DX: ramp(m * k), LdDX: k, Lanes: ramp(d.LaneSize(m)),
			SGD: kernels.SGD{W: x[:n*k], LR: 1e-6},
		}
		if momentum {
			s.SGD.V, s.SGD.Momentum = x[n*k:], 0.9
		}
		return func() { d.Step(&s) }
	}
	return r.low(func(low *row) {
		low.over = func(x []float32) func() {
			d := tensor.DenseBF16{Dense: tensor.Dense{K: k, N: n}}
			in, dy, scratch := ramp(m*k), ramp(m*n), tensor.Aligned(d.Space(m))
			s := tensor.Step{M: m, DX: ramp(m * k), LdDX: k, Lanes: ramp(d.LaneSize(m)), SGD: kernels.SGD{W: x[:n*k], LR: 1e-6}}
			if momentum {
				s.SGD.V, s.SGD.Momentum = x[n*k:], 0.9
			}
			return func() {
				d.Load(in, k, dy, n, m, scratch)
				d.Step(&s, scratch)
			}
		}
	})
}

// readRow reads n floats; its samples are bytes.
func readRow(n int) row {
	return row{name: "read", shape: fmt.Sprintf("n=%d", n), batch: 1, samples: 4 * n, setup: func() func() {
		x := ramp(n)
		return func() { kernels.ReadProbe(x) }
	}}
}

// gemmTNRow is the weight gradient of a k x n layer over m rows.
func gemmTNRow(m, n, k int) row {
	r := row{
		name: "gemm-dw", shape: fmt.Sprintf("m=%d,n=%d,k=%d", m, n, k), batch: m, samples: m, flops: 2 * int64(m) * int64(n) * int64(k),
		setup: func() func() {
			g := kernels.TN{M: m, N: n, K: k, A: ramp(m * k), Lda: k, G: ramp(m * n), Ldg: n, C: tensor.Aligned(k * n)}
			return func() { kernels.GemmTN(&g) }
		},
	}
	return r.low(func(low *row) {
		low.setup = func() func() {
			pairs, x, dy := tensor.PairedRows(m), ramp(m*k), ramp(m*n)
			g := kernels.TN{M: pairs, N: n, K: k, A: tensor.Aligned(pairs * k), Lda: k, G: tensor.Aligned(pairs * n), Ldg: n, C: tensor.Aligned(k * n), BF16: true}
			return func() {
				tensor.PairSamples(g.A, x, k, m, k)
				tensor.PairSamples(g.G, dy, n, m, n)
				kernels.GemmTN(&g)
			}
		}
	})
}

// The second convolution of the FEMNIST networks: 5x5 over 14x14x32 to 64 channels,
// the input padded by two.
const (
	convIn, convOut, convSize, convKernel = 32, 64, 14, 5

	convRowLen = (convSize + convKernel - 1) * convIn
	convShape  = "14x14x32,5x5x64"
	convFLOPs  = 2 * convSize * convSize * convKernel * convKernel * convIn * convOut
)

// convRow runs the convolution as one product per image row, without copying
// patches.
func convRow() row {
	r := row{
		name: "conv", shape: convShape, batch: 1, samples: 1, flops: convFLOPs,
		setup: func() func() {
			x, w := ramp((convSize+convKernel-1)*convRowLen), ramp(convKernel*convKernel*convIn*convOut)
			bias, y := ramp(convOut), make([]float32, convSize*convSize*convOut)
			return func() {
				for r := range convSize {
					kernels.GemmNN(&kernels.NN{
						M: convSize, N: convOut, K: convKernel * convIn, Segs: convKernel, A: x[r*convRowLen:], Lda: convIn, SegStride: convRowLen,
						B: w, Bias: bias, C: y[r*convSize*convOut:], Ldc: convOut, ReLU: true,
					})
				}
			}
		},
	}
	return r.low(func(low *row) {
		low.setup = func() func() {
			c, x, bias, y := convBF16(), ramp((convSize+convKernel-1)*convRowLen), ramp(convOut), make([]float32, convSize*convSize*convOut)
			pairs, scratch := tensor.Aligned(c.WeightSize()), tensor.Aligned(c.Space())
			c.Load(pairs, ramp(convKernel*convKernel*convIn*convOut))
			return func() {
				c.Image(x, convRowLen, scratch)
				c.ForwardRows(y, convSize*convOut, 0, convSize, pairs, bias, true, scratch)
			}
		}
	})
}

// convBF16 is the convolution with products of bf16.
func convBF16() tensor.ConvBF16 {
	return tensor.NewConv(convSize+convKernel-1, convSize+convKernel-1, convIn, convOut, convKernel, convKernel, 1, false).BF16(false)
}

// convDWRow is its weight gradient: one product per kernel row.
func convDWRow() row {
	r := row{
		name: "conv-dw", shape: convShape, batch: 1, samples: 1, flops: convFLOPs,
		setup: func() func() {
			const rowsOfKernel = convKernel * convIn
			x, g := ramp((convSize+convKernel-1)*convRowLen), ramp(convSize*convSize*convOut)
			w := make([]float32, convKernel*rowsOfKernel*convOut)
			return func() {
				for ky := range convKernel {
					kernels.GemmTN(&kernels.TN{
						M: convSize, K: rowsOfKernel, N: convOut, Segs: convSize, A: x[ky*convRowLen:], Lda: convIn, ASeg: convRowLen,
						G: g, Ldg: convOut, GSeg: convSize * convOut, C: w[ky*rowsOfKernel*kernels.Width:], CRows: convKernel * rowsOfKernel,
					})
				}
			}
		},
	}
	return r.low(func(low *row) {
		low.setup = func() func() {
			c, x, g := convBF16(), ramp((convSize+convKernel-1)*convRowLen), ramp(convSize*convSize*convOut)
			w, scratch := make([]float32, convKernel*convKernel*convIn*convOut), tensor.Aligned(c.Space())
			return func() { c.BackwardWeights(w, x, convRowLen, g, convSize*convOut, false, scratch) }
		}
	})
}

// ramp returns n floats between -0.5 and 0.5 in a fixed pattern.
func ramp(n int) []float32 {
	x := tensor.Aligned(n)
	for i := range x {
		x[i] = float32(i*7%64)/64 - 0.5
	}
	return x
}

// pointwiseRows lists the element-wise kernels; their samples are elements.
func pointwiseRows() []row {
	const n = 8192 // two vectors fill the first-level cache twice: activations are used while they are there
	rows := []row{
		lstmRow("lstm-forward", lstmForward), lstmRow("lstm-backward", lstmBackward),
	}
	for _, f := range []struct {
		name string
		f    func(dst, src []float32)
	}{{"exp", kernels.Exp}, {"sigmoid", kernels.Sigmoid}, {"tanh", kernels.Tanh}} {
		rows = append(rows, row{name: f.name, shape: fmt.Sprintf("n=%d", n), batch: 1, samples: n, setup: func() func() {
			src, dst := ramp(n), make([]float32, n)
			return func() { f.f(dst, src) }
		}})
	}
	return append(rows, sgdRow(1<<16), sgdRow(1<<22), packTRow(256, 1024), packTRow(3136, 2048))
}

// lstmRow is the pointwise part of one LSTM step of 10 samples and 256 hidden
// units; its samples are hidden units.
func lstmRow(name string, step func(m, h int) func()) row {
	const m, h = 10, 256
	return row{name: name, shape: fmt.Sprintf("m=%d,h=%d", m, h), batch: m, samples: m * h, setup: func() func() { return step(m, h) }}
}

func lstmForward(m, h int) func() {
	l := kernels.LSTM{
		M: m, H: h, Gates: ramp(4 * m * h), CPrev: ramp(m * h), C: make([]float32, m*h), TanhC: make([]float32, m*h),
		HOut: make([]float32, m*h), Ldh: h,
	}
	return func() { kernels.LSTMForward(&l) }
}

func lstmBackward(m, h int) func() {
	l := kernels.LSTMGrad{
		M: m, H: h, Gates: ramp(4 * m * h), CPrev: ramp(m * h), TanhC: ramp(m * h), DH: ramp(m * h), Ldh: h, DC: ramp(m * h),
		DGates: make([]float32, 4*m*h),
	}
	return func() { kernels.LSTMBackward(&l) }
}

// sgdRow is one step with momentum and weight decay over n weights.
func sgdRow(n int) row {
	return row{name: "sgd", shape: fmt.Sprintf("n=%d", n), batch: 1, samples: n, setup: func() func() {
		s := kernels.SGD{W: ramp(n), G: ramp(n), V: make([]float32, n), LR: 1e-3, Momentum: 0.5, WeightDecay: 1e-4}
		return func() { kernels.SGDStep(&s) }
	}}
}

// packTRow is the transposition of a k x n weight matrix, which a training step
// does once.
func packTRow(k, n int) row {
	return row{name: "pack-transpose", shape: fmt.Sprintf("k=%d,n=%d", k, n), batch: 1, samples: k * n, setup: func() func() {
		src, dst := ramp(k*n), make([]float32, k*n)
		return func() { kernels.PackT(dst, n, src, k, k, n) }
	}}
}
