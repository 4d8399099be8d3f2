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
	apart    []float32 // a copy of the output's gradient whose rows are no pages apart; nil if they never are
	thin     *thinState
	late     *deferredDense    // nil if steps are never deferred
	half     *tensor.DenseBF16 // products of bf16, nil in fp32
	scratch  *scratch          // of these

	// Of layers on steps with products of bf16: the weights in pairs of rows, and scratch where
	// they are turned. Else nil.
	pairs, panel []float32
}

// space is the scratch memory of products of bf16.
func (s *denseState) space() []float32 {
	if s.half == nil {
		return nil
	}
	return s.scratch.floats
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
	t, w, bias := s.b.t, r.W[s.w:s.bias], s.b.biases(r.W, s.bias)
	switch {
	case s.thin != nil && s.thin.list(r, x, t.K):
		s.thin.forward(r, t, s.y, w, bias, s.b.relu)
	case s.late.on(r):
		s.late.forward(r, x, s.y, bias, s.space())
	case s.half != nil:
		s.forwardBF16(r, w, bias)
	default:
		t.Forward(s.y.Data, s.y.Sample, x.At(0, 0, 0), x.Sample, s.b.in.Rows(r.N), w, bias, s.b.relu)
	}
	return s.y
}

// forwardBF16 rounds the weights on their way, or once for many rows.
func (s *denseState) forwardBF16(r *Run, w, bias []float32) {
	x, m, pairs := s.x.At(0, 0, 0), s.b.in.Rows(r.N), s.pairs
	if pairs == nil && !r.Train && r.G != nil {
		pairs = r.G[s.w:s.bias]
	}
	if pairs == nil {
		s.half.Forward(s.y.Data, s.y.Sample, x, s.x.Sample, m, w, bias, s.b.relu, s.space())
		return
	}
	if r.loads(0) {
		turned := s.across
		if !r.Train {
			turned = nil
		}
		s.half.LoadWeights(pairs, turned, w, s.panel)
	}
	s.half.ForwardPairs(s.y.Data, s.y.Sample, x, s.x.Sample, m, pairs, bias, s.b.relu, s.space())
}

func (s *denseState) Backward(r *Run, dy Act, _, _ int) Act {
	t, m, add, u := s.b.t, s.b.in.Rows(r.N), !r.Starts(0), r.update
	g := dy.At(0, 0, 0)
	if n := m * t.N; s.b.relu {
		kernels.ReLUBackward(g[:n], g[:n], s.y.Data[:n])
	}
	t.BackwardBias(s.b.biases(r.G, s.bias), g, dy.Sample, m, add)
	if s.thin != nil && s.thin.on {
		s.backwardThin(r, dy)
		return s.dx
	}
	if s.half != nil {
		s.half.Load(s.x.At(0, 0, 0), s.x.Sample, g, dy.Sample, m, s.space())
	}
	if s.late.on(r) {
		s.late.backward(r, s.x, dy, s.dx, s.lanes, s.space())
		s.b.updateBias(r, s.bias)
		return s.dx
	}
	if s.across != nil {
		s.inputAcross(r, g, dy.Sample, m)
	}
	if u != nil && !add && m <= tensor.StepRows {
		s.step(r, g, dy.Sample, m)
		return s.dx
	}
	switch w := r.W[s.w:s.bias]; {
	case s.lanes == nil:
	case s.half != nil:
		s.half.BackwardInput(s.dx.Data, s.dx.Sample, m, w, s.lanes, s.space())
	default:
		t.BackwardInput(s.dx.Data, s.dx.Sample, g, dy.Sample, m, w, s.lanes)
	}
	if u != nil {
		s.updateParts(r, g, dy.Sample, m, add)
		return s.dx
	}
	s.weightsPart(t.Whole(), r.G[s.w:s.bias], t.K, g, dy.Sample, m, add)
	return s.dx
}

// weightsPart computes the gradient of a part of the weights, or adds it; rows is how many a panel
// of it has in memory.
func (s *denseState) weightsPart(p tensor.Part, grad []float32, rows int, g []float32, ldg, m int, add bool) {
	if s.half != nil {
		s.half.WeightsPart(p, grad, rows, m, add, s.space())
		return
	}
	s.b.t.WeightsPart(p, grad, rows, s.x.At(0, 0, 0), s.x.Sample, g, ldg, m, add)
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
	if s.half != nil {
		s.half.InputAcross(s.dx.Data, s.dx.Sample, m, s.across, s.space())
		return
	}
	if r.Starts(0) {
		kernels.PackT(s.across, t.N, r.W[s.w:s.bias], t.K, t.K, t.N)
	}
	product := kernels.NN{M: m, N: kernels.Pad(t.K), K: t.N, A: g, Lda: ldg, B: s.across, C: s.dx.Data, Ldc: s.dx.Sample}
	kernels.GemmNN(&product)
}

// step does all that is left of a training step in one pass over the weights.
func (s *denseState) step(r *Run, g []float32, ldg, m int) {
	t := s.b.t
	if s.apart != nil {
		to := t.N + kernels.Width
		for i := range m {
			copy(s.apart[i*to:][:t.N], g[i*ldg:])
		}
		g, ldg = s.apart, to
	}
	step := tensor.Step{M: m, X: s.x.At(0, 0, 0), LdX: s.x.Sample, DY: g, LdY: ldg, LdDX: s.dx.Sample, Lanes: s.lanes}
	if s.across == nil { // else it is there
		step.DX = s.dx.Data
	}
	s.rule.fill(&step, r, s.w, s.bias)
	if s.half != nil {
		s.half.Step(&step, s.space())
	} else {
		t.Step(&step)
	}
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
func (s *denseState) updateParts(r *Run, g []float32, ldg, m int, add bool) {
	t := s.b.t
	whole := s.half == nil && t.K*t.N <= wholeFloats
	if whole {
		s.weightsPart(t.Whole(), r.G[s.w:s.bias], t.K, g, ldg, m, add)
	}
	for p := t.LastPart(); p.Rows > 0; p = t.Before(p) {
		at, grad, rows := s.w+t.At(p), s.rule.grad, p.Rows
		if add || whole {
			grad, rows = r.G[at:s.bias], t.K
		}
		if !whole {
			s.weightsPart(p, grad, rows, g, ldg, m, add)
		}
		for i := range p.Cols / kernels.Width {
			r.update.apply(r.W, grad[i*rows*kernels.Width:][:p.Rows*kernels.Width], at+i*t.K*kernels.Width)
		}
	}
	s.b.updateBias(r, s.bias)
}
