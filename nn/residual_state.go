package nn

import "github.com/fedfast/fedfast/kernels"

// residualState is a residual block in one workspace. It takes one sample after the
// other through both branches, whatever the range, so that a branch can be one
// sample's memory wide.
type residualState struct {
	b              *boundResidual
	body, shortcut []State
	y, dx          Act
	split          Act // the gradient for the shortcut, since the body may overwrite its own
}

func (b *boundResidual) NewState(e *Env) State {
	s := &residualState{b: b, y: e.Output()}
	if e.NeedDX {
		s.dx = e.Gradient()
	}
	branch := func(number, offset int, c chain) []State {
		return c.states(place{
			arena: e.Arena, samples: e.Samples, offset: offset, trunk: branchTrunk(c), needDX: e.NeedDX,
			// No layer of a model has such a number, and none of another block.
			index: func(i int) int { return (e.Index+1)<<10 + number<<9 + i },
		})
	}
	s.body = branch(0, e.Offset, b.body)
	s.shortcut = branch(1, e.Offset+b.body.size(), b.shortcut)
	if n := len(b.shortcut); n > 0 {
		s.split = newAct(e.Arena, b.out, 1, b.shortcut[n-1].Traits().GradBorder, true)
	}
	return s
}

func (s *residualState) Forward(r *Run, x Act, lo, hi int) Act {
	for i := lo; i < hi; i++ {
		a, b := forwardBranch(s.body, r, x, i), forwardBranch(s.shortcut, r, x, i)
		for y := range s.b.out.H {
			n := s.b.out.W * s.b.out.Ld()
			out := s.y.At(i, y, 0)[:n]
			kernels.Add(out, a.At(i, y, 0)[:n], b.At(i, y, 0)[:n])
			if s.b.relu {
				kernels.ReLUBackward(out, out, out)
			}
		}
	}
	return s.y
}

func (s *residualState) Backward(r *Run, dy Act, lo, hi int) Act {
	out := s.b.out
	for i := lo; i < hi; i++ {
		if s.b.relu {
			maskRows(dy, s.y, i, out.H, out.W)
		}
		if len(s.shortcut) > 0 {
			copyImage(s.split, dy, i, out)
			b := backwardBranch(s.shortcut, r, s.split, i)
			if s.dx.Data != nil {
				copyImage(s.dx, b, i, s.b.in)
			}
		} else if s.dx.Data != nil {
			copyImage(s.dx, dy, i, out)
		}
		a := backwardBranch(s.body, r, dy, i)
		if s.dx.Data == nil {
			continue
		}
		for y := range s.b.in.H {
			n := s.b.in.W * s.b.in.Ld()
			dx := s.dx.At(i, y, 0)[:n]
			kernels.Add(dx, dx, a.At(i, y, 0)[:n])
		}
	}
	return s.dx
}

// copyImage copies image i, of the size of f, from src to dst.
func copyImage(dst, src Act, i int, f Flow) {
	n := f.W * f.Ld()
	for y := range f.H {
		copy(dst.At(i, y, 0)[:n], src.At(i, y, 0))
	}
}

// forwardBranch takes sample i through a branch, which may be empty.
func forwardBranch(states []State, r *Run, x Act, i int) Act {
	for _, s := range states {
		x = s.Forward(r, x, i, i+1)
	}
	return x
}

// backwardBranch takes the gradient of sample i back through a branch, as far as a
// layer needs it.
func backwardBranch(states []State, r *Run, dy Act, i int) Act {
	for j := len(states) - 1; j >= 0 && dy.Data != nil; j-- {
		dy = states[j].Backward(r, dy, i, i+1)
	}
	return dy
}
