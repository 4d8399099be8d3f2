package nn

import (
	"github.com/fedfast/fedfast/kernels"
	"github.com/fedfast/fedfast/tensor"
)

// convState is a convolution in one workspace. It works image by image.
type convState struct {
	b       *boundConv
	w, bias int // offsets of the parameters
	x, y    Act
	padded  Act // one image of the input with its border, when x comes without

	back    tensor.Conv // computes the input's gradient
	dx      Act
	spread  Act       // one image of the output's gradient, bordered and spread
	flipped []float32 // weights of back, refreshed with each batch
}

func (b *boundConv) NewState(e *Env) State {
	s := &convState{b: b, w: e.Offset, bias: e.Offset + b.t.Rows()*b.t.N, y: e.Output()}
	s.padded = newAct(e.Arena, b.in, 1, b.border(), true)
	if e.NeedDX {
		s.back = b.t.Input()
		s.dx = e.Gradient()
		s.flipped = e.Arena.Alloc(s.back.Rows() * s.back.N)
		f := Flow{H: s.back.H, W: s.back.W, C: s.back.C}
		s.spread = newAct(e.Arena, f, 1, Border{s.back.Left, s.back.RightBorder}, true)
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
	for i := lo; i < hi; i++ {
		in, row := s.input(i)
		s.b.t.Forward(s.y.At(i, 0, 0), s.y.Row, in, row, r.W[s.w:s.bias], s.biases(r.W), s.b.relu)
	}
	return s.y
}

func (s *convState) Backward(r *Run, dy Act, lo, hi int) Act {
	t := s.b.t
	if r.Starts(lo) && s.dx.Data != nil {
		t.Flip(s.flipped, r.W[s.w:s.bias])
	}
	for i := lo; i < hi; i++ {
		if s.b.mask {
			maskRows(dy, s.y, i, t.OH, t.OW)
		}
		x, xRow := s.input(i)
		g := dy.At(i, 0, 0)
		t.BackwardWeights(r.G[s.w:s.bias], s.biases(r.G), x, xRow, g, dy.Row, !r.Starts(i))
		if s.dx.Data == nil {
			continue
		}
		g, gRow := s.gradient(dy, i)
		s.back.Forward(s.dx.At(i, 0, 0), s.dx.Row, g, gRow, s.flipped, nil, false)
	}
	return s.dx
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

// gradient returns image i of dy as back reads it, and its row length.
func (s *convState) gradient(dy Act, i int) ([]float32, int) {
	t := s.b.t
	need := s.spread.Border
	if t.Stride == 1 && dy.Has(need) {
		return dy.At(i, 0, -need.Left), dy.Row
	}
	for y := range t.OH {
		from := dy.At(i, y, 0)
		if t.Stride == 1 {
			copy(s.spread.At(0, y, 0)[:t.OW*t.N], from)
			continue
		}
		for x := range t.OW {
			copy(s.spread.At(0, y*t.Stride, x*t.Stride)[:t.N], from[x*t.N:])
		}
	}
	return s.spread.At(0, 0, -need.Left), s.spread.Row
}
