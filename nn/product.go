package nn

import "github.com/fedfast/fedfast/kernels"

// spreads reports whether a flow is a vector for each sample that can be multiplied with all
// pixels of an image of as many channels.
func (f Flow) spreads(over Flow) bool {
	return f.Seq == 0 && over.Seq == 0 && f.H*f.W == 1 && f.C == over.C
}

// product is the join of two inputs of one shape, or of an image and a factor for each of
// its channels, in one workspace.
type product struct {
	whole Flow // the larger one
	space []float32
}

// add computes dst = a*b pixel by pixel, of the flows fd, fa and fb, or adds it once dst is
// begun. Of what has one pixel all others read that, and such a dst is the sum over the pixels.
func (p *product) add(dst, a, b Act, fd, fa, fb Flow, lo, hi int, begun bool) {
	w, part := p.whole, p.space
	for i := w.Rows(lo); i < w.Rows(hi); i++ {
		for y := range fd.H {
			if !begun {
				clear(dst.At(i, y, 0)[:fd.W*w.Ld()])
			}
		}
		for y := range w.H {
			for x := range w.W {
				kernels.Mul(part, a.pixel(i, y, x, fa)[:len(part)], b.pixel(i, y, x, fb)[:len(part)])
				d := dst.pixel(i, y, x, fd)[:len(part)]
				kernels.Add(d, d, part)
			}
		}
	}
}

// pixel returns that of row i at y and x, or the only one.
func (a Act) pixel(i, y, x int, f Flow) []float32 {
	if f.H*f.W == 1 {
		return a.At(i, 0, 0)
	}
	return a.At(i, y, x)
}
