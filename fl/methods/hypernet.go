package methods

import (
	"math"

	"github.com/fedfast/fedfast/kernels"
	"github.com/fedfast/fedfast/tensor"
)

// hypernet is a network whose outputs are weights of another one: dense layers with
// ReLUs between all but the last two, where the last one holds the linear heads of all
// layers for which it makes weights, side by side. Rows of inputs and outputs are
// padded with zeros to a multiple of 16.
type hypernet struct{ layers []hyperLayer }

// hyperLayer is y = x W + b with packed W.
type hyperLayer struct {
	tensor.Dense
	outputs int // without padding
	w, b    []float32
}

// hypernetShapes returns the inputs and outputs of each layer.
func hypernetShapes(inputs, width, depth, outputs int) [][2]int {
	shapes := [][2]int{{inputs, width}}
	for range depth {
		shapes = append(shapes, [2]int{width, width})
	}
	return append(shapes, [2]int{width, outputs})
}

// hypernetLen returns how many numbers newHypernet takes.
func hypernetLen(inputs, width, depth, outputs int) int {
	n := 0
	for _, s := range hypernetShapes(inputs, width, depth, outputs) {
		n += (s[0] + 1) * kernels.Pad(s[1])
	}
	return n
}

func newHypernet(inputs, width, depth, outputs int) *hypernet {
	h := &hypernet{}
	for _, s := range hypernetShapes(inputs, width, depth, outputs) {
		d := tensor.Dense{K: s[0], N: kernels.Pad(s[1])}
		h.layers = append(h.layers, hyperLayer{Dense: d, outputs: s[1], w: tensor.Aligned(d.K * d.N), b: tensor.Aligned(d.N)})
	}
	return h
}

// inputs returns how far rows of inputs are apart.
func (h *hypernet) inputs() int { return h.layers[0].inputs() }

// head returns the last layer.
func (h *hypernet) head() *hyperLayer { return &h.layers[len(h.layers)-1] }

// features returns what each layer but the last makes of m rows of inputs.
func (h *hypernet) features(x []float32, m int) [][]float32 {
	var all [][]float32
	body := h.layers[:len(h.layers)-1]
	for i := range body {
		y := make([]float32, m*body[i].N)
		body[i].forward(y, x, m, i < len(body)-1)
		all = append(all, y)
		x = y
	}
	return all
}

// descend takes a step along the gradient that the gradients dy of m rows of outputs
// give, which are ldy floats apart. x are the inputs, in whose place it leaves their
// gradient, features what features has made of them, which it overwrites.
func (h *hypernet) descend(x []float32, features [][]float32, dy []float32, ldy, m int, lr float32) {
	for i := len(h.layers) - 1; i >= 0; i-- {
		l := &h.layers[i]
		in := x
		if i > 0 {
			in = features[i-1]
		}
		dx := make([]float32, m*l.inputs())
		l.descend(dx, in, dy, ldy, m, lr)
		if i > 0 && i < len(h.layers)-1 { // after a ReLU, whose output is in
			kernels.ReLUBackward(dx, dx, in)
		}
		copy(in, dx)
		dy, ldy = in, l.inputs()
	}
}

// inputs returns how far rows of inputs are apart.
func (l *hyperLayer) inputs() int { return kernels.Pad(l.K) }

func (l *hyperLayer) forward(y, x []float32, m int, relu bool) {
	l.Forward(y, l.N, x, l.inputs(), m, l.w, l.b, relu)
}

// draw draws weights and biases as PyTorch's Linear does, uniform in
// +-1/sqrt(inputs).
func (l *hyperLayer) draw(s *kernels.Stream) {
	bound := 1 / math.Sqrt(float64(l.K))
	next := func() float32 { return float32((2*float64(s.Float32()) - 1) * bound) }
	for j := range l.outputs {
		panel := l.w[j/kernels.Width*kernels.Width*l.K:]
		for k := range l.K {
			panel[k*kernels.Width+j%kernels.Width] = next()
		}
	}
	for j := range l.outputs {
		l.b[j] = next()
	}
}

// descend takes a step along the gradient of the layer, given that of m rows of
// outputs, and writes the gradient of its inputs, at the weights as they were, to dx.
func (l *hyperLayer) descend(dx, x, dy []float32, ldy, m int, lr float32) {
	gradient := make([]float32, l.N)
	l.BackwardBias(gradient, dy, ldy, m, false)
	kernels.Axpy(l.b, -lr, gradient)
	ld, lanes := l.inputs(), make([]float32, l.LaneSize(m))
	whole := m <= tensor.StepRows // then one pass over the weights is enough
	if !whole {
		l.BackwardInput(dx, ld, dy, ldy, m, l.w, lanes)
	}
	for at := 0; at < m; at += tensor.StepRows {
		s := tensor.Step{M: min(tensor.StepRows, m-at), X: x[at*ld:], LdX: ld, DY: dy[at*ldy:], LdY: ldy, SGD: kernels.SGD{W: l.w, LR: lr}}
		if whole {
			s.DX, s.LdDX, s.Lanes = dx, ld, lanes
		}
		l.Step(&s)
	}
}
