package bench

import (
	"fmt"

	"github.com/fedfast/fedfast/kernels"
)

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
