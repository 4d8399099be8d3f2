package nn

import (
	"cmp"

	"github.com/fedfast/fedfast/kernels"
)

// residualState is a residual block in one workspace. It takes one group of
// samples after the other through both branches, whatever the range, so that a
// branch needs the memory of one group; layers that do not work sample by sample get
// all of a chunk.
type residualState struct {
	b              *boundResidual
	at             int // offset of the parameters
	body, shortcut []State
	y, dx          Act
	over           bool // what the body gives becomes the output, and its gradient that of the input
	split          Act  // the gradient for the shortcut, since the body may overwrite its own
}

func (b *boundResidual) NewState(e *Env) State {
	s := &residualState{b: b, at: e.Offset}
	branch := func(number, offset, buffers int, c branch) []State {
		return c.states(place{
			arena: e.Arena, samples: e.Samples, branch: number, offset: offset, buffers: buffers, groups: c.groups, needDX: e.NeedDX, scratch: e.scratch,
			// No layer of a model has such a number, and none of another block.
			index: func(i int) int { return (e.Index+1)<<10 + number<<9 + i },
		})
	}
	s.body = branch(0, e.Offset, e.Buffers, b.body)
	s.shortcut = branch(1, e.Offset+b.body.size(), e.Buffers+b.body.buffers(), b.shortcut)
	s.over = b.in.Seq > 0 && !b.relu && len(s.shortcut) == 0 && givesAway(s.body[len(s.body)-1])
	if !s.over {
		s.y = e.Output()
	}
	if e.NeedDX && !s.over {
		e.gives = e.gives || b.group == 0 && b.step > 0
		e.nearGradient(&s.dx)
	}
	if len(b.shortcut.chain) > 0 {
		s.split = newAct(e.Arena, b.out, e.Samples, b.shortcut.last().Traits().GradBorder, b.group)
	}
	return s
}

func (s *residualState) Forward(r *Run, x Act, lo, hi int) Act {
	_, body := ends(s.body, r)
	_, shortcut := ends(s.shortcut, r)
	all, other := s.b.body.groups.forwardTo(body, s.body, r, x, lo, hi), s.b.shortcut.groups.forwardTo(shortcut, s.shortcut, r, x, lo, hi)
	for g := cmp.Or(s.b.step, r.N); lo < hi; lo += g {
		end := min(lo+g, hi)
		a, b := forwardBranch(s.body[body:], r, all, lo, end), forwardBranch(s.shortcut[shortcut:], r, other, lo, end)
		if s.over {
			s.y = a
		}
		if f := s.b.out; !s.b.relu && f.packed(s.y) && f.packed(a) && f.packed(b) {
			kernels.Add(f.values(s.y, lo, end), f.values(a, lo, end), f.values(b, lo, end))
			continue
		}
		for i := s.b.out.Rows(lo); i < s.b.out.Rows(end); i++ {
			s.add(i, a, b)
		}
	}
	return s.y
}

// add computes the output of sample i from those of the branches.
func (s *residualState) add(i int, a, b Act) {
	n := s.b.out.W * s.b.out.Ld()
	for y := range s.b.out.H {
		out := s.y.At(i, y, 0)[:n]
		kernels.Add(out, a.At(i, y, 0)[:n], b.At(i, y, 0)[:n])
		if s.b.relu {
			kernels.ReLUBackward(out, out, out)
		}
	}
}

func (s *residualState) Backward(r *Run, dy Act, lo, hi int) Act {
	body, _ := ends(s.body, r)
	shortcut, _ := ends(s.shortcut, r)
	g := cmp.Or(s.b.step, r.N)
	part := g // of what goes back through the ends of the branches, one after the other
	if s.b.group == 0 {
		part = hi - lo
	}
	for ; lo < hi; lo += part {
		end := min(lo+part, hi)
		for at := lo; at < end; at += g {
			s.begin(r, dy, at, min(at+g, end))
		}
		a := s.b.body.groups.backwardTo(body, 0, s.body, r, dy, lo, end)
		b := s.b.shortcut.groups.backwardTo(shortcut, 0, s.shortcut, r, s.split, lo, end)
		for at := lo; at < end; at += g {
			to := min(at+g, end)
			if other := backwardBranch(s.shortcut[:shortcut], r, b, at, to); len(s.shortcut) > 0 && s.dx.Data != nil {
				copyImages(s.dx, other, at, to, s.b.in)
			}
			s.finish(dy, backwardBranch(s.body[:body], r, a, at, to), at, to)
		}
	}
	if r.update != nil && s.b.group == 0 {
		s.b.body.update(r, s.at)
		s.b.shortcut.update(r, s.at+s.b.body.size())
	}
	return s.dx
}

// begin makes the gradients of the branches' outputs of the samples [lo, hi) from dy.
func (s *residualState) begin(r *Run, dy Act, lo, hi int) {
	if s.b.relu {
		for i := s.b.out.Rows(lo); i < s.b.out.Rows(hi); i++ {
			maskRows(dy, s.y, i, s.b.out.H, s.b.out.W)
		}
	}
	if len(s.shortcut) > 0 {
		copyImages(s.split, dy, lo, hi, s.b.out)
		r.gatherBack(s.shortcut[len(s.shortcut)-1], s.split, lo, hi)
	} else if s.dx.Data != nil && !s.over { // the body may overwrite dy
		copyImages(s.dx, dy, lo, hi, s.b.out)
	}
	r.gatherBack(s.body[len(s.body)-1], dy, lo, hi)
}

// finish adds the gradient a of the body's input to that of the shortcut's.
func (s *residualState) finish(dy, a Act, lo, hi int) {
	if s.over { // the last layer leaves its gradient alone
		s.dx, a = a, dy
	}
	if s.dx.Data != nil {
		addImages(s.dx, a, lo, hi, s.b.in)
	}
}

// update updates the parameters of the layers that do not do so themselves, from at
// on.
func (c chain) update(r *Run, at int) {
	for _, nd := range c {
		if size := nd.size(); size > 0 && !nd.Traits().updates {
			lo := at + nd.offset
			r.update.apply(r.W, r.G[lo:lo+size], lo)
		}
	}
}

// addImages adds the images, or the rows of the samples, from lo up to hi, of the size of f, to those
// of dst.
func addImages(dst, src Act, lo, hi int, f Flow) {
	if f.packed(dst) && f.packed(src) {
		to := f.values(dst, lo, hi)
		kernels.Add(to, to, f.values(src, lo, hi))
		return
	}
	for i := f.Rows(lo); i < f.Rows(hi); i++ {
		addImage(dst, i, src, i, f)
	}
}

// addImage adds image j of src to image i of dst.
func addImage(dst Act, i int, src Act, j int, f Flow) {
	n := f.W * f.Ld()
	for y := range f.H {
		to := dst.At(i, y, 0)[:n]
		kernels.Add(to, to, src.At(j, y, 0)[:n])
	}
}

// copyImages copies the images from lo up to hi, of the size of f, from src
// to dst.
func copyImages(dst, src Act, lo, hi int, f Flow) {
	if f.packed(dst) && f.packed(src) {
		copy(f.values(dst, lo, hi), f.values(src, lo, hi))
		return
	}
	n := f.W * f.Ld()
	for i := f.Rows(lo); i < f.Rows(hi); i++ {
		for y := range f.H {
			copy(dst.At(i, y, 0)[:n], src.At(i, y, 0))
		}
	}
}

// forwardBranch takes the samples [lo, hi) through a branch, which may be empty.
func forwardBranch(states []State, r *Run, x Act, lo, hi int) Act {
	for _, s := range states {
		x = r.forward(s, x, lo, hi)
	}
	return x
}

// backwardBranch takes the gradients of the samples [lo, hi) back through a branch,
// as far as a layer needs them.
func backwardBranch(states []State, r *Run, dy Act, lo, hi int) Act {
	for j := len(states) - 1; j >= 0 && dy.Data != nil; j-- {
		remake(states[:j], r, lo, hi)
		dy = r.backward(states[j], dy, lo, hi)
	}
	return dy
}
