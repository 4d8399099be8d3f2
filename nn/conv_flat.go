package nn

import "github.com/fedfast/fedfast/tensor"

// flatRows is how many rows the products of a convolution of pixels by themselves should
// have, so that the weights are worth reading.
const flatRows = 64

// fewImages is how many samples a layer on small images takes in a call at most: of more,
// what the layers pass on would not stay in a second-level cache, nor what a chunk keeps
// in the last one.
const fewImages = 4

// flatConv is a convolution of pixels by themselves, 1x1 without a stride, that takes all
// pixels of some samples in one product. Its sums are the sums of product after product: the
// rows of weights' gradients follow one another in the same order.
type flatConv struct {
	t    tensor.Conv
	back tensor.ConvInput
	bf16 tensor.ConvBF16
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

// newFlats returns the convolutions of 1 sample, 2 and so on, as many as one is called with.
func newFlats(b *boundConv, e *Env) []flatConv {
	flats := make([]flatConv, min(b.flatGroup(), e.Samples))
	for i := range flats {
		f := &flats[i]
		f.t, _ = b.t.Flat(i + 1)
		f.back = f.t.Input()
		if b.l.bf16 {
			f.bf16 = f.t.BF16()
		}
	}
	return flats
}

// flat returns the convolution of as many of the samples [i, hi) as lie in memory pixel
// after pixel, in x of the input's size and y of the output's, and their number; nil and 1
// where one product takes a row.
func (s *convState) flat(x, y Act, i, hi int) (*flatConv, int) {
	for _, n := range [2]int{min(len(s.flats), hi-i), 1} {
		if n > 0 && n <= len(s.flats) && s.b.in.follow(x, i, i+n) && s.b.Out().follow(y, i, i+n) {
			return &s.flats[n-1], n
		}
	}
	return nil, 1
}
