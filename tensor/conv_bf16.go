package tensor

import "github.com/fedfast/fedfast/kernels"

// ConvBF16 is a convolution and the gradients of its input and weights with the
// factors of all products rounded to bf16. Sums run over pairs of channels; with an
// odd number of them, in an image of one or three, the forward pass pairs the rows
// of the kernel. The gradient of the weights pairs neighbouring outputs of a row.
// Last ones without a neighbour are paired with zeros.
type ConvBF16 struct {
	v    Conv
	half Conv // on pairs of channels
	back ConvInput
	tall bool // rows of the kernel are paired
}

// BF16 returns v with products of bf16, with sums in blocks if told so.
func (v Conv) BF16(blocks bool) ConvBF16 {
	c := ConvBF16{v: v, half: v, back: v.Input().pairs(blocks), tall: v.C%2 > 0}
	c.half.C, c.half.in, c.half.bf16, c.half.blocks = v.C/2, (v.in+1)/2, true, blocks
	c.half = c.half.withEdges()
	return c
}

// pairs returns the convolutions of pairs of channels.
func (c ConvInput) pairs(blocks bool) ConvInput {
	phases := c.phases
	c.phases = nil
	for _, p := range phases {
		p.C, p.in, p.weights, p.bf16, p.blocks = p.C/2, (p.in+1)/2, p.weights/2, true, blocks
		p.Conv = p.withEdges()
		c.phases = append(c.phases, p)
	}
	return c
}

// WeightSize returns the floats of the rounded weights that Load makes.
func (c ConvBF16) WeightSize() int {
	return PairedRows(c.v.KH) * c.v.KW * c.v.C * c.v.N // at most
}

// FlippedSize returns the floats of the rounded weights that Flip makes.
func (c ConvBF16) FlippedSize() int { return c.back.size / 2 }

// row and gradientRow return the floats of a row of an image and of a gradient, with
// the zeros that must stand around them, as they are rounded.
func (c ConvBF16) row() int         { return (c.v.Left + c.v.W + c.v.RightBorder) * c.v.C }
func (c ConvBF16) gradientRow() int { return (c.back.Left + c.v.OW + c.back.Right) * c.v.N }

// outputs returns the floats of a row of pairs of outputs.
func (c ConvBF16) outputs() int { return PairedRows(c.v.OW) * c.v.N }

// Space returns the floats of scratch memory that the methods need.
func (c ConvBF16) Space() int {
	return max((c.v.H+3)*c.row(), c.v.H*c.row()+line+c.v.OH*c.outputs(), c.v.OH*c.gradientRow()/2)
}

// roundRows makes pairs of neighbours in rows, an even number of floats each.
func roundRows(dst, src []float32, rows, n, ld int) {
	if ld == n {
		kernels.RoundPairs(dst, src[:rows*n])
		return
	}
	for i := range rows {
		kernels.RoundPairs(dst[i*n/2:], src[i*ld:][:n])
	}
}

// Load rounds the weights w for Forward.
func (c ConvBF16) Load(pairs, w []float32) {
	v := c.v
	if !c.tall {
		PairWeights(pairs, w, v.Rows(), v.N)
		return
	}
	n, rows := v.KW*v.C*kernels.Width, PairedRows(v.KH)
	for i := range v.N / kernels.Width {
		p := kernels.PairRows{Rows: rows, N: n, Src: w[i*v.KH*n:], Step: 2 * n, Other: n, Single: v.KH%2 > 0, Dst: pairs[i*rows*n:], Ld: n}
		p.Run()
	}
}

// Image rounds an image, which is placed as in Conv.Forward, for ForwardRows.
func (c ConvBF16) Image(x []float32, xRow int, scratch []float32) {
	n, h := c.row(), c.v.H
	if !c.tall {
		roundRows(scratch, x, h, n, xRow)
		return
	}
	above := scratch[(h+1)*n:]
	clear(above[:n])
	copy(above[n:2*n], x)
	p := kernels.PairRows{Rows: 1, N: n, Src: above, Other: n, Dst: scratch}
	p.Run()
	p = kernels.PairRows{Rows: h, N: n, Src: x, Step: xRow, Other: xRow, Single: true, Dst: scratch[n:], Ld: n}
	p.Run()
}

// ForwardRows is Conv.ForwardRows for the image of Image, with the weights of Load.
func (c ConvBF16) ForwardRows(y []float32, yRow, from, to int, pairs, bias []float32, relu bool, scratch []float32) {
	v, row := c.v, c.row()
	if !c.tall {
		c.half.ForwardRows(y, yRow, from, to, scratch, row/2, pairs, bias, relu)
		return
	}
	k := v.KW * v.C
	g := kernels.NN{
		M: v.OW, N: v.N, K: k, Cols: v.out, Lda: v.Stride * v.C, SegStride: 2 * row,
		BRows: PairedRows(v.KH) * k, Bias: bias, Ldc: v.outStep(), ReLU: relu, Edges: v.edges,
		BF16: true, Blocks: c.half.blocks,
	}
	for r := from; r < to; r++ {
		top := r*v.Stride - v.Top // row -1 of the image, of zeros, is paired with row 0
		lo, hi := max(0, -top)/2, min(PairedRows(v.KH), (v.H+1-top)/2)
		g.C, g.Segs = y[(r-from)*yRow:], hi-lo
		g.A, g.B = scratch[(top+2*lo+1)*row:], pairs[lo*k*kernels.Width:]
		kernels.GemmNN(&g)
	}
}

// BackwardWeights is Conv.BackwardWeights without the bias.
func (c ConvBF16) BackwardWeights(gw, x []float32, xRow int, dy []float32, dyRow int, accumulate bool, scratch []float32) {
	v, n, m := c.v, c.row(), PairedRows(c.v.OW)
	in, out := scratch[:v.H*n], scratch[(v.H*n+line-1)/line*line:]
	c.neighbours(in, x, xRow)
	for r := range v.OH {
		PairSamples(out[r*c.outputs():], dy[r*dyRow:], v.N, v.OW, v.N)
	}
	t := kernels.TN{M: m, Lda: 2 * v.Stride * v.C, GSeg: c.outputs(), Accumulate: accumulate}
	t.BF16, t.Blocks = true, c.half.blocks
	v.weights(&t, gw, in, n, out)
}

// neighbours pairs every number of an image with that of the same place in the next
// window. What is beyond the last window meets zeros in the products.
func (c ConvBF16) neighbours(dst, x []float32, xRow int) {
	v, n, next := c.v, c.row(), c.v.Stride*c.v.C
	both := n - next
	if v.OW == 1 {
		both = 0
	} else {
		p := kernels.PairRows{Rows: v.H - 1, N: n, Src: x, Step: xRow, Other: next, Dst: dst, Ld: n}
		p.Run()
	}
	for r := range v.H {
		if both > 0 && r < v.H-1 {
			continue
		}
		p := kernels.PairRows{Rows: 1, N: both, Src: x[r*xRow:], Other: next, Dst: dst[r*n:]}
		p.Run()
		p = kernels.PairRows{Rows: 1, N: n - both, Src: x[r*xRow+both:], Single: true, Dst: dst[r*n+both:]}
		p.Run()
	}
}

// Flip rounds the turned weights that ConvInput.Flip makes.
func (c ConvBF16) Flip(pairs, flipped []float32) {
	for _, p := range c.back.phases {
		PairWeights(pairs[p.weights:], flipped[2*p.weights:], 2*p.Rows(), p.N)
	}
}

// BackwardInput is ConvInput.Forward with the weights of Flip.
func (c ConvBF16) BackwardInput(dx []float32, dxRow int, dy []float32, dyRow int, pairs, scratch []float32) {
	roundRows(scratch, dy, c.v.OH, c.gradientRow(), dyRow)
	c.back.Forward(dx, dxRow, scratch, c.gradientRow()/2, pairs)
}
