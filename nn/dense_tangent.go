package nn

import "github.com/fedfast/fedfast/kernels"

// forwardTangents computes the tangents of y = x W + bias: x V + dx W, and V's
// bias.
func (s *denseState) forwardTangents(r *Run, x Act) {
	t, rows := s.b.t, s.b.in.Rows(r.N)
	y := s.y.Tangent()
	t.Forward(y.Data, y.Sample, x.At(0, 0, 0), x.Sample, rows, r.V[s.w:s.bias], s.b.biases(r.V, s.bias), false)
	if x.Along > 0 {
		t.Add(y.Data, y.Sample, x.Tangent().At(0, 0, 0), x.Sample, rows, r.W[s.w:s.bias])
	}
	if n := rows * t.N; s.b.relu {
		kernels.ReLUBackward(y.Data[:n], y.Data[:n], s.y.Data[:n])
	}
}

// backwardTangents is Backward for the tangents of the gradients; that of the input
// itself is computed, too.
func (s *denseState) backwardTangents(r *Run, dy Act) Act {
	t, rows, add := s.b.t, s.b.in.Rows(r.N), !r.Starts(0)
	w, gw, gb := s.w, r.G[s.w:s.bias], s.b.biases(r.G, s.bias)
	g, along := dy.At(0, 0, 0), dy.Tangent().At(0, 0, 0)
	if n := rows * t.N; s.b.relu {
		kernels.ReLUBackward(g[:n], g[:n], s.y.Data[:n])
		kernels.ReLUBackward(along[:n], along[:n], s.y.Data[:n])
	}
	t.BackwardBias(gb, along, dy.Sample, rows, add)
	t.BackwardWeights(gw, s.x.At(0, 0, 0), s.x.Sample, along, dy.Sample, rows, add)
	if s.x.Along > 0 {
		t.BackwardWeights(gw, s.x.Tangent().At(0, 0, 0), s.x.Sample, g, dy.Sample, rows, true)
	}
	if s.dx.Data == nil {
		return s.dx
	}
	dx, ld := s.dx.Tangent(), s.dx.Sample
	t.BackwardInput(s.dx.Data, ld, g, dy.Sample, rows, r.W[w:s.bias], s.lanes)
	t.BackwardInput(dx.Data, ld, along, dy.Sample, rows, r.W[w:s.bias], s.lanes)
	t.BackwardInput(s.part.Data, ld, g, dy.Sample, rows, r.V[w:s.bias], s.lanes)
	for i := range rows {
		to := dx.At(i, 0, 0)[:kernels.Pad(t.K)]
		kernels.Add(to, to, s.part.At(i, 0, 0)[:len(to)])
	}
	return s.dx
}
