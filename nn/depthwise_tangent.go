package nn

// forwardTangents computes the tangents of y = x W + bias for image i: x V + dx W, and
// V's bias. x stands in in, row floats from row to row.
func (s *depthwiseState) forwardTangents(r *Run, i int, in []float32, row int) {
	y, v := s.y.Tangent(), r.V[s.w:s.bias]
	s.t.Forward(y.At(i, 0, 0), y.Row, in, row, v, s.biases(r.V))
	in, row = within(s.x.Tangent(), i, s.b.in, s.b.border(), s.padded)
	s.t.Forward(s.part.At(0, 0, 0), s.part.Row, in, row, r.W[s.w:s.bias], nil)
	addImage(y, i, s.part, 0, s.b.Out())
}

// backwardTangents is Backward for the tangents of the gradients of image i; that of
// the input itself is computed, too.
func (s *depthwiseState) backwardTangents(r *Run, dy Act, i int) {
	b, gw, along := s.b, r.G[s.w:s.bias], dy.Tangent()
	add := !r.Starts(i)
	s.t.BackwardBias(s.biases(r.G), along.At(i, 0, 0), dy.Row, add)
	in, row := within(s.x, i, b.in, b.border(), s.padded)
	s.t.BackwardWeights(gw, in, row, 0, along.At(i, 0, 0), dy.Row, 0, 1, add)
	in, row = within(s.x.Tangent(), i, b.in, b.border(), s.padded)
	s.t.BackwardWeights(gw, in, row, 0, dy.At(i, 0, 0), dy.Row, 0, 1, true)
	if s.dx.Data == nil {
		return
	}
	dx := s.dx.Tangent()
	g, row := within(dy, i, b.Out(), b.backBorder(), s.bordered)
	s.t.BackwardInput(s.dx.At(i, 0, 0), s.dx.Row, g, row, r.W[s.w:s.bias])
	s.t.BackwardInput(s.dpart.At(0, 0, 0), s.dpart.Row, g, row, r.V[s.w:s.bias])
	g, row = within(along, i, b.Out(), b.backBorder(), s.bordered)
	s.t.BackwardInput(dx.At(i, 0, 0), dx.Row, g, row, r.W[s.w:s.bias])
	addImage(dx, i, s.dpart, 0, b.in)
}
