package nn

import (
	"github.com/fedfast/fedfast/internal/list"
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
