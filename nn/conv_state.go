package nn

import "github.com/fedfast/fedfast/kernels"

// convState is a convolution in one workspace. It works image by image.
type convState struct {
	b       *boundConv
	w, bias int // offsets of the parameters
	x, y    Act
	folds   folds
	padded  Act // one image of the input with its border, when x comes without

	pool  *poolState // takes the output by pairs of rows, which y then holds, and its maxima's gradient
	pair  func(image, pair int)
	first int // the image that pair counts from

	dx     Act
	sparse sparseState

	bordered Act       // one image of the output's gradient, when it comes without
	flipped  []float32 // weights of the backward pass, refreshed with each batch
	fast     winogradState
	flats    []flatConv // of 1 sample, 2 and so on, for a convolution of pixels by themselves
	bf16     *convBF16  // of direct passes; nil in fp32
}

func (b *boundConv) NewState(e *Env) State {
	s := &convState{b: b, w: e.Offset, bias: e.Offset + b.weights(), fast: newWinogradState(b.fast, e)}
	if b.halved {
		s.y = newAct(e.Arena, Flow{H: 2, W: b.t.OW, C: b.l.Filters}, 1, Border{}, 1)
		s.pair = func(image, pair int) { s.pool.pair(s.first+image, pair, s.y) }
	} else {
		s.y = e.Output()
		s.folds = e.folds(s.y)
	}
	s.flats = newFlats(b, e)
	s.padded = newAct(e.Arena, b.in, 1, b.border(), 1)
	e.nearGradient(&s.dx)
	s.sparse = newSparseState(b, e)
	if e.NeedDX && !b.pooled {
		if !b.fast.useInput {
			s.flipped = e.Arena.Alloc(b.back.Size())
		}
		s.bordered = newAct(e.Arena, b.Out(), 1, b.backBorder(), 1)
	}
	if b.l.bf16 && (!b.fast.useWeights || !b.fast.useInput && !b.pooled && e.NeedDX) {
		s.bf16 = newConvBF16(b, e, s.flats)
	}
	return s
}

// weights returns the weights within all parameters or gradients p.
func (s *convState) weights(p []float32) []float32 { return p[s.w:][:s.b.weights()] }

// biases returns the bias within all parameters or gradients p, or nil.
func (s *convState) biases(p []float32) []float32 {
	if s.b.l.NoBias {
		return nil
	}
	return p[s.bias:][:s.b.t.N]
}

// input returns image i of x from its left border on, and its row length.
func (s *convState) input(x Act, i int) ([]float32, int) {
	b := s.b.border()
	if x.Has(b) {
		return x.At(i, 0, -b.Left), x.Row
	}
	n := s.b.in.W * x.Pixel
	for y := range s.b.in.H {
		copy(s.padded.At(0, y, 0)[:n], x.At(i, y, 0))
	}
	return s.padded.At(0, 0, -b.Left), s.padded.Row
}

func (s *convState) Forward(r *Run, x Act, lo, hi int) Act {
	s.x = x
	if s.b.halved {
		s.pool.begin(r)
	} else {
		s.y.Fold = s.folds.of(r)
	}
	if s.bf16 != nil && !s.fast.useWeights {
		s.forwardBF16(r, x, lo, hi)
		return s.y
	}
	w, bias, relu := s.weights(r.W), s.biases(r.W), s.b.relu
	if s.fast.useWeights {
		s.forwardWinograd(r, x, w, bias, lo, hi)
		return s.y
	}
	var n int
	for i := lo; i < hi; i += n {
		var f *flatConv
		if f, n = s.flat(x, s.y, i, hi); f != nil {
			f.t.Forward(s.y.At(i, 0, 0), s.y.Row, x.At(i, 0, 0), x.Row, w, bias, relu)
			continue
		}
		in, row := s.input(x, i)
		if !s.b.halved {
			s.b.t.Forward(s.y.At(i, 0, 0), s.y.Row, in, row, w, bias, relu)
			continue
		}
		for p := range s.b.t.OH / 2 {
			s.b.t.ForwardRows(s.y.Data, s.y.Row, 2*p, 2*p+2, in, row, w, bias, relu)
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
		if !r.mixing {
			s.b.t.BackwardBias(s.biases(r.G), dy.At(i, 0, 0), dy.Row, !r.Starts(i))
		}
	}
	switch {
	case r.mixing:
	case s.fast.useWeights:
		s.weightsWinograd(r, dy, lo, hi)
	case s.bf16 != nil:
		s.weightsBF16(r, dy, lo, hi)
	default:
		var n int
		for i := lo; i < hi; i += n {
			var f *flatConv
			if f, n = s.flat(s.x, dy, i, hi); f != nil {
				f.t.BackwardWeights(s.weights(r.G), s.x.At(i, 0, 0), s.x.Row, dy.At(i, 0, 0), dy.Row, !r.Starts(i))
				continue
			}
			in, row := s.input(s.x, i)
			s.b.t.BackwardWeights(s.weights(r.G), in, row, dy.At(i, 0, 0), dy.Row, !r.Starts(i))
		}
	}
	switch {
	case s.dx.Data == nil:
	case s.bf16 != nil && !s.fast.useInput:
		s.inputBF16(r, dy, lo, hi)
	default:
		s.backwardInput(r, dy, lo, hi)
	}
	return s.dx
}

// backwardInput computes dx from dy.
func (s *convState) backwardInput(r *Run, dy Act, lo, hi int) {
	dx, w := s.dx, s.weights(r.W)
	if s.fast.useInput {
		s.inputWinograd(dy, w, lo, hi)
		return
	}
	if r.Starts(lo) {
		s.b.back.Flip(s.flipped, w)
	}
	var n int
	for i := lo; i < hi; i += n {
		var f *flatConv
		if f, n = s.flat(dx, dy, i, hi); f != nil {
			f.back.Forward(dx.At(i, 0, 0), dx.Row, dy.At(i, 0, 0), dy.Row, s.flipped)
			continue
		}
		g, row := s.gradient(dy, i)
		s.b.back.Forward(dx.At(i, 0, 0), dx.Row, g, row, s.flipped)
	}
}

// maskRows applies a ReLU's backward pass to image i of dy, h x w pixels, where y is what the
// ReLU gave.
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
