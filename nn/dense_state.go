package nn

import (
	"github.com/fedfast/fedfast/kernels"
	"github.com/fedfast/fedfast/tensor"
)

// denseState is a dense layer in one workspace.
type denseState struct {
	b        *boundDense
	w, bias  int // offsets of the parameters
	x, y, dx Act
	lanes    []float32 // scratch of the input's gradient
	across   []float32 // the weights transposed, of layers on steps, in place of lanes
	rule     denseRule
	apart    []float32 // a copy of the output's gradient whose rows are not a multiple of a page apart; nil if they never are
	thin     *thinState
	late     *deferredDense // nil if steps are never deferred
}

// denseRule is what the rule of an optimizer needs of a layer in one workspace.
type denseRule struct {
	grad     []float32 // of a part of the weights
	panels   densePanels
	products [tensor.ProductSize]float32 // of a part of the weights
}

// fill describes in a step on the weights [lo, end) what the rule is.
func (d *denseRule) fill(step *tensor.Step, r *Run, lo, end int) {
	step.SGD = r.update.step(r.W, lo, end)
	switch {
	case r.update.plain():
	case r.update.measured():
		step.Sums, step.From, step.Products = &r.update.probe.sums, r.update.probe.Anchor[lo:end], d.products[:]
	default:
		d.panels = densePanels{r.update, r.W, lo}
		step.Update, step.Grad, step.Near = &d.panels, d.grad, r.update.near(lo, end)
	}
}

func (s *denseState) Forward(r *Run, x Act, _, _ int) Act {
	s.x = x
	t := s.b.t
	if s.thin != nil && s.thin.list(r, x, t.K) {
		s.thin.forward(r, t, s.y, r.W[s.w:s.bias], s.b.biases(r.W, s.bias), s.b.relu)
		return s.y
	}
	if s.late.on(r) {
		s.late.forward(r, x, s.y, s.b.biases(r.W, s.bias), nil)
		return s.y
	}
	t.Forward(s.y.Data, s.y.Sample, x.At(0, 0, 0), x.Sample, s.b.in.Rows(r.N), r.W[s.w:s.bias], s.b.biases(r.W, s.bias), s.b.relu)
	return s.y
}

func (s *denseState) Backward(r *Run, dy Act, _, _ int) Act {
	t, rows, add := s.b.t, s.b.in.Rows(r.N), !r.Starts(0)
	w, gw, gb := r.W[s.w:s.bias], r.G[s.w:s.bias], s.b.biases(r.G, s.bias)
	x, g := s.x.At(0, 0, 0), dy.At(0, 0, 0)
	if n := rows * t.N; s.b.relu {
		kernels.ReLUBackward(g[:n], g[:n], s.y.Data[:n])
	}
	t.BackwardBias(gb, g, dy.Sample, rows, add)
	if s.thin != nil && s.thin.on {
		s.backwardThin(r, dy)
		return s.dx
	}
	if s.late.on(r) {
		s.late.backward(r, s.x, dy, s.dx, s.lanes, nil)
		s.b.updateBias(r, s.bias)
		return s.dx
	}
	if s.across != nil {
		s.inputAcross(r, g, dy.Sample, rows)
	}
	u := r.update
	if u != nil && !add && rows <= tensor.StepRows {
		s.step(r, x, g, dy.Sample, rows)
		return s.dx
	}
	if s.lanes != nil {
		t.BackwardInput(s.dx.Data, s.dx.Sample, g, dy.Sample, rows, w, s.lanes)
	}
	if u != nil {
		s.updateParts(r, x, g, dy.Sample, rows, add)
		return s.dx
	}
	t.BackwardWeights(gw, x, s.x.Sample, g, dy.Sample, rows, add)
	return s.dx
}

// backwardThin is Backward for inputs that are mostly zeros.
func (s *denseState) backwardThin(r *Run, dy Act) {
	t := s.b.t
	s.thin.keep(r, t.N, dy)
	if !r.last {
		return
	}
	s.thin.backward(r, t, s.w)
	s.b.updateBias(r, s.bias)
}

// inputAcross computes the gradient of the input with weights that are transposed with
// the first samples of every batch.
func (s *denseState) inputAcross(r *Run, g []float32, ldg, m int) {
	t := s.b.t
	if r.Starts(0) {
		kernels.PackT(s.across, t.N, r.W[s.w:s.bias], t.K, t.K, t.N)
	}
	kernels.GemmNN(&kernels.NN{M: m, N: kernels.Pad(t.K), K: t.N, A: g, Lda: ldg, B: s.across, C: s.dx.Data, Ldc: s.dx.Sample})
}

// step does all that is left of a training step in one pass over the weights.
func (s *denseState) step(r *Run, x, g []float32, ldg, m int) {
	t := s.b.t
	if s.apart != nil {
		to := t.N + kernels.Width
		for i := range m {
			copy(s.apart[i*to:][:t.N], g[i*ldg:])
		}
		g, ldg = s.apart, to
	}
	step := tensor.Step{M: m, X: x, LdX: s.x.Sample, DY: g, LdY: ldg, DX: s.dx.Data, LdDX: s.dx.Sample, Lanes: s.lanes}
	if s.across != nil {
		step.DX = nil // is there
	}
	s.rule.fill(&step, r, s.w, s.bias)
	t.Step(&step)
	s.b.updateBias(r, s.bias)
}

// densePanels updates a layer's weights by steps that are more than SGD.
type densePanels struct {
	u     *update
	w     []float32 // all parameters
	first int       // the layer's
}

func (p *densePanels) UpdatePanel(grad []float32, at int) { p.u.apply(p.w, grad, p.first+at) }

// wholeFloats is the most floats of weights whose gradient stays in a second-level cache
// as a whole, beside them.
const wholeFloats = 1 << 16

// updateParts updates the weights part by part; the gradient of a part is still in
// the cache then, and does not go to memory unless earlier chunks did begin it
// there. That of few weights is computed as a whole, in higher tiles.
func (s *denseState) updateParts(r *Run, x, g []float32, ldg, m int, add bool) {
	t := s.b.t
	whole := t.K*t.N <= wholeFloats
	if whole {
		t.BackwardWeights(r.G[s.w:s.bias], x, s.x.Sample, g, ldg, m, add)
	}
	for p := t.LastPart(); p.Rows > 0; p = t.Before(p) {
		at, grad, rows := s.w+t.At(p), s.rule.grad, p.Rows
		if add || whole {
			grad, rows = r.G[at:s.bias], t.K
		}
		if !whole {
			t.WeightsPart(p, grad, rows, x, s.x.Sample, g, ldg, m, add)
		}
		for i := range p.Cols / kernels.Width {
			r.update.apply(r.W, grad[i*rows*kernels.Width:][:p.Rows*kernels.Width], at+i*t.K*kernels.Width)
		}
	}
	s.b.updateBias(r, s.bias)
}
