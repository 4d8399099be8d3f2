package nn

import "github.com/fedfast/fedfast/kernels"

// groupedState is a groupedConv in one workspace: a convolution for each group, on
// parts of the image that are copied out of it.
type groupedState struct {
	b     *boundGrouped
	parts []groupState
	run   Run // of the parts
	y, dx Act
}

// groupState is one group.
type groupState struct {
	conv State
	x    Act // the parts of each sample, one after the other
	dy   Act
}

func (b *boundGrouped) NewState(e *Env) State {
	s := &groupedState{b: b, y: e.Output(), parts: make([]groupState, b.l.Groups)}
	s.dx = e.Gradient()
	n := e.Samples * b.d * b.d
	for g := range s.parts {
		part := *e
		part.Samples, part.Offset = n, e.Offset+g*b.conv.weights()
		part.in, part.out, part.outBorder, part.gradBorder, part.shareOut, part.shareGrad, part.passes = b.part, b.conv.Out(), Border{}, Border{}, 0, 0, 0
		conv := b.conv.NewState(&part).(*convState)
		conv.bias = e.Offset + b.l.Groups*b.conv.weights() + g*b.conv.t.N
		s.parts[g] = groupState{
			conv: conv,
			x:    newAct(e.Arena, b.part, n, b.conv.border(), 0),
			dy:   newAct(e.Arena, b.conv.Out(), n, b.conv.backBorder(), 0),
		}
	}
	return s
}

// within runs the parts of a group as samples of their own.
func (s *groupedState) within(r *Run) *Run {
	all := s.b.d * s.b.d
	s.run = *r
	s.run.N, s.run.Base = r.N*all, r.Base*all
	return &s.run
}

// stripe is n pixels of a row of a whole image, as far apart as the kernel's neighbours,
// and where they are side by side among the parts of the samples.
type stripe struct{ i, y, x, part, py, px, n int }

// each calls f with all stripes of the samples [lo, hi) of an image of the size of w
// that lies top rows and left columns from the edge in the parts.
func (s *groupedState) each(w Flow, top, left, lo, hi int, f func(p stripe)) {
	d := s.b.d
	for i := lo; i < hi; i++ {
		for y := range w.H {
			for x := range min(d, w.W) {
				py, px := y+top, x+left
				f(stripe{i, y, x, (i*d+py%d)*d + px%d, py / d, px / d, (w.W - x + d - 1) / d})
			}
		}
	}
}

func (s *groupedState) Forward(r *Run, x Act, lo, hi int) Act {
	c, f, all := s.b.part.C, s.b.conv.l.Filters, s.b.d*s.b.d
	run := s.within(r)
	for g := range s.parts {
		part := &s.parts[g]
		s.takeApart(part.x, x, s.b.in, s.b.top, s.b.left, lo, hi, g*c, c)
		y := part.conv.Forward(run, part.x, lo*all, hi*all)
		s.putTogether(s.y, y, s.b.out, 0, 0, lo, hi, g*f, f)
	}
	return s.y
}

func (s *groupedState) Backward(r *Run, dy Act, lo, hi int) Act {
	c, f, all := s.b.part.C, s.b.conv.l.Filters, s.b.d*s.b.d
	run := s.within(r)
	for g := range s.parts {
		part := &s.parts[g]
		s.takeApart(part.dy, dy, s.b.out, 0, 0, lo, hi, g*f, f)
		if dx := part.conv.Backward(run, part.dy, lo*all, hi*all); dx.Data != nil {
			s.putTogether(s.dx, dx, s.b.in, s.b.top, s.b.left, lo, hi, g*c, c)
		}
	}
	return s.dx
}

// takeApart copies n channels, from channel at on, of the samples [lo, hi) of images of
// the size of w into the parts; the other pixels of these stay zero.
func (s *groupedState) takeApart(parts, x Act, w Flow, top, left, lo, hi, at, n int) {
	s.each(w, top, left, lo, hi, func(p stripe) {
		kernels.CopyRows(parts.At(p.part, p.py, p.px), parts.Pixel, x.At(p.i, p.y, p.x)[at:], x.Pixel*s.b.d, p.n, n)
	})
}

// putTogether copies the parts back.
func (s *groupedState) putTogether(x, parts Act, w Flow, top, left, lo, hi, at, n int) {
	s.each(w, top, left, lo, hi, func(p stripe) {
		kernels.CopyRows(x.At(p.i, p.y, p.x)[at:], x.Pixel*s.b.d, parts.At(p.part, p.py, p.px), parts.Pixel, p.n, n)
	})
}
