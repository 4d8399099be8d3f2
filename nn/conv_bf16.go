package nn

import "github.com/fedfast/fedfast/tensor"

// convBF16 is what a direct convolution with products of bf16 needs in a workspace.
type convBF16 struct {
	tensor.ConvBF16
	weights, flipped []float32 // rounded, once a batch
	scratch          *scratch
}

func newConvBF16(b *boundConv, e *Env, flats []flatConv) *convBF16 {
	c := &convBF16{ConvBF16: b.t.BF16()}
	c.scratch = e.Scratch(c.Space())
	for i := range flats {
		e.Scratch(flats[i].bf16.Space())
	}
	c.weights = e.Arena.Alloc(c.WeightSize())
	if e.NeedDX && !b.pooled {
		c.flipped = e.Arena.Alloc(c.FlippedSize())
	}
	return c
}

func (s *convState) forwardBF16(r *Run, x Act, lo, hi int) {
	c, v, bias := s.bf16, s.b.t, s.biases(r.W)
	space := c.scratch.floats
	if r.loads(lo) {
		c.Load(c.weights, s.weights(r.W))
	}
	var n int
	for i := lo; i < hi; i += n {
		var f *flatConv
		if f, n = s.flat(x, s.y, i, hi); f != nil {
			f.bf16.Image(x.At(i, 0, 0), x.Row, space)
			f.bf16.ForwardRows(s.y.At(i, 0, 0), s.y.Row, 0, 1, c.weights, bias, s.b.relu, space)
			continue
		}
		in, row := s.input(x, i)
		c.Image(in, row, space)
		if !s.b.halved {
			c.ForwardRows(s.y.At(i, 0, 0), s.y.Row, 0, v.OH, c.weights, bias, s.b.relu, space)
			continue
		}
		for p := range v.OH / 2 {
			c.ForwardRows(s.y.Data, s.y.Row, 2*p, 2*p+2, c.weights, bias, s.b.relu, space)
			s.pool.pair(i, p, s.y)
		}
	}
}

// weightsBF16 computes the gradient of the weights.
func (s *convState) weightsBF16(r *Run, dy Act, lo, hi int) {
	gw, space := s.weights(r.G), s.bf16.scratch.floats
	var n int
	for i := lo; i < hi; i += n {
		var f *flatConv
		if f, n = s.flat(s.x, dy, i, hi); f != nil {
			f.bf16.BackwardWeights(gw, s.x.At(i, 0, 0), s.x.Row, dy.At(i, 0, 0), dy.Row, !r.Starts(i), space)
			continue
		}
		in, row := s.input(s.x, i)
		s.bf16.BackwardWeights(gw, in, row, dy.At(i, 0, 0), dy.Row, !r.Starts(i), space)
	}
}

// inputBF16 computes dx from dy.
func (s *convState) inputBF16(r *Run, dy Act, lo, hi int) {
	c := s.bf16
	if r.Starts(lo) {
		s.b.back.Flip(s.flipped, s.weights(r.W))
		c.Flip(c.flipped, s.flipped)
	}
	var n int
	for i := lo; i < hi; i += n {
		var f *flatConv
		if f, n = s.flat(s.dx, dy, i, hi); f != nil {
			f.bf16.BackwardInput(s.dx.At(i, 0, 0), s.dx.Row, dy.At(i, 0, 0), dy.Row, c.flipped, c.scratch.floats)
			continue
		}
		g, row := s.gradient(dy, i)
		c.BackwardInput(s.dx.At(i, 0, 0), s.dx.Row, g, row, c.flipped, c.scratch.floats)
	}
}
