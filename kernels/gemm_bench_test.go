package kernels_test

import (
	"fmt"
	"testing"

	"github.com/fedfast/fedfast/kernels"
)

// benchLevels runs f as sub-benchmarks named isa=LEVEL.
func benchLevels(b *testing.B, f func(b *testing.B)) {
	old := kernels.Current()
	b.Cleanup(func() { _ = kernels.SetLevel(old) })
	for _, l := range kernels.Supported() {
		if err := kernels.SetLevel(l); err != nil {
			b.Fatal(err)
		}
		b.Run("isa="+l.String(), f)
	}
}

func reportGFLOPS(b *testing.B, flops float64) {
	b.ReportMetric(flops*float64(b.N)/float64(b.Elapsed().Nanoseconds()), "GFLOP/s")
}

func BenchmarkPeak(b *testing.B) {
	benchLevels(b, func(b *testing.B) {
		var flops int64
		for b.Loop() {
			flops = kernels.PeakProbe(4096)
		}
		reportGFLOPS(b, float64(flops))
	})
}

// gemmShapes are (N, K) of LSTM gates, of a convolution as a product, of a dense
// layer, and of a layer with odd panels.
var gemmShapes = [][2]int{{1024, 256}, {64, 800}, {2048, 3136}, {1024, 264}, {16, 256}}

func BenchmarkGemm(b *testing.B) {
	benchLevels(b, func(b *testing.B) {
		for _, nk := range gemmShapes {
			for _, m := range []int{1, 2, 3, 4, 8, 10, 14, 16, 32, 64} {
				n, k := nk[0], nk[1]
				g := kernels.NN{M: m, N: n, K: k, A: ones(m * k), Lda: k, B: ones(n * k), C: ones(m * n), Ldc: n}
				b.Run(fmt.Sprintf("m=%d/n=%d/k=%d", m, n, k), func(b *testing.B) {
					for b.Loop() {
						kernels.GemmNN(&g)
					}
					reportGFLOPS(b, 2*float64(m)*float64(n)*float64(k))
				})
			}
		}
	})
}

// BenchmarkNarrow has convolutions by 1x1 of 1,024 pixels of few channels, which memory
// holds a multiple of Width of, and the gradients of their weights.
func BenchmarkNarrow(b *testing.B) {
	benchLevels(b, func(b *testing.B) {
		const m = 1024
		for _, c := range [][2]int{{8, 8}, {16, 16}, {24, 72}, {72, 24}, {40, 120}} {
			in, out := kernels.Pad(c[0]), kernels.Pad(c[1])
			x, y, w := make([]float32, m*in), make([]float32, m*out), make([]float32, in*out)
			nn := kernels.NN{M: m, N: out, Cols: c[1], K: c[0], A: x, Lda: in, B: w, BRows: in, C: y, Ldc: out}
			tn := kernels.TN{M: m, N: out, Cols: c[1], K: c[0], A: x, Lda: in, G: y, Ldg: out, C: w, CRows: in}
			for name, f := range map[string]func(){
				"forward": func() { kernels.GemmNN(&nn) },
				"weights": func() { kernels.GemmTN(&tn) },
			} {
				b.Run(fmt.Sprintf("%s/in=%d/out=%d", name, c[0], c[1]), func(b *testing.B) {
					for b.Loop() {
						f()
					}
					reportGFLOPS(b, 2*m*float64(c[0]*c[1]))
				})
			}
		}
	})
}

// BenchmarkGemmTN has weight gradients: of LSTM gates over all steps, of
// convolutions, of a dense layer.
func BenchmarkGemmTN(b *testing.B) {
	benchLevels(b, func(b *testing.B) {
		for _, s := range [][3]int{{800, 1024, 256}, {800, 1024, 264}, {20, 2048, 3136}, {10, 128, 9216}, {784, 32, 25}} {
			m, n, k := s[0], s[1], s[2]
			g := kernels.TN{M: m, N: n, K: k, A: ones(m * k), Lda: k, G: ones(m * n), Ldg: n, C: ones(k * n)}
			b.Run(fmt.Sprintf("m=%d/n=%d/k=%d", m, n, k), func(b *testing.B) {
				for b.Loop() {
					kernels.GemmTN(&g)
				}
				reportGFLOPS(b, 2*float64(m)*float64(n)*float64(k))
			})
		}
	})
}

func ones(n int) []float32 {
	x := make([]float32, n)
	for i := range x {
		x[i] = 1
	}
	return x
}

// BenchmarkConv has 5x5 convolutions of 14x14x32 to 64 channels: forward by rows,
// and the weight gradient over the image.
func BenchmarkConv(b *testing.B) {
	const in, out, w, kw = 32, 64, 14, 5
	padded := (w + kw - 1) * in
	x, y := ones((w+kw-1)*padded), ones(w*w*out)
	weights := ones(kw * kw * in * out)
	flops := 2.0 * w * w * kw * kw * in * out
	benchLevels(b, func(b *testing.B) {
		b.Run("form=forward", func(b *testing.B) {
			for b.Loop() {
				for row := range w {
					kernels.GemmNN(&kernels.NN{
						M: w, N: out, K: kw * in, Segs: kw, A: x[row*padded:], Lda: in, SegStride: padded,
						B: weights, C: y[row*w*out:], Ldc: out, ReLU: true,
					})
				}
			}
			reportGFLOPS(b, flops)
		})
		b.Run("form=dw", func(b *testing.B) {
			for b.Loop() {
				for ky := range kw {
					kernels.GemmTN(&kernels.TN{
						M: w, K: kw * in, N: out, Segs: w, A: x[ky*padded:], Lda: in, ASeg: padded, G: y, Ldg: out, GSeg: w * out,
						C: weights[ky*kw*in*16:], CRows: kw * kw * in,
					})
				}
			}
			reportGFLOPS(b, flops)
		})
	})
}

func BenchmarkPackT(b *testing.B) {
	benchLevels(b, func(b *testing.B) {
		for _, nk := range [][2]int{{1024, 256}, {2048, 3136}} {
			n, k := nk[0], nk[1]
			src, dst := ones(n*k), ones(n*k)
			b.Run(fmt.Sprintf("n=%d/k=%d", n, k), func(b *testing.B) {
				b.SetBytes(int64(8 * n * k))
				for b.Loop() {
					kernels.PackT(dst, n, src, k, k, n)
				}
			})
		}
	})
}
