package nn

import "github.com/fedfast/fedfast/kernels"

// convState is a convolution in one workspace. It works image by image.
type convState struct {
	b       *boundConv
	w, bias int // offsets of the parameters
	x, y    Act
	padded  Act // one image of the input with its border, when x comes without

	pool  *poolState // takes the output by pairs of rows, which y then holds, and its maxima's gradient
	pair  func(image, pair int)
	first int // the image that pair counts from

	dx     Act
	sparse sparseState

	bordered Act       // one image of the output's gradient, when it comes without
	flipped  []float32 // weights of the backward pass, refreshed with each batch
	fast     winogradState
}

func (b *boundConv) NewState(e *Env) State {
	s := &convState{b: b, w: e.Offset, bias: e.Offset + b.t.Rows()*b.t.N, fast: newWinogradState(b.fast, e)}
	if b.halved {
		s.y = newAct(e.Arena, Flow{H: 2, W: b.t.OW, C: b.l.Filters}, 1, Border{}, 1)
		s.pair = func(image, pair int) { s.pool.pair(s.first+image, pair, s.y) }
	} else {
		s.y = e.Output()
	}
	s.padded = newAct(e.Arena, b.in, 1, b.border(), 1)
	if e.NeedDX {
		s.dx = e.Gradient()
	}
	s.sparse = newSparseState(b, e)
	if e.NeedDX && !b.pooled {
		if !b.fast.useInput {
			s.flipped = e.Arena.Alloc(b.back.Size())
		}
		s.bordered = newAct(e.Arena, b.Out(), 1, b.backBorder(), 1)
	}
	return s
}

// biases returns the bias within all parameters or gradients p, or nil.
func (s *convState) biases(p []float32) []float32 {
	if s.b.l.NoBias {
		return nil
	}
	return p[s.bias:][:s.b.t.N]
}

// input returns image i from its left border on, and its row length.
func (s *convState) input(i int) ([]float32, int) {
	b := s.b.border()
	if s.x.Has(b) {
		return s.x.At(i, 0, -b.Left), s.x.Row
	}
	n := s.b.in.W * s.x.Pixel
	for y := range s.b.in.H {
		copy(s.padded.At(0, y, 0)[:n], s.x.At(i, y, 0))
	}
	return s.padded.At(0, 0, -b.Left), s.padded.Row
}

func (s *convState) Forward(r *Run, x Act, lo, hi int) Act {
	s.x = x
	if s.fast.useWeights {
		s.forwardWinograd(r, lo, hi)
		return s.y
	}
	for i := lo; i < hi; i++ {
		in, row := s.input(i)
		if !s.b.halved {
			s.b.t.Forward(s.y.At(i, 0, 0), s.y.Row, in, row, r.W[s.w:s.bias], s.biases(r.W), s.b.relu)
			continue
		}
		for p := range s.b.t.OH / 2 {
			s.b.t.ForwardRows(s.y.Data, s.y.Row, 2*p, 2*p+2, in, row, r.W[s.w:s.bias], s.biases(r.W), s.b.relu)
			s.pool.pair(i, p, s.y)
		}
	}
	return s.y
}

func (s *convState) Backward(r *Run, dy Act, lo, hi int) Act {
	if s.choosesSparse(r, dy, lo) {
		s.backwardSparse(r, dy, lo, hi)
		return s.dx
	}
	for i := lo; i < hi; i++ {
		if s.b.mask {
			maskRows(dy, s.y, i, s.b.t.OH, s.b.t.OW)
		}
		s.b.t.BackwardBias(s.biases(r.G), dy.At(i, 0, 0), dy.Row, !r.Starts(i))
	}
	if s.fast.useWeights {
		s.weightsWinograd(r, dy, lo, hi)
	} else {
		s.backwardWeights(r, dy, lo, hi)
	}
	switch {
	case s.dx.Data == nil:
	case s.fast.useInput:
		s.inputWinograd(r, dy, lo, hi)
	default:
		s.backwardInput(r, dy, lo, hi)
	}
	return s.dx
}

func (s *convState) backwardWeights(r *Run, dy Act, lo, hi int) {
	for i := lo; i < hi; i++ {
		x, row := s.input(i)
		s.b.t.BackwardWeights(r.G[s.w:s.bias], nil, x, row, dy.At(i, 0, 0), dy.Row, !r.Starts(i))
	}
}

func (s *convState) backwardInput(r *Run, dy Act, lo, hi int) {
	if r.Starts(lo) {
		s.b.back.Flip(s.flipped, r.W[s.w:s.bias])
	}
	for i := lo; i < hi; i++ {
		g, row := s.gradient(dy, i)
		s.b.back.Forward(s.dx.At(i, 0, 0), s.dx.Row, g, row, s.flipped)
	}
}

// maskRows applies a ReLU's backward pass to image i of dy, h x w pixels, where y
// is what the ReLU gave.
func maskRows(dy, y Act, i, h, w int) {
	n := w * dy.Pixel
	if dy.Row == n && y.Row == n {
		n, h = h*n, 1
	}
	for r := range h {
		g := dy.At(i, r, 0)[:n]
		kernels.ReLUBackward(g, g, y.At(i, r, 0)[:n])
	}
}

// gradient returns image i of dy from its left border on, and its row length.
func (s *convState) gradient(dy Act, i int) ([]float32, int) {
	b := s.b.backBorder()
	if dy.Has(b) {
		return dy.At(i, 0, -b.Left), dy.Row
	}
	n := s.b.t.OW * s.b.t.N
	for y := range s.b.t.OH {
		copy(s.bordered.At(0, y, 0)[:n], dy.At(i, y, 0))
	}
	return s.bordered.At(0, 0, -b.Left), s.bordered.Row
}
