package nn

import (
	"slices"

	"github.com/fedfast/fedfast/kernels"
	"github.com/fedfast/fedfast/tensor"
)

// The steps of a client on few examples at a time are bound by memory where a dense
// layer is wide: each reads and writes all of its weights and of their velocity. Such a
// layer defers its steps, see tensor.Deferred, where that was measured to pay: what
// depends on the machine must not decide, since deferred steps round otherwise.
const (
	deferredFloats = 1 << 21 // the fewest weights
	deferredSteps  = 4       // the fewest steps
	deferredBatch  = 20      // the largest batch
	// deferredShare bounds the operations on kept rows: the rows of a batch, times all
	// rows, times the sum of inputs and outputs, are at most this multiple of the number
	// of weights, and twice that where there is most to gain, with momentum in bf16.
	deferredShare = 4
)

// deferral is a run of steps of a Workspace that began with Begin.
type deferral struct {
	layers   []*deferredDense
	w        []float32
	rows     int     // kept so far
	own, way float64 // what the first weights weigh in the weights, and in the velocity
	// What each row weighs in them, and the former rounded.
	of, ofWay []float64
	weigh     []float32
}

// deferredDense is what a wide dense layer in one workspace needs to defer its steps.
type deferredDense struct {
	tensor.Deferred
	b     *boundDense
	w     int // offset of the weights
	dx    bool
	space []float32 // of tensor.DeferredSpace
	panel []float32 // for rounding
	run   *deferral // nil unless the steps at work are deferred
}

// deferrable reports whether the layer is one that can defer steps, and wide enough.
func (b *boundDense) deferrable() bool {
	multiple := kernels.Width
	if b.l.bf16 {
		multiple *= 2
	}
	return b.t.K*b.t.N >= deferredFloats && b.t.K%multiple == 0 && b.t.N%multiple == 0 && !b.l.steps && b.in.Seq == 0 && !b.mayBeThin()
}

// newDeferred returns what the layer needs to defer steps, nil if it never does.
func (b *boundDense) newDeferred(e *Env) *deferredDense {
	t := b.t
	if !b.deferrable() {
		return nil
	}
	d := &deferredDense{b: b, w: e.Offset, dx: e.NeedDX}
	if b.l.bf16 {
		d.panel = e.Arena.Alloc(kernels.Width * t.K)
	}
	d.space = e.Arena.Alloc(tensor.DeferredSpace(t.MostDeferred(), deferredBatch))
	return d
}

// defers reports whether that number of steps on batches of up to batch examples is
// deferred.
func (b *boundDense) defers(batch, steps int, momentum bool) bool {
	if !b.l.bf16 && !momentum {
		return false
	}
	share := deferredShare
	if b.l.bf16 && momentum {
		share *= 2
	}
	t, rows := b.t, batch*steps
	return b.deferrable() && batch <= deferredBatch && steps >= deferredSteps && rows <= t.MostDeferred() && batch*rows*(t.K+t.N) <= share*t.K*t.N
}

// Defers reports whether wide dense layers of the model defer that number of steps, with
// momentum or without, on batches of batch examples: see Workspace.Begin.
func (m *Model) Defers(batch, steps int, momentum bool) bool {
	return slices.ContainsFunc(m.nodes, func(nd node) bool {
		b, ok := nd.Bound.(*boundDense)
		return ok && b.defers(batch, steps, momentum)
	})
}

// Begin announces the number of steps that follow, on batches of up to batch examples,
// with these options and this optimizer, of which only the LR may change, on weights that
// nothing else reads or writes before End. Wide dense layers may leave their weights
// unchanged until then, where that is faster: the steps are the same up to rounding.
// Whether they do depends on the model, the arguments and, with a proximal term, on
// whether w is the anchor; never on the machine.
func (ws *Workspace) Begin(w []float32, batch, steps int, o TrainOpts, opt *Optimizer) {
	ws.fit(batch)
	ws.m.check(w)
	ws.stop()
	u := SGD{LR: opt.LR, Momentum: opt.Momentum, WeightDecay: opt.WeightDecay, Mu: opt.Mu, Nesterov: opt.Nesterov}
	if opt.SGD != u || opt.Adam.On || opt.Steps > 0 || opt.Velocity == nil || opt.Biases != nil {
		return
	}
	if !o.Only.empty() || o.Hold != nil || o.Shift != nil || o.Probe != nil || o.Drawn || ws.m.frozen != nil {
		return
	}
	if ws.grad == nil {
		ws.grad = ws.m.NewParams()
	}
	l := &ws.late
	for _, s := range ws.states {
		dense, ok := s.(*denseState)
		if !ok {
			continue
		}
		d := dense.late
		if d == nil || !d.b.defers(batch, steps, opt.Momentum != 0) || opt.Mu != 0 && !slices.Equal(d.weights(w), d.weights(opt.Anchor)) {
			continue
		}
		d.begin(ws, opt.Velocity, batch, steps, w)
		l.layers = append(l.layers, d)
	}
	if len(l.layers) > 0 {
		l.begin(w, batch*steps)
	}
}

// End ends what Begin began, or nothing: all weights are then those after the steps.
func (ws *Workspace) End() {
	l := &ws.late
	for _, d := range l.layers {
		d.Apply(d.weights(l.w), l.kept())
	}
	ws.stop()
}

// stop forgets what Begin began.
func (ws *Workspace) stop() {
	for _, d := range ws.late.layers {
		d.run = nil
	}
	ws.late.layers, ws.late.w = ws.late.layers[:0], nil
}

// weights returns the layer's part of a vector of the model's size.
func (d *deferredDense) weights(of []float32) []float32 { return of[d.w:][:d.b.t.K*d.b.t.N] }

// begin keeps rows in the memory of the layer's velocity and its rounded weights in that
// of its gradient, which deferred steps do not have.
func (d *deferredDense) begin(ws *Workspace, velocity []float32, batch, steps int, w []float32) {
	var rounded []float32
	if d.b.l.bf16 {
		rounded = d.weights(ws.grad)
	}
	d.Deferred = d.b.t.Defer(batch*steps, batch, d.weights(w), d.weights(velocity), d.space, rounded, d.panel, d.dx)
	d.Blocks, d.run = d.b.l.amx, &ws.late
}

// on reports whether the layer defers the steps at work.
func (d *deferredDense) on(r *Run) bool { return d != nil && d.run != nil && r.Train }

// forward is the layer's forward pass. scratch is for products in bf16.
func (d *deferredDense) forward(r *Run, x, y Act, bias, scratch []float32) {
	d.Forward(y.Data, y.Sample, x.At(0, 0, 0), x.Sample, r.N, d.weights(r.W), bias, d.b.relu, d.run.kept(), scratch)
}

// backward is the layer's backward pass with gradients of its outputs, which it keeps.
// lanes is as for tensor.Dense, for products in bf16 scratch after their Load.
func (d *deferredDense) backward(r *Run, x, dy, dx Act, lanes, scratch []float32) {
	in, g := x.At(0, 0, 0), dy.At(0, 0, 0)
	if d.dx {
		d.BackwardInput(dx.Data, dx.Sample, g, dy.Sample, r.N, d.weights(r.W), d.run.kept(), lanes, scratch)
	}
	d.Keep(d.run.rows+r.Base, in, x.Sample, g, dy.Sample, r.N)
}

func (l *deferral) begin(w []float32, rows int) {
	l.w, l.rows, l.own, l.way = w, 0, 1, 0
	if cap(l.of) < rows {
		l.of, l.ofWay, l.weigh = make([]float64, rows), make([]float64, rows), make([]float32, rows)
	}
}

// kept returns what the weights are.
func (l *deferral) kept() tensor.Rows {
	return tensor.Rows{Alpha: float32(l.own), Weigh: l.weigh[:l.rows]}
}

// step counts a step, the first or a later one, on the rows of a batch, which are kept
// already: with the weights, their velocity and the gradient as sums of the first weights
// W0 and the products of each row, the step of Optimizer.Step holds for what these weigh
// in them.
func (l *deferral) step(u *update, rows int) {
	var (
		lr, momentum  = float64(u.LR), float64(u.Momentum)
		decay, mu     = float64(u.WeightDecay), float64(u.Mu)
		first, before = u.first, l.rows
	)
	one := func(w, way *float64, gradient float64) {
		d := gradient + float64((decay+mu)**w)
		if !first {
			*way = float64(momentum**way) + d
		} else {
			*way = d
		}
		if u.Nesterov {
			d += float64(momentum * *way)
		} else {
			d = *way
		}
		*w -= float64(lr * d)
	}
	l.rows += rows
	for i := range l.rows {
		var gradient float64
		if i >= before {
			l.of[i], l.ofWay[i], gradient = 0, 0, 1
		}
		one(&l.of[i], &l.ofWay[i], gradient)
		l.weigh[i] = float32(l.of[i])
	}
	one(&l.own, &l.way, -mu)
}

// masked takes a step on a batch without a label, whose gradient is 0, also where the
// rounded weights were.
func (l *deferral) masked(u *update, grad []float32) {
	for _, d := range l.layers {
		u.frozen = append(u.frozen, Span{d.w, d.w + d.b.t.K*d.b.t.N})
		d.Round(d.weights(l.w), d.panel)
	}
	u.whole(l.w, grad)
	l.step(u, 0)
}
