package nn

import "github.com/fedfast/fedfast/kernels"

// denseState is a dense layer in one workspace.
type denseState struct {
	b                *boundDense
	w, bias          int // offsets of the parameters
	x, y, dx         Act
	strip, gradStrip []float32 // scratch for a strip of weights and its gradient
}

func (s *denseState) Forward(r *Run, x Act, _, _ int) Act {
	s.x = x
	t := s.b.t
	t.Forward(s.y.Data, s.y.Sample, x.At(0, 0, 0), x.Sample, s.b.in.Rows(r.N), r.W[s.w:s.bias], r.W[s.bias:s.bias+t.N], s.b.relu)
	return s.y
}

func (s *denseState) Backward(r *Run, dy Act, _, _ int) Act {
	t, rows, add := s.b.t, s.b.in.Rows(r.N), !r.Starts(0)
	w, gw, gb := r.W[s.w:s.bias], r.G[s.w:s.bias], r.G[s.bias:s.bias+t.N]
	x, g := s.x.At(0, 0, 0), dy.At(0, 0, 0)
	if n := rows * t.N; s.b.relu {
		kernels.ReLUBackward(g[:n], g[:n], s.y.Data[:n])
	}
	t.BackwardBias(gb, g, dy.Sample, rows, add)
	if r.update != nil {
		s.updateStrips(r, x, g, dy.Sample, rows, add)
		return s.dx
	}
	if s.dx.Data != nil {
		t.BackwardInput(s.dx.Data, s.dx.Sample, g, dy.Sample, rows, w, s.strip)
	}
	t.BackwardWeights(gw, x, s.x.Sample, g, dy.Sample, rows, add)
	return s.dx
}

// updateStrips takes the weights strip by strip through all that is left of a
// training step: the input's gradient, the weights' and the update. A strip stays
// in the cache, and its gradient never goes to memory unless earlier chunks did
// begin it there.
func (s *denseState) updateStrips(r *Run, x, g []float32, ldg, rows int, add bool) {
	t := s.b.t
	for k := 0; k < t.K; k += t.Strip() {
		if s.dx.Data != nil {
			t.InputStrip(s.dx.Data, s.dx.Sample, g, ldg, rows, r.W[s.w:s.bias], s.strip, k)
		}
		n, at := min(t.Strip(), t.K-k)*kernels.Width, k*kernels.Width
		grad, panel := s.gradStrip, n
		if add {
			grad, panel = r.G[s.w+at:s.bias], t.K*kernels.Width
		}
		t.WeightsStrip(grad, panel/kernels.Width, x, s.x.Sample, g, ldg, rows, k, add)
		for p := range t.N / kernels.Width {
			r.update.apply(r.W, grad[p*panel:][:n], s.w+p*t.K*kernels.Width+at)
		}
	}
	r.update.apply(r.W, r.G[s.bias:s.bias+t.N], s.bias)
}
