package nn

// convTangents is what a convolution that takes tangents along has besides.
type convTangents struct {
	y, dx   Act       // one of the two parts of the tangents, of a few samples
	flipped []float32 // weights of the direction for the backward pass
	group   int       // samples of y and dx
}

func newConvTangents(b *boundConv, e *Env) *convTangents {
	t := &convTangents{group: b.fast.group}
	if e.NeedDX {
		t.y = newAct(e.Arena, b.Out(), t.group, Border{}, t.group, false)
		t.dx = newAct(e.Arena, b.in, t.group, Border{}, t.group, false)
		if !b.fast.useInput {
			t.flipped = e.Arena.Alloc(b.back.Size())
		}
	}
	return t
}

// forwardTangents computes the tangents of y = x W + bias: x V + dx W, and V's
// bias.
func (s *convState) forwardTangents(r *Run, lo, hi int) {
	t, y := s.tangents, s.y.Tangent()
	for ; lo < hi; lo += t.group {
		end := min(lo+t.group, hi)
		s.forward(y, s.x, s.weights(r.V), s.biases(r.V), false, lo, end)
		if s.x.Along > 0 {
			s.forward(t.y, s.x.Tangent(), s.weights(r.W), nil, false, lo, end)
			addImages(y, t.y, lo, end, s.b.Out())
		}
		for i := lo; s.b.relu && i < end; i++ {
			maskRows(y, s.y, i, s.b.t.OH, s.b.t.OW)
		}
	}
}

// backwardTangents is Backward for the tangents of the gradients; that of the input
// itself is computed, too.
func (s *convState) backwardTangents(r *Run, dy Act, lo, hi int) {
	t, along, twice := s.tangents, dy.Tangent(), s.x.Along > 0
	for ; lo < hi; lo += t.group {
		end := min(lo+t.group, hi)
		for i := lo; i < end; i++ {
			if s.b.relu {
				maskRows(dy, s.y, i, s.b.t.OH, s.b.t.OW)
			}
			s.b.t.BackwardBias(s.biases(r.G), along.At(i, 0, 0), dy.Row, !r.Starts(i))
			if s.fast.useWeights {
				continue
			}
			s.backwardWeights(r, s.x, along, i, !r.Starts(i))
			if twice {
				s.backwardWeights(r, s.x.Tangent(), dy, i, true)
			}
		}
		if s.fast.useWeights {
			s.weightsWinograd(r, s.x, along, lo, end, true, !twice)
			if twice {
				s.weightsWinograd(r, s.x.Tangent(), dy, lo, end, false, true)
			}
		}
		if s.dx.Data != nil {
			dx := s.dx.Tangent()
			s.backwardInput(r, s.dx, dy, s.weights(r.W), s.flipped, lo, end)
			s.backwardInput(r, dx, along, s.weights(r.W), s.flipped, lo, end)
			s.backwardInput(r, t.dx, dy, s.weights(r.V), t.flipped, lo, end)
			addImages(dx, t.dx, lo, end, s.b.in)
		}
	}
}
