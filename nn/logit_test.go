package nn

import (
	"math"
	"testing"

	"github.com/fedfast/fedfast/kernels"
)

// TestLogistic compares the logistic loss of one output and its gradient with
// -log(1 / (1 + e^-z)) of the second class and -log(1 / (1 + e^z)) of the first, in float64:
// of vectors, and of the steps of sequences.
func TestLogistic(t *testing.T) {
	s := kernels.NewStream(5, 0)
	vectors, steps := &Batch{N: 70, X: make([]float32, 70*4)}, &Batch{N: 70, Tokens: make([]int32, 70*3)}
	for i := range vectors.X {
		vectors.X[i] = float32(3 * s.NormFloat64())
	}
	for i := range steps.Tokens {
		steps.Tokens[i] = int32(s.IntN(5))
	}
	weights := []float64{1, 2.5}
	for name, c := range map[string]struct {
		layer  Layer
		input  Shape
		b      *Batch
		inputs func(label int) []float64 // by which z is the sum of the weights
	}{
		"vectors": {Dense{Units: 1}, Shape{H: 1, W: 1, C: 4}, vectors, func(i int) []float64 {
			x := []float64{0, 0, 0, 0, 1}
			for j := range 4 {
				x[j] = float64(vectors.X[i*4+j])
			}
			return x
		}},
		"steps": {Embedding{Dim: 1}, Shape{Seq: 3, Vocab: 5}, steps, func(i int) []float64 {
			x := make([]float64, 5)
			x[steps.Tokens[i]] = 1
			return x
		}},
	} {
		m, err := NewModel(name, c.input, 1, c.layer)
		if err != nil {
			t.Fatal(err)
		}
		n := 70 * m.LabelsPerExample()
		c.b.Labels = make([]int32, n)
		for i := range c.b.Labels {
			c.b.Labels[i] = int32(s.IntN(2))
		}
		for _, l := range []Loss{{Kind: Logistic}, {Kind: Logistic, Weights: weights}} {
			m, err := m.WithLoss(l)
			if err != nil || m.Classes() != 2 {
				t.Fatal(err)
			}
			w := m.NewParams()
			m.Init(w, 1)
			ws := m.NewWorkspace()
			r := ws.Gradient(w, c.b, TrainOpts{})
			at := float64s(m.Export(w))
			gradient, loss, over := make([]float64, len(at)), 0.0, 0.0
			for i, label := range c.b.Labels {
				z, x, weigh := 0.0, c.inputs(i), 1.0
				for j := range x {
					z += at[j] * x[j]
				}
				if l.Weights != nil {
					weigh = weights[label]
				}
				p, y := 1/(1+math.Exp(-z)), float64(label)
				loss -= weigh * (y*math.Log(p) + (1-y)*math.Log(1-p))
				over += weigh
				for j := range x {
					gradient[j] += weigh * (p - y) * x[j]
				}
			}
			for j := range gradient {
				gradient[j] /= over
			}
			if math.Abs(r.Mean()-loss/over) > 1e-6*loss/over {
				t.Errorf("%s: the mean loss is %v, want %v", name, r.Mean(), loss/over)
			}
			if d := distance(float64s(m.Export(ws.Grad())), gradient); !(d < 1e-5) {
				t.Errorf("%s: the gradient differs by %.2g of its norm", name, d)
			}
		}
		if _, err := m.WithLoss(Loss{Kind: Logistic, Weights: []float64{1}}); err == nil {
			t.Errorf("%s: one weight for two classes is accepted", name)
		}
	}
}
