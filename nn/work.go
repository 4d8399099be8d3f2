package nn

import (
	"cmp"
	"time"

	"github.com/fedfast/fedfast/internal/list"
	"github.com/fedfast/fedfast/tensor"
)

// Work is what one layer of a workspace does for a sample, in multiplications, additions and
// values, and the time that it has taken since Workspace.Measure. A block of layers has what
// its inner ones, which stand before it, leave.
type Work struct {
	Layer string // as its parameters are named, such as "conv2"; inner layers after their block
	Kind  string
	// FLOPs are the multiplications and additions of a forward pass, TrainFLOPs those of
	// forward and backward passes.
	FLOPs, TrainFLOPs int64
	In, Out           int64 // values of its input and of its output
	Params            int64 // trained values, which do not depend on the sample
	InputGradient     bool  // whether the backward pass computes that of the input
	// Forward and Backward are the times of all passes, with the updates of weights that
	// a layer makes in its backward pass.
	Forward, Backward time.Duration
}

// working is the work of a layer's state.
type working struct {
	state State
	work  Work
}

// workOf returns that of a layer in its place, with the gradient of its input or without;
// inner are the layers inside it.
func workOf(name string, nd node, s State, gradient bool, inner []working) working {
	size := func(f Flow) int64 { return int64(f.Rows(1)) * int64(f.H*f.W*f.C) }
	w := Work{Layer: name, Kind: nd.kind, In: size(nd.in), Out: size(nd.Out()), Params: int64(nd.values()), InputGradient: gradient, FLOPs: nd.FLOPs()}
	for i := range inner {
		w.FLOPs -= inner[i].work.FLOPs
		w.Params -= inner[i].work.Params
	}
	w.TrainFLOPs = w.FLOPs
	if nd.size() > 0 {
		w.TrainFLOPs += w.FLOPs
	}
	if gradient {
		w.TrainFLOPs += w.FLOPs
	}
	return working{s, w}
}

// profile measures the time of layers.
type profile struct {
	now   func() time.Duration
	of    map[State]*Work
	inner time.Duration // of the layers inside the one that runs
	cost  time.Duration // of looking at the clock
}

// Measure begins to measure the time of each layer by a clock, or ends that if it is nil.
func (ws *Workspace) Measure(now func() time.Duration) {
	ws.profile = nil
	if now == nil {
		return
	}
	const looks = 1000
	start := now()
	for range looks {
		now()
	}
	ws.profile = &profile{now: now, of: map[State]*Work{}, cost: (now() - start) / (looks + 1)}
	for i := range ws.scratch.works {
		w := &ws.scratch.works[i]
		w.work.Forward, w.work.Backward = 0, 0
		ws.profile.of[w.state] = &w.work
	}
}

// Work returns that of all layers.
func (ws *Workspace) Work() []Work {
	return list.Made(len(ws.scratch.works), func(i int) Work { return ws.scratch.works[i].work })
}

// took runs f and returns its time without that of the layers inside it and of the clock.
func (p *profile) took(f func()) time.Duration {
	before, start := p.inner, p.now()
	p.inner = 0
	f()
	all := p.now() - start
	own := max(0, all-p.inner-p.cost)
	p.inner = before + all + p.cost
	return own
}

// timed runs f, a part of the forward or backward pass of a layer.
func (r *Run) timed(s State, backward bool, f func()) {
	if r.profile == nil {
		f()
		return
	}
	t := r.profile.took(f)
	switch w := r.profile.of[s]; {
	case w == nil:
	case backward:
		w.Backward += t
	default:
		w.Forward += t
	}
}

// forward is the forward pass of a layer.
func (r *Run) forward(s State, x Act, lo, hi int) (y Act) {
	r.timed(s, false, func() { y = s.Forward(r, x, lo, hi) })
	return y
}

// backward is its backward pass.
func (r *Run) backward(s State, dy Act, lo, hi int) (dx Act) {
	r.timed(s, true, func() { dx = s.Backward(r, dy, lo, hi) })
	return dx
}

// again makes its output again, as part of the backward pass.
func (r *Run) again(s remaker, lo, hi int) { r.timed(s, true, func() { s.remake(r, lo, hi) }) }

// gather and gatherBack have it look at samples, if it gathers.
func (r *Run) gather(s State, x Act, lo, hi int) {
	if s := gathering(s, r); s != nil {
		r.timed(s, false, func() { s.gather(r, x, lo, hi) })
	}
}

func (r *Run) gatherBack(s State, dy Act, lo, hi int) {
	if s := gathering(s, r); s != nil && dy.Data != nil {
		r.timed(s, true, func() { s.gatherBack(r, dy, lo, hi) })
	}
}

// WorkspaceBytes returns how many bytes a workspace takes, before one is made. With
// hessian it includes what products with the Hessian need. batch is the largest batch,
// which batch normalization goes by; 0 is 64. Of what takes more than
// tensor.MostCounted floats it says less than the whole.
func (m *Model) WorkspaceBytes(batch int, hessian bool) int64 {
	bytes := 4 * (m.counted(batch) + int64(m.Size()))
	if hessian {
		bytes += 4 * int64(m.Size())
		if m.precision != FP32 {
			bytes += m.WithPrecision(FP32).WorkspaceBytes(batch, false)
		}
	}
	return bytes
}

// counted returns the floats that the arena of a workspace is asked for.
func (m *Model) counted(batch int) (floats int64) {
	arena, chunk := tensor.Counting(), m.chunk()
	if m.whole() {
		chunk = max(chunk, cmp.Or(batch, 64))
	}
	defer func() {
		if p := recover(); p != nil {
			if p != any(tensor.ErrUncounted) {
				panic(p)
			}
			floats = max(int64(arena.Asked()), 2*int64(chunk)*int64(m.nodes.floats(m.groups)))
		}
	}()
	m.lay(arena, chunk)
	return int64(arena.Asked())
}
