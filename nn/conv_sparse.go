package nn

import "github.com/fedfast/fedfast/tensor"

// thinShare is the share of values that are not zero up to which the backward pass
// of a convolution is faster on these alone.
const thinShare = 0.7

// sparseState is what a convolution whose gradient is mostly zero needs in a
// workspace.
type sparseState struct {
	*tensor.Sparse
	thin bool // of the batch at work
}

func newSparseState(b *boundConv, e *Env) sparseState {
	if !b.pooled && !b.thin {
		return sparseState{}
	}
	return sparseState{Sparse: tensor.NewSparse(b.t, e.Arena, e.NeedDX, b.pooled, b.l.bf16)}
}

// choosesSparse reports whether the batch at work goes by the values that are not
// zero: always after a max-pool, and otherwise if there are few of them in the
// first sample. Both ways give the same bits.
func (s *convState) choosesSparse(r *Run, dy Act, lo int) bool {
	if s.b.thin && r.Starts(lo) {
		all := s.b.t.OH * s.b.t.OW * s.b.t.N
		s.sparse.thin = s.list(dy, lo) <= int(thinShare*float32(all))
	}
	return s.b.pooled || s.sparse.thin
}

// list takes sample i of the gradient and returns how many values are not zero, for
// a gradient that did not come from a max-pool.
func (s *convState) list(dy Act, i int) int {
	if s.b.pooled {
		s.sparse.Maxima(dy.At(i, 0, 0), dy.Row, s.pool.places(i))
		return 0
	}
	maskRows(dy, s.y, i, s.b.t.OH, s.b.t.OW)
	return s.sparse.All(dy.At(i, 0, 0), dy.Row)
}

// backwardSparse is Backward on the values that are not zero.
func (s *convState) backwardSparse(r *Run, dy Act, lo, hi int) {
	if r.Starts(lo) {
		s.sparse.Reset()
		clear(s.biases(r.G))
		if s.dx.Data != nil {
			s.sparse.Load(s.weights(r.W))
		}
	}
	for i := lo; i < hi; i++ {
		s.list(dy, i)
		x, row := s.input(s.x, i)
		s.sparse.BackwardWeights(s.biases(r.G), x, row)
		if s.dx.Data != nil {
			s.sparse.BackwardInput(s.dx.At(i, 0, 0), s.dx.Row)
		}
	}
	if r.Ends(hi) {
		s.sparse.Store(s.weights(r.G))
	}
}
