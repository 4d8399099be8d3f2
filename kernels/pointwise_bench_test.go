package kernels_test

import (
	"fmt"
	"testing"

	"github.com/fedfast/fedfast/kernels"
)

// benchMap runs f on every level for vectors in the first-level cache, in the
// second and in memory, and reports ns per element and the bytes that one element
// moves.
func benchMap(b *testing.B, bytes int, f func(n int) func()) {
	benchLevels(b, func(b *testing.B) {
		for _, n := range []int{4096, 65536, 4 << 20} {
			b.Run(fmt.Sprintf("n=%d", n), func(b *testing.B) {
				step := f(n)
				b.SetBytes(int64(bytes * n))
				for b.Loop() {
					step()
				}
				perElement(b, n)
			})
		}
	})
}

func perElement(b *testing.B, n int) {
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/elem")
}

// ramp returns n numbers in [-4, 4).
func ramp(n int) []float32 {
	x := make([]float32, n)
	for i := range x {
		x[i] = float32(i%4096)/512 - 4
	}
	return x
}

func benchUnary(b *testing.B, f func(dst, src []float32)) {
	benchMap(b, 8, func(n int) func() {
		dst, src := ones(n), ramp(n)
		return func() { f(dst, src) }
	})
}

func BenchmarkExp(b *testing.B)     { benchUnary(b, kernels.Exp) }
func BenchmarkSigmoid(b *testing.B) { benchUnary(b, kernels.Sigmoid) }
func BenchmarkTanh(b *testing.B)    { benchUnary(b, kernels.Tanh) }
func BenchmarkAxpy(b *testing.B) {
	benchMap(b, 12, func(n int) func() {
		y, x := ones(n), ramp(n)
		return func() { kernels.Axpy(y, 0x1p-30, x) }
	})
}

func BenchmarkReLUBackward(b *testing.B) {
	benchMap(b, 12, func(n int) func() {
		dx, dy, y := ones(n), ones(n), ramp(n)
		return func() { kernels.ReLUBackward(dx, dy, y) }
	})
}

func BenchmarkDropout(b *testing.B) {
	benchUnary(b, func(dst, src []float32) { kernels.Dropout(dst, src, 0.5, 1, 2) })
}

func BenchmarkDot(b *testing.B) {
	benchMap(b, 8, func(n int) func() {
		x, y := ones(n), ramp(n)
		return func() { kernels.Dot(x, y) }
	})
}

func BenchmarkNorm(b *testing.B) {
	benchMap(b, 4, func(n int) func() {
		x := ramp(n)
		return func() { kernels.Norm(x) }
	})
}

func BenchmarkSGDStep(b *testing.B) {
	benchMap(b, 12, func(n int) func() {
		s := &kernels.SGD{W: ones(n), G: ramp(n), LR: 0x1p-40}
		return func() { kernels.SGDStep(s) }
	})
}

func BenchmarkSGDStepMomentumProx(b *testing.B) {
	benchMap(b, 24, func(n int) func() {
		s := &kernels.SGD{
			W: ones(n), G: ramp(n), V: ones(n), Anchor: ones(n), LR: 0x1p-40, Momentum: 0.9, WeightDecay: 1e-4,
			Mu: 1e-3,
		}
		return func() { kernels.SGDStep(s) }
	})
}

func BenchmarkColSum(b *testing.B) {
	benchLevels(b, func(b *testing.B) {
		for _, n := range []int{16, 64, 1024} {
			const m = 100
			b.Run(fmt.Sprintf("m=%d/n=%d", m, n), func(b *testing.B) {
				dst, src := ones(n), ramp(m*n)
				for b.Loop() {
					kernels.ColSum(dst, src, m, n, n)
				}
				perElement(b, m*n)
			})
		}
	})
}

func BenchmarkSoftmaxXent(b *testing.B) {
	benchLevels(b, func(b *testing.B) {
		for _, n := range []int{10, 62, 90, 10004} {
			const m = 20
			b.Run(fmt.Sprintf("m=%d/n=%d", m, n), func(b *testing.B) {
				ld := kernels.Pad(n)
				logits, grad, labels := ramp(m*ld), ones(m*ld), make([]int32, m)
				for b.Loop() {
					kernels.SoftmaxXent(grad, logits, ld, m, n, labels, 0.05)
				}
				perElement(b, m*n)
			})
		}
	})
}

// BenchmarkLSTM reports ns per hidden unit of one sequence: five activations
// forward.
func BenchmarkLSTM(b *testing.B) {
	const m, h = 10, 256
	benchLevels(b, func(b *testing.B) {
		gates, state, pre := ones(4*m*h), ones(m*h), ramp(4*m*h)
		l := &kernels.LSTM{
			M: m, H: h, Gates: gates, CPrev: state, C: ones(m * h), TanhC: ones(m * h), HOut: ones(m * h),
			Ldh: h,
		}
		b.Run(fmt.Sprintf("forward/m=%d/h=%d", m, h), func(b *testing.B) {
			for b.Loop() {
				copy(gates, pre)
				kernels.LSTMForward(l)
			}
			perElement(b, m*h)
		})
		g := &kernels.LSTMGrad{
			M: m, H: h, Gates: gates, CPrev: state, TanhC: l.TanhC, DH: state, Ldh: h, DC: ones(m * h),
			DGates: ones(4 * m * h),
		}
		b.Run(fmt.Sprintf("backward/m=%d/h=%d", m, h), func(b *testing.B) {
			for b.Loop() {
				kernels.LSTMBackward(g)
			}
			perElement(b, m*h)
		})
	})
}

// BenchmarkMaxPool reports ns per output of the pooling layers of the FEMNIST
// networks and of McMahan's for CIFAR-10.
func BenchmarkMaxPool(b *testing.B) {
	benchLevels(b, func(b *testing.B) {
		for _, s := range [][3]int{{14, 32, 2}, {12, 64, 2}, {12, 64, 3}} {
			o, c, size := s[0], s[1], s[2]
			p := &kernels.Pool{OH: o, OW: o, C: c, KH: size, KW: size, Stride: 2, SrcW: 2*o + size - 2}
			p.Src, p.Dst, p.Idx = ramp(p.SrcW*p.SrcW*c), ones(o*o*c), make([]uint8, o*o*c)
			b.Run(fmt.Sprintf("forward/size=%d/out=%d/c=%d", size, o, c), func(b *testing.B) {
				for b.Loop() {
					kernels.MaxPool(p)
				}
				perElement(b, o*o*c)
			})
			b.Run(fmt.Sprintf("backward/size=%d/out=%d/c=%d", size, o, c), func(b *testing.B) {
				for b.Loop() {
					kernels.MaxPoolBackward(p)
				}
				perElement(b, o*o*c)
			})
		}
	})
}

// BenchmarkLRN reports ns per value of the normalisations of McMahan's network for
// CIFAR-10.
func BenchmarkLRN(b *testing.B) {
	const pixels, c, radius = 144, 64, 4
	const n = pixels * c
	benchLevels(b, func(b *testing.B) {
		l := &kernels.LRN{
			Pixels: pixels, C: c, Radius: radius, Bias: 1, Alpha: 0.001 / 9, Quarters: 3,
			X: ramp(n), Base: make([]float32, n), Power: make([]float32, n),
			Space: make([]float32, kernels.LRNSpace(pixels, c, radius)),
		}
		y := make([]float32, n)
		b.Run("forward", func(b *testing.B) {
			for b.Loop() {
				kernels.LRNForward(l, y)
			}
			perElement(b, n)
		})
		b.Run("backward", func(b *testing.B) {
			for b.Loop() {
				kernels.LRNBackward(l, y, l.X)
			}
			perElement(b, n)
		})
	})
}
