package nn

import (
	"github.com/fedfast/fedfast/kernels"
	"github.com/fedfast/fedfast/tensor"
)

// thinInputs is how many inputs a dense layer needs to look for zeros among them, and
// one of thinOne of them may be something else for it to go by these alone.
const (
	thinInputs = 1024
	thinOne    = 32
)

// thinState is what a dense layer on a network's own input needs of a batch that is
// mostly zeros, such as bags of words. A term of 0 changes no chain of fused
// multiply-adds over finite weights, so that leaving it out gives the same bits.
type thinState struct {
	inputs []thinInput // of the batch's samples so far, sample by sample
	ends   []int       // in inputs, of the samples
	grad   []float32   // of the outputs of all samples
	panel  []float32   // gradient of 16 columns of the weights; what was not touched is 0
	used   []int32     // rows of it that are touched
	mark   []bool      // those of all rows
	on     bool        // for the batch at work
}

// thinInput is an input that is not 0.
type thinInput struct {
	row   int32
	value float32
}

// mayBeThin reports whether the inputs are many and the network's own.
func (b *boundDense) mayBeThin() bool { return b.in.Raw && !b.in.Image() && b.t.K >= thinInputs }

// thin returns the state of a layer that may go by its inputs that are not 0, nil for
// the others.
func (b *boundDense) thin(e *Env) *thinState {
	if !b.mayBeThin() || kernels.Current() == kernels.Generic {
		return nil
	}
	return &thinState{panel: e.Arena.Alloc(b.t.K * kernels.Width), mark: make([]bool, b.t.K)}
}

// list takes the inputs of a chunk, and reports whether the layer is to go by them. A
// batch goes one way: once that it began otherwise it stays.
func (s *thinState) list(r *Run, x Act, k int) bool {
	if r.Base == 0 {
		s.inputs, s.ends, s.grad, s.on = s.inputs[:0], s.ends[:0], s.grad[:0], true
	}
	for i := 0; i < r.N && s.on; i++ {
		from := len(s.inputs)
		for row, v := range x.At(i, 0, 0)[:k] {
			if v != 0 {
				s.inputs = append(s.inputs, thinInput{int32(row), v})
			}
		}
		s.ends = append(s.ends, len(s.inputs))
		if r.Base == 0 && i == 0 {
			s.on = (len(s.inputs)-from)*thinOne <= k
		}
	}
	return s.on
}

// of returns the inputs of sample i of the batch.
func (s *thinState) of(i int) []thinInput {
	from := 0
	if i > 0 {
		from = s.ends[i-1]
	}
	return s.inputs[from:s.ends[i]]
}

// forward computes the outputs of a chunk, followed by a ReLU if relu.
func (s *thinState) forward(r *Run, t tensor.Dense, y Act, w, bias []float32, relu bool) {
	for j := 0; j < t.N; j += kernels.Width {
		panel := w[j*t.K:][:t.K*kernels.Width]
		for i := range r.N {
			out := y.At(i, 0, 0)[j:][:kernels.Width]
			if bias == nil {
				clear(out)
			} else {
				copy(out, bias[j:])
			}
			for _, in := range s.of(r.Base + i) {
				kernels.Axpy(out, in.value, panel[int(in.row)*kernels.Width:][:kernels.Width])
			}
			for i, v := range out {
				if relu && v <= 0 {
					out[i] = 0
				}
			}
		}
	}
}

// keep takes the gradient of a chunk's outputs.
func (s *thinState) keep(r *Run, n int, dy Act) {
	for i := range r.N {
		s.grad = append(s.grad, dy.At(i, 0, 0)[:n]...)
	}
}

// backward takes the step, or computes the gradient of the weights, once all samples
// of the batch are there.
func (s *thinState) backward(r *Run, t tensor.Dense, at int) {
	for j := 0; j < t.N; j += kernels.Width {
		s.sum(t, j)
		lo := at + j*t.K
		switch u := r.update; {
		case u == nil:
			copy(r.G[lo:], s.panel)
		case u.leavesRest():
			for _, row := range s.used {
				k := int(row) * kernels.Width
				u.applyTo(r.W, s.panel[k:][:kernels.Width], lo+k)
			}
		default:
			u.apply(r.W, s.panel, lo)
			clear(s.panel)
			continue
		}
		for _, row := range s.used {
			clear(s.panel[int(row)*kernels.Width:][:kernels.Width])
		}
	}
}

// sum adds up the gradient of the columns from j on.
func (s *thinState) sum(t tensor.Dense, j int) {
	s.used = s.used[:0]
	for i := range s.ends {
		g := s.grad[i*t.N+j:][:kernels.Width]
		for _, in := range s.of(i) {
			if !s.mark[in.row] {
				s.mark[in.row] = true
				s.used = append(s.used, in.row)
			}
			kernels.Axpy(s.panel[int(in.row)*kernels.Width:][:kernels.Width], in.value, g)
		}
	}
	for _, row := range s.used {
		s.mark[row] = false
	}
}

// leavesRest reports whether the step leaves weights whose gradient is 0 as they are.
func (u *update) leavesRest() bool {
	return u.plain() && u.Momentum == 0 && u.WeightDecay == 0 && u.Mu == 0 && u.biases == nil
}
