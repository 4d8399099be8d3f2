package nn

import (
	"github.com/fedfast/fedfast/kernels"
	"github.com/fedfast/fedfast/tensor"
)

// denseBF16 is a dense layer with products of bf16 in one workspace.
type denseBF16 struct {
	b        *boundDense
	t        tensor.DenseBF16
	w, bias  int // offsets of the parameters
	x, y, dx Act
	lanes    []float32 // scratch of the input's gradient
	rule     denseRule
	scratch  *scratch
	late     *deferredDense // nil if steps are never deferred

	// Of layers on the steps of sequences: the weights in pairs of rows and, where the
	// gradient of the input is wanted, turned; and scratch for that. Else nil.
	pairs, turned, panel []float32
}

func newDenseBF16(b *boundDense, e *Env) *denseBF16 {
	s := &denseBF16{b: b, t: tensor.DenseBF16{Dense: b.t}, w: e.Offset, bias: e.Offset + b.t.K*b.t.N, y: e.Output()}
	rows := b.in.Rows(e.Samples)
	if b.l.steps && b.t.N%(2*kernels.Width) == 0 {
		s.pairs = e.Arena.Alloc(tensor.PairedRows(b.t.K) * b.t.N)
	}
	switch {
	case e.NeedDX && s.pairs != nil:
		s.dx = e.Gradient()
		s.turned, s.panel = e.Arena.Alloc(tensor.TurnedPairs(b.t.K, b.t.N)), e.Arena.Alloc(kernels.Width*b.t.K)
	case e.NeedDX:
		s.dx = e.Gradient()
		s.lanes = e.Arena.Alloc(b.t.LaneSize(rows))
	}
	s.rule.grad = e.Arena.Alloc(b.t.PartSize())
	s.late = b.newDeferred(e)
	s.scratch = e.Scratch(s.t.Space(rows))
	return s
}

func (s *denseBF16) Forward(r *Run, x Act, _, _ int) Act {
	s.x = x
	w, bias := r.W[s.w:s.bias], s.b.biases(r.W, s.bias)
	if s.late.on(r) {
		s.late.forward(r, x, s.y, bias, s.scratch.floats)
		return s.y
	}
	pairs := s.pairs
	if pairs == nil && !r.Train && r.G != nil {
		pairs = r.G[s.w:s.bias]
	}
	if pairs == nil {
		s.t.Forward(s.y.Data, s.y.Sample, x.At(0, 0, 0), x.Sample, s.b.in.Rows(r.N), w, bias, s.b.relu, s.scratch.floats)
		return s.y
	}
	if r.loads(0) {
		turned := s.turned
		if !r.Train {
			turned = nil
		}
		s.t.LoadWeights(pairs, turned, w, s.panel)
	}
	s.t.ForwardPairs(s.y.Data, s.y.Sample, x.At(0, 0, 0), x.Sample, s.b.in.Rows(r.N), pairs, bias, s.b.relu, s.scratch.floats)
	return s.y
}

func (s *denseBF16) Backward(r *Run, dy Act, _, _ int) Act {
	t, m, add, space := s.t, s.b.in.Rows(r.N), !r.Starts(0), s.scratch.floats
	g, gw, gb, w := dy.At(0, 0, 0), r.G[s.w:s.bias], s.b.biases(r.G, s.bias), r.W[s.w:s.bias]
	if n := m * t.N; s.b.relu {
		kernels.ReLUBackward(g[:n], g[:n], s.y.Data[:n])
	}
	t.BackwardBias(gb, g, dy.Sample, m, add)
	t.Load(s.x.At(0, 0, 0), s.x.Sample, g, dy.Sample, m, space)
	if s.late.on(r) {
		s.late.backward(r, s.x, dy, s.dx, s.lanes, space)
		s.b.updateBias(r, s.bias)
		return s.dx
	}
	if s.turned != nil {
		t.InputAcross(s.dx.Data, s.dx.Sample, m, s.turned, space)
	}
	if r.update != nil && !add && m <= tensor.StepRows {
		step := tensor.Step{M: m, DX: s.dx.Data, LdDX: s.dx.Sample, Lanes: s.lanes}
		if s.turned != nil {
			step.DX = nil // is there
		}
		s.rule.fill(&step, r, s.w, s.bias)
		t.Step(&step, space)
		s.b.updateBias(r, s.bias)
		return s.dx
	}
	if s.lanes != nil {
		t.BackwardInput(s.dx.Data, s.dx.Sample, m, w, s.lanes, space)
	}
	if r.update == nil {
		t.WeightsPart(t.Whole(), gw, t.K, m, add, space)
		return s.dx
	}
	for p := t.LastPart(); p.Rows > 0; p = t.Before(p) {
		s.updatePart(r, p, m, add)
	}
	s.b.updateBias(r, s.bias)
	return s.dx
}

// updatePart updates a part of the weights. Its gradient goes to memory only if
// earlier chunks did begin it there.
func (s *denseBF16) updatePart(r *Run, p tensor.Part, m int, add bool) {
	at, grad, rows := s.w+s.t.At(p), s.rule.grad, p.Rows
	if add {
		grad, rows = r.G[at:s.bias], s.t.K
	}
	s.t.WeightsPart(p, grad, rows, m, add, s.scratch.floats)
	for i := range p.Cols / kernels.Width {
		r.update.apply(r.W, grad[i*rows*kernels.Width:][:p.Rows*kernels.Width], at+i*s.t.K*kernels.Width)
	}
}
