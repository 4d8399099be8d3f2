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
	whole    directConv
	flats    []directConv // of 1 sample, 2 and so on, for a convolution of pixels by themselves

	rounded, turned []float32 // weights, and those of the backward pass, of direct products in bf16
	scratch         *scratch  // of these, or of windows
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
	s.whole, s.flats = b.direct(b.t), newFlats(b, e)
	s.padded = newAct(e.Arena, b.in, 1, b.border(), 1)
	e.nearGradient(&s.dx)
	s.sparse = newSparseState(b, e)
	if e.NeedDX && !b.pooled {
		if !b.fast.useInput {
			s.flipped = e.Arena.Alloc(b.back.Size())
		}
		s.bordered = newAct(e.Arena, b.Out(), 1, b.backBorder(), 1)
	}
	if b.wide.Images > 0 {
		s.scratch = e.Scratch(b.wide.Space())
	}
	if back := e.NeedDX && !b.pooled; b.l.bf16 && (!b.fast.useWeights || !b.fast.useInput && back) {
		s.scratch = e.Scratch(s.whole.half.Space())
		for i := range s.flats {
			e.Scratch(s.flats[i].half.Space())
		}
		if s.rounded = e.Arena.Alloc(s.whole.half.WeightSize()); back {
			s.turned = e.Arena.Alloc(s.whole.half.FlippedSize())
		}
	}
	return s
}

// space is the scratch memory of direct products in bf16.
func (s *convState) space() []float32 {
	if s.scratch == nil {
		return nil
	}
	return s.scratch.floats
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
	w, bias := s.weights(r.W), s.biases(r.W)
	if s.fast.useWeights {
		s.forwardWinograd(r, x, w, bias, lo, hi)
		return s.y
	}
	if s.rounded != nil {
		if r.loads(lo) {
			s.whole.half.Load(s.rounded, w)
		}
		w = s.rounded
	}
	var n int
	for i := lo; i < hi; i += n {
		var f *directConv
		if n = min(s.b.wide.Images, hi-i); n > 0 && !s.b.halved {
			s.forwardWindows(x, w, bias, i, n)
			continue
		}
		if f, n = s.flat(x, s.y, i, hi); f != nil {
			f.forward(s, s.y, i, 0, f.t.OH, x.At(i, 0, 0), x.Row, w, bias)
			continue
		}
		in, row := s.input(x, i)
		if !s.b.halved {
			s.whole.forward(s, s.y, i, 0, s.b.t.OH, in, row, w, bias)
			continue
		}
		for p := range s.b.t.OH / 2 {
			s.whole.forward(s, s.y, 0, 2*p, 2*p+2, in, row, w, bias)
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
	default:
		var n int
		for i := lo; i < hi; i += n {
			var f *directConv
			if n = min(s.b.wide.Images, hi-i); n > 0 {
				s.weightsWindows(s.weights(r.G), dy, i, n, !r.Starts(i))
				continue
			}
			if f, n = s.flat(s.x, dy, i, hi); f != nil {
				f.gradient(s, s.weights(r.G), s.x.At(i, 0, 0), s.x.Row, dy, i, !r.Starts(i))
				continue
			}
			in, row := s.input(s.x, i)
			s.whole.gradient(s, s.weights(r.G), in, row, dy, i, !r.Starts(i))
		}
	}
	if s.dx.Data != nil {
		s.backwardInput(r, dy, lo, hi)
	}
	return s.dx
}

// backwardInput computes dx from dy.
func (s *convState) backwardInput(r *Run, dy Act, lo, hi int) {
	w, flipped := s.weights(r.W), s.flipped
	if s.fast.useInput {
		s.inputWinograd(dy, w, lo, hi)
		return
	}
	if r.Starts(lo) {
		s.b.back.Flip(s.flipped, w)
		if s.turned != nil {
			s.whole.half.Flip(s.turned, s.flipped)
		}
	}
	if s.turned != nil {
		flipped = s.turned
	}
	if s.b.wide.Images > 0 {
		for p := range s.b.back.Phases() {
			for i := lo; i < hi; i++ {
				g, row := s.gradient(dy, i)
				s.b.back.ForwardPhase(p, s.dx.At(i, 0, 0), s.dx.Row, g, row, flipped)
			}
		}
		return
	}
	var n int
	for i := lo; i < hi; i += n {
		var f *directConv
		if f, n = s.flat(s.dx, dy, i, hi); f != nil {
			f.input(s, i, dy.At(i, 0, 0), dy.Row, flipped)
			continue
		}
		g, row := s.gradient(dy, i)
		s.whole.input(s, i, g, row, flipped)
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
