package nn

import (
	"github.com/fedfast/fedfast/internal/list"
	"github.com/fedfast/fedfast/kernels"
	"github.com/fedfast/fedfast/tensor"
)

// flatRows is how many rows the products of a convolution of pixels by themselves should
// have, so that the weights are worth reading.
const flatRows = 64

// fewImages is how many samples a layer on small images takes in a call at most: of more,
// what the layers pass on would not stay in a second-level cache, nor what a chunk keeps
// in the last one.
const fewImages = 4

// directConv is a convolution with its backward passes by direct products, in fp32 or in bf16.
// weights and flipped are what these multiply, which are rounded in bf16.
type directConv struct {
	t    tensor.Conv
	back tensor.ConvInput
	half *tensor.ConvBF16 // nil in fp32
}

func (b *boundConv) direct(t tensor.Conv) directConv {
	c := directConv{t: t, back: t.Input()}
	if b.l.bf16 {
		half := t.BF16(b.l.amx)
		c.half = &half
	}
	return c
}

// forward computes the rows [from, to) of an image, the first of them before the others.
func (c *directConv) forward(s *convState, y Act, i, from, to int, x []float32, row int, weights, bias []float32) {
	space := s.space()
	if c.half == nil {
		c.t.ForwardRows(y.At(i, 0, 0), y.Row, from, to, x, row, weights, bias, s.b.relu)
		return
	}
	if from == 0 {
		c.half.Image(x, row, space)
	}
	c.half.ForwardRows(y.At(i, 0, 0), y.Row, from, to, weights, bias, s.b.relu, space)
}

// gradient adds the gradient of the weights from image i of dy.
func (c *directConv) gradient(s *convState, gw, x []float32, row int, dy Act, i int, add bool) {
	if c.half == nil {
		c.t.BackwardWeights(gw, x, row, dy.At(i, 0, 0), dy.Row, add)
		return
	}
	c.half.BackwardWeights(gw, x, row, dy.At(i, 0, 0), dy.Row, add, s.space())
}

// input computes image i of dx.
func (c *directConv) input(s *convState, i int, dy []float32, row int, flipped []float32) {
	dx := s.dx.At(i, 0, 0)
	if c.half == nil {
		c.back.Forward(dx, s.dx.Row, dy, row, flipped)
		return
	}
	c.half.BackwardInput(dx, s.dx.Row, dy, row, flipped, s.space())
}

// flatGroup returns the samples that such a convolution wishes for in a call, and 0 for
// other ones. In bf16, which pairs pixels of a row, a row must have an even number.
func (b *boundConv) flatGroup() int {
	if _, ok := b.t.Flat(1); !ok || b.halved || b.l.bf16 && b.t.OW%2 > 0 {
		return 0
	}
	n := 1
	for n < fewImages && n*b.t.OH*b.t.OW < flatRows {
		n *= 2
	}
	return n
}

// newFlats returns the convolutions of 1 sample, 2 and so on, as many as one is called with, of
// pixels by themselves, 1x1 without a stride, that take all pixels of their samples in one
// product. Its sums are the sums of product after product: the rows of weights' gradients follow
// one another in the same order.
func newFlats(b *boundConv, e *Env) []directConv {
	return list.Made(min(b.flatGroup(), e.Samples), func(i int) directConv {
		t, _ := b.t.Flat(i + 1)
		return b.direct(t)
	})
}

// flat returns the convolution of as many of the samples [i, hi) as lie in memory pixel
// after pixel, in x of the input's size and y of the output's, and their number; nil and 1
// where one product takes a row.
func (s *convState) flat(x, y Act, i, hi int) (*directConv, int) {
	for _, n := range [2]int{min(len(s.flats), hi-i), 1} {
		if n > 0 && n <= len(s.flats) && s.b.in.follow(x, i, i+n) && s.b.Out().follow(y, i, i+n) {
			return &s.flats[n-1], n
		}
	}
	return nil, 1
}

// forwardWindows computes y of n samples from i on by copies of their windows.
func (s *convState) forwardWindows(x Act, w, bias []float32, i, n int) {
	t, out := &s.b.wide, s.loadWindows(x, i, n)
	t.Forward(out, t.N, s.space(), t.Step, n*t.Rows, w, bias, s.b.relu)
	for j := range n {
		kernels.CopyRows(s.y.At(i+j, 0, 0), s.y.Row, out[j*t.Rows*t.N:], s.b.t.OW*t.N, s.b.t.OH, s.b.t.OW*t.N)
	}
}

// weightsWindows adds their part to the gradient of the weights.
func (s *convState) weightsWindows(gw []float32, dy Act, i, n int, add bool) {
	t, out := &s.b.wide, s.loadWindows(s.x, i, n)
	for j := range n {
		kernels.CopyRows(out[j*t.Rows*t.N:], s.b.t.OW*t.N, dy.At(i+j, 0, 0), dy.Row, s.b.t.OH, s.b.t.OW*t.N)
	}
	t.BackwardWeights(gw, s.space(), t.Step, out, t.N, n*t.Rows, add)
}

// loadWindows copies the windows of x, and returns memory for their outputs.
func (s *convState) loadWindows(x Act, i, n int) []float32 {
	size := s.b.wide.Rows * s.b.wide.Step
	for j := range n {
		in, row := s.input(x, i+j)
		s.b.wide.Load(s.space()[j*size:], in, row)
	}
	return s.space()[n*size:]
}

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
