package nn

import (
	"fmt"
	"testing"

	"github.com/fedfast/fedfast/internal/test/kernelstest"
	"github.com/fedfast/fedfast/kernels"
)

// drawNet draws a network for images; ok is false where its layers do not fit.
func drawNet(s *kernels.Stream) (m *Model, ok bool) {
	in := Shape{H: 5 + s.IntN(7), W: 5 + s.IntN(7), C: 1 + s.IntN(4)}
	var layers []Layer
	for range 1 + s.IntN(5) {
		kernel, filters, same := 1+s.IntN(4), 4*(1+s.IntN(9)), s.IntN(2) == 0
		switch s.IntN(12) {
		case 0, 1:
			layers = append(layers, Conv2D{
				Filters: filters, Kernel: kernel, Stride: 1 + s.IntN(2), Same: same,
				NoBias: s.IntN(3) == 0,
			})
		case 2, 3, 4:
			layers = append(layers, Conv2D{Filters: filters, Kernel: kernel, Dilation: 2 + s.IntN(2), Same: same})
		case 5:
			layers = append(layers, Conv2D{Filters: filters, Kernel: 1}, Conv2D{
				Filters: 4 * filters, Kernel: kernel,
				Groups: 2 + 2*s.IntN(2), Stride: 1 + s.IntN(2), Same: same,
			})
		case 6:
			layers = append(layers, DepthwiseConv2D{Kernel: kernel, Stride: 1 + s.IntN(2), Same: same})
		case 7:
			layers = append(layers, LRN{Radius: s.IntN(5), Bias: 1, Alpha: 0.3, Beta: 0.25 * float64(1+s.IntN(4))})
		case 8, 9:
			layers = append(layers, MaxPool{Size: 2 + s.IntN(2), Stride: 1 + s.IntN(3), Same: same})
		case 10:
			layers = append(layers, AvgPool{Size: 2, Stride: 1 + s.IntN(2)}, SqueezeExcitation{Units: 1 + s.IntN(8)})
		case 11:
			layers = append(layers, Conv2D{Filters: filters, Kernel: kernel, Same: true}, GroupNorm{Groups: 2})
		}
		if s.IntN(2) == 0 {
			layers = append(layers, ReLU{})
		}
	}
	if s.IntN(2) == 0 {
		layers = append(layers, Dense{Units: 1 + s.IntN(40)}, ReLU{})
	}
	m, err := NewModel("drawn", in, 3, append(layers, Dense{Units: 3})...)
	return m, err == nil
}

// TestDrawnNetworks holds that all levels train to the same bits, in both precisions,
// whatever the network.
func TestDrawnNetworks(t *testing.T) {
	want := 36
	if kernelstest.Small() || testing.Short() {
		want = 15
	}
	for n, draw := 0, uint64(0); n < want; draw++ {
		m, ok := drawNet(kernels.NewStream(17, draw))
		if !ok {
			continue
		}
		n++
		b := images(m, 1+n%7)
		for _, p := range []Precision{FP32, BF16, BF16AMX} {
			var first []float32
			kernelstest.ForEachLevel(t, func(t *testing.T) {
				m := m.WithPrecision(p)
				w := train(m, m.NewWorkspace(), b)
				if first == nil {
					first = w
				}
				sameBits(t, w, first, fmt.Sprintf("network %d, %v, level %v, layers %+v", draw, p, kernels.Current(), m.layers))
			})
		}
	}
}
