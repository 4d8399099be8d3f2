package methods

import (
	"fmt"
	"math"
	"testing"

	"github.com/fedfast/fedfast/kernels"
)

// hyperReference is a hypernetwork in float64 with the weights of each layer, [outputs]
// [inputs], and its biases after them.
type hyperReference [][]float64

// apply returns the outputs for one row.
func (r hyperReference) apply(h *hypernet, x []float64) []float64 {
	for i, l := range h.layers {
		y := make([]float64, l.outputs)
		for j := range y {
			y[j] = r[i][l.outputs*l.K+j]
			for k := range l.K {
				y[j] += r[i][j*l.K+k] * x[k]
			}
			if i < len(h.layers)-2 {
				y[j] = max(0, y[j])
			}
		}
		x = y
	}
	return x
}

// referenceOf copies what a hypernetwork holds.
func referenceOf(h *hypernet) hyperReference {
	var r hyperReference
	for _, l := range h.layers {
		plain := make([]float32, l.K*l.N)
		kernels.Unpack(plain, l.w, l.K, l.N, l.N)
		var p []float64
		for j := range l.outputs {
			for k := range l.K {
				p = append(p, float64(plain[k*l.N+j]))
			}
		}
		for j := range l.outputs {
			p = append(p, float64(l.b[j]))
		}
		r = append(r, p)
	}
	return r
}

// TestHypernetDescends compares a step with finite differences in float64 of the sum
// of the outputs times the gradients that are given: weights, biases and inputs.
func TestHypernetDescends(t *testing.T) {
	for _, c := range []struct{ inputs, width, depth, outputs, rows int }{
		{5, 7, 3, 37, 3}, {16, 16, 1, 32, 1}, {3, 20, 0, 50, 4}, {4, 5, 2, 18, 70}, // 70 rows go in two parts
	} {
		t.Run(fmt.Sprint(c), func(t *testing.T) {
			h := newHypernet(c.inputs, c.width, c.depth, c.outputs)
			s := kernels.NewStream(5, 0)
			for i := range h.layers {
				h.layers[i].draw(s)
			}
			x, dy := make([]float32, c.rows*h.inputs()), make([]float32, c.rows*h.head().N)
			in, g := make([][]float64, c.rows), make([][]float64, c.rows)
			for i := range c.rows {
				for k := range c.inputs {
					x[i*h.inputs()+k] = float32(s.NormFloat64())
					in[i] = append(in[i], float64(x[i*h.inputs()+k]))
				}
				for j := range c.outputs {
					dy[i*h.head().N+j] = float32(s.NormFloat64())
					g[i] = append(g[i], float64(dy[i*h.head().N+j]))
				}
			}
			ref := referenceOf(h)
			total := func() (sum float64) {
				for i := range in {
					for j, y := range ref.apply(h, in[i]) {
						sum += y * g[i][j]
					}
				}
				return sum
			}
			slope := func(at *float64) float64 {
				const eps = 1e-6
				was := *at
				*at = was + eps
				up := total()
				*at = was - eps
				down := total()
				*at = was
				return (up - down) / (2 * eps)
			}
			const lr = 0.25
			features := h.features(x, c.rows)
			h.descend(x, features, dy, h.head().N, c.rows, lr)
			after := referenceOf(h)
			var diff, norm float64
			compare := func(got, want float64) {
				diff += (got - want) * (got - want)
				norm += want * want
			}
			for i := range ref {
				for j := range ref[i] {
					compare((ref[i][j]-after[i][j])/lr, slope(&ref[i][j]))
				}
			}
			if rel := math.Sqrt(diff / norm); !(rel < 1e-5) {
				t.Errorf("the step differs from finite differences by %.2g of its norm", rel)
			}
			diff, norm = 0, 0
			for i := range in {
				for k := range in[i] {
					compare(float64(x[i*h.inputs()+k]), slope(&in[i][k]))
				}
			}
			if rel := math.Sqrt(diff / norm); !(rel < 1e-5) {
				t.Errorf("the gradient of the inputs differs from finite differences by %.2g of its norm", rel)
			}
			for _, l := range h.layers { // what is padding stays so
				for j := l.outputs; j < l.N; j++ {
					if l.b[j] != 0 {
						t.Fatalf("a padded bias is %v", l.b[j])
					}
				}
			}
		})
	}
}
