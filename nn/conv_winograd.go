package nn

import "github.com/fedfast/fedfast/tensor"

// winogradRows is how many tiles there should be in a call, which is as many rows
// as the products have: the transforms of the weights are shared by them.
const (
	winogradRows  = 256
	winogradGroup = 16 // most samples of a call
)

// roundedLeast is the fewest channels and filters with which the gradient of the
// input goes by Winograd's algorithm in bf16: direct products are twice as fast
// there, and with 32 the transforms cost more than the products save
// (BenchmarkWinograd).
const roundedLeast = 64

// winogradPlan describes which passes of a convolution go by Winograd's F(2x2, 3x3): the
// forward pass and the gradient of the weights by weights, and then perhaps that of
// the input by input.
type winogradPlan struct {
	weights, input       tensor.Winograd
	useWeights, useInput bool
	group                int // samples of a call
}

func newWinogradPlan(t tensor.Conv, bf16, blocks bool) winogradPlan {
	p := winogradPlan{group: 1}
	p.weights, p.useWeights = t.Winograd()
	if p.input, p.useInput = t.WinogradInput(); !p.useWeights {
		p.useInput = false
	}
	if bf16 {
		p.weights, p.input = p.weights.BF16(blocks), p.input.BF16(blocks)
		p.useInput = p.useInput && min(p.input.C, p.input.N) >= roundedLeast
	}
	for p.group < winogradGroup && p.group*p.weights.Tiles() < winogradRows {
		p.group *= 2
	}
	return p
}

// wish returns the samples that the convolution wishes for in a call.
func (p winogradPlan) wish() int {
	if p.useWeights || p.useInput {
		return p.group
	}
	return 0
}

// border returns what the input of w must have around its rows.
func winogradBorder(w tensor.Winograd) Border { return Border{w.Left, w.RightBorder} }

// winogradState is what a convolution by Winograd's algorithm needs in a workspace.
type winogradState struct {
	winogradPlan
	arena   *tensor.Arena
	scratch *scratch
	sums    []float32 // the gradient of the weights between two calls of a batch
}

func newWinogradState(p winogradPlan, e *Env) winogradState {
	n, size := min(p.group, e.Samples), 0
	if p.useWeights {
		size = p.weights.Space(n)
	}
	if p.useInput && e.NeedDX {
		size = max(size, p.input.Space(n))
	}
	return winogradState{winogradPlan: p, arena: e.Arena, scratch: e.Scratch(size)}
}

// images returns where the images of a from lo on lie.
func (a Act) images(lo int) tensor.Images {
	return tensor.Images{Data: a.At(lo, 0, 0), Sample: a.Sample, Row: a.Row}
}

// loadImages transforms the samples [lo, hi) of x, of the layer's input or the
// like, for the gradient of the weights if backward.
func (s *convState) loadImages(x Act, lo, hi int, backward bool) {
	for i := lo; i < hi; i++ {
		in, row := s.input(x, i)
		s.fast.weights.Input(s.fast.scratch.floats, hi-lo, i-lo, in, row, backward)
	}
}

// forwardWinograd computes y from x; in bf16, weights that do not change are kept as they are
// transformed.
func (s *convState) forwardWinograd(r *Run, x Act, w, bias []float32, lo, hi int) {
	var kept []float32
	if s.b.l.bf16 && !r.Train && r.G != nil {
		if kept = s.weights(r.G); !r.loads(lo) {
			w = nil
		}
	}
	for ; lo < hi; lo += s.fast.group {
		end := min(lo+s.fast.group, hi)
		s.loadImages(x, lo, end, false)
		to := s.y.images(lo)
		to.Pair, s.first = s.pair, lo
		s.fast.weights.ForwardKept(to, end-lo, s.fast.scratch.floats, kept, w, bias, s.b.relu)
		if kept != nil {
			w = nil
		}
	}
}

// weightsWinograd computes the gradient of the weights.
func (s *convState) weightsWinograd(r *Run, dy Act, lo, hi int) {
	f := &s.fast
	for ; lo < hi; lo += f.group {
		end := min(lo+f.group, hi)
		first, last := r.Starts(lo), r.Ends(end)
		if whole := first && last; f.sums == nil && !whole {
			f.sums = f.arena.Alloc(f.weights.Sums())
		}
		s.loadImages(s.x, lo, end, true)
		f.weights.BackwardWeights(s.weights(r.G), f.sums, dy.images(lo), end-lo, f.scratch.floats, first, last)
	}
}

// inputWinograd computes the gradient of the input.
func (s *convState) inputWinograd(dy Act, w []float32, lo, hi int) {
	f := &s.fast
	for ; lo < hi; lo += f.group {
		end := min(lo+f.group, hi)
		for i := lo; i < end; i++ {
			g, row := s.gradient(dy, i)
			f.input.Input(f.scratch.floats, end-lo, i-lo, g, row, false)
		}
		f.input.Forward(s.dx.images(lo), end-lo, f.scratch.floats, w, nil, false)
	}
}
