package nn

import "github.com/fedfast/fedfast/kernels"

// forwardTangents computes the tangents of the products: those with the direction's
// table, and those of the input's tangents.
func (s *tiedState) forwardTangents(r *Run) {
	t, rows, y := s.b.t, s.b.in.Rows(r.N), s.y.Tangent()
	if r.Base == 0 {
		s.pack(s.along, r.V)
	}
	t.Forward(y.Data, y.Sample, s.x.At(0, 0, 0), s.x.Sample, rows, s.along, s.bias, false)
	t.Add(y.Data, y.Sample, s.x.Tangent().At(0, 0, 0), s.x.Sample, rows, s.w)
}

// backwardTangents is Backward for the tangents of the gradients; that of the input
// itself is computed, too.
func (s *tiedState) backwardTangents(r *Run, dy Act) Act {
	t, rows, g, along := s.b.t, s.b.in.Rows(r.N), dy.At(0, 0, 0), dy.Tangent().At(0, 0, 0)
	t.BackwardWeights(s.grad, s.x.At(0, 0, 0), s.x.Sample, along, dy.Sample, rows, !r.Starts(0))
	t.BackwardWeights(s.grad, s.x.Tangent().At(0, 0, 0), s.x.Sample, g, dy.Sample, rows, true)
	dx, ld := s.dx.Tangent(), s.dx.Sample
	t.BackwardInput(s.dx.Data, ld, g, dy.Sample, rows, s.w, s.lanes)
	t.BackwardInput(dx.Data, ld, along, dy.Sample, rows, s.w, s.lanes)
	t.BackwardInput(s.part, ld, g, dy.Sample, rows, s.along, s.lanes)
	kernels.Add(dx.Data[:rows*ld], dx.Data[:rows*ld], s.part[:rows*ld])
	return s.dx
}
