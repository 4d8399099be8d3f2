package tensor

import "github.com/fedfast/fedfast/kernels"

// Conv is a two-dimensional convolution (cross-correlation, as in all deep
// learning frameworks) of one NHWC image with packed weights. Row
// (kh*KW + kw)*C + c of the weights belongs to kernel row kh, column kw and input
// channel c.
//
// Nothing is copied: KW*C consecutive floats of an image row are a window's row,
// the next window starts Stride*C floats further, and one matrix product over the
// kernel's rows gives a row of outputs. Rows above and below the image are
// skipped; columns left and right of it must be zeros in memory, see Border.
type Conv struct {
	H, W, C     int // input; C counts the floats of a pixel in memory
	OH, OW, N   int // output; N is the number of filters, a multiple of 16
	KH, KW      int
	Stride      int
	Top, Left   int // zero rows and columns before the image
	RightBorder int // zero columns that must follow the image in memory

	outPixel int  // floats from one output pixel to the next; 0 means N
	in, out  int  // floats of an input and output pixel that are not always zero; 0 means C and N
	bf16     bool // channels are pairs of bf16
	blocks   bool // sums of these are in blocks
	edges    *kernels.Edges
}

// NewConv fills in the output size for valid or same padding. Same padding, as
// TensorFlow has it, makes OH = ceil(H/Stride) and puts the odd row or column of
// padding at the end; for odd kernels at stride 1 that is PyTorch's
// padding = (kernel-1)/2.
func NewConv(h, w, c, n, kh, kw, stride int, same bool) Conv {
	v := NewPaddedConv(h, w, c, n, kh, kw, stride, 0, 0)
	if !same {
		return v
	}
	v.OH, v.OW = (h+stride-1)/stride, (w+stride-1)/stride
	v.Top, v.Left = max((v.OH-1)*stride+kh-h, 0)/2, max((v.OW-1)*stride+kw-w, 0)/2
	v.RightBorder = max((v.OW-1)*stride+kw-v.Left-w, 0)
	return v.withEdges()
}

// NewPaddedConv fills in the output size for rows of zeros above and below and columns
// of zeros left and right of the image, as PyTorch has it. They must be less than kh and kw.
func NewPaddedConv(h, w, c, n, kh, kw, stride, rows, columns int) Conv {
	v := Conv{H: h, W: w, C: c, N: n, KH: kh, KW: kw, Stride: stride, Top: rows, Left: columns}
	v.OH, v.OW = (h+2*rows-kh)/stride+1, (w+2*columns-kw)/stride+1
	v.RightBorder = max((v.OW-1)*stride+kw-v.Left-w, 0)
	return v.withEdges()
}

// Of returns v knowing that in pixels of the input only the first in floats, and in pixels
// of the output the first out filters, are not zero, nor are weights elsewhere.
func (v Conv) Of(in, out int) Conv {
	v.in, v.out = in, out
	return v
}

// terms returns the length of the sum over a row of the kernel, without the zeros after a
// pixel where that is all of it.
func (v Conv) terms() int {
	if v.in > 0 && v.KH*v.KW == 1 && v.edges == nil {
		return v.in
	}
	return v.KW * v.C
}

// withEdges returns v knowing which products the columns left and right of the image
// have part in.
func (v Conv) withEdges() Conv {
	v.edges = nil
	if before := max(v.Left, 0); v.Stride == 1 && before+v.RightBorder > 0 {
		v.edges = kernels.NewEdges(v.C, v.KW, before, v.RightBorder)
	}
	return v
}

// Flat returns v for n images whose pixels all follow one another in memory, as one
// image of a single row, and whether v is a convolution by 1x1 without stride or
// borders, for which that gives the same sums.
func (v Conv) Flat(n int) (Conv, bool) {
	if v.KH*v.KW*v.Stride > 1 || v.OH != v.H || v.OW != v.W || v.outPixel > 0 {
		return v, false
	}
	pixels := n * v.H * v.W
	v.H, v.OH, v.W, v.OW = 1, 1, pixels, pixels
	return v, true
}

// Rows returns the rows of the weight matrix.
func (v Conv) Rows() int { return v.KH * v.KW * v.C }

// window returns the kernel rows [lo, hi) that meet the image for output row y.
func (v Conv) window(y int) (lo, hi int) {
	top := y*v.Stride - v.Top
	return max(0, -top), min(v.KH, v.H-top)
}

// Forward computes y = x * w + bias, followed by a ReLU if relu. x starts at the
// left border of the image's first row and has xRow floats from row to row; y
// starts at the first pixel and has yRow. bias may be nil.
func (v Conv) Forward(y []float32, yRow int, x []float32, xRow int, w, bias []float32, relu bool) {
	v.ForwardRows(y, yRow, 0, v.OH, x, xRow, w, bias, relu)
}

// ForwardRows is Forward for the rows [from, to) of the output; y starts at the
// first of them.
func (v Conv) ForwardRows(y []float32, yRow, from, to int, x []float32, xRow int, w, bias []float32, relu bool) {
	g := kernels.NN{
		M: v.OW, N: v.N, K: v.terms(), Cols: v.out, Lda: v.Stride * v.C, SegStride: xRow,
		BRows: v.Rows(), Bias: bias, Ldc: v.outStep(), ReLU: relu, BF16: v.bf16, Blocks: v.blocks, Edges: v.edges,
	}
	for r := from; r < to; r++ {
		lo, hi := v.window(r)
		g.C = y[(r-from)*yRow:]
		if lo >= hi { // dX of rows that no window covered
			v.clearRow(g.C)
			continue
		}
		g.Segs = hi - lo
		g.A = x[(r*v.Stride-v.Top+lo)*xRow:]
		g.B = w[lo*v.KW*v.C*kernels.Width:]
		g.BRows = v.Rows()
		kernels.GemmNN(&g)
	}
}

func (v Conv) outStep() int {
	if v.outPixel > 0 {
		return v.outPixel
	}
	return v.N
}

// clearRow sets a row of outputs to zero.
func (v Conv) clearRow(y []float32) {
	for x := range v.OW {
		clear(y[x*v.outStep():][:v.N])
	}
}

// BackwardWeights computes the gradient gw of the weights from the input x and
// the gradient dy of the output, both placed as in Forward, or it adds to it if accumulate.
func (v Conv) BackwardWeights(gw, x []float32, xRow int, dy []float32, dyRow int, accumulate bool) {
	v.weights(&kernels.TN{M: v.OW, Lda: v.Stride * v.C, GSeg: dyRow, Accumulate: accumulate}, gw, x, xRow, dy)
}

// weights computes the gradient of the weights by a product for each row of the
// kernel, of which t describes how it goes through a row of outputs.
func (v Conv) weights(t *kernels.TN, gw, x []float32, xRow int, dy []float32) {
	k, m := v.terms(), t.M
	t.K, t.N, t.Cols, t.ASeg, t.Ldg, t.CRows = k, v.N, v.out, v.Stride*xRow, v.N, v.Rows()
	if !t.Accumulate && k < v.Rows() {
		for p := range v.N / kernels.Width {
			clear(gw[(p*v.Rows()+k)*kernels.Width : (p+1)*v.Rows()*kernels.Width])
		}
	}
	for kh := range v.KH {
		lo := (max(0, v.Top-kh) + v.Stride - 1) / v.Stride
		hi := min(v.OH, (v.H-1+v.Top-kh+v.Stride)/v.Stride)
		t.C = gw[kh*v.KW*v.C*kernels.Width:]
		if t.M, t.Segs = m, hi-lo; lo >= hi {
			t.M, t.Segs = 0, 1
		} else {
			t.A, t.G = x[(lo*v.Stride-v.Top+kh)*xRow:], dy[lo*t.GSeg:]
		}
		kernels.GemmTN(t)
	}
}

// BackwardBias computes the gradient gb of the bias, unless that is nil, or adds to
// it if accumulate.
func (v Conv) BackwardBias(gb, dy []float32, dyRow int, accumulate bool) {
	if gb == nil {
		return
	}
	if !accumulate {
		clear(gb[:v.N])
	}
	for r := range v.OH {
		kernels.ColSum(gb, dy[r*dyRow:], v.OW, v.N, v.N)
	}
}
