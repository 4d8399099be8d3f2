package tensor

import "github.com/fedfast/fedfast/kernels"

// ConvInput computes the gradient of a convolution's input. That is again a
// convolution, of the output's gradient with the weights turned by half a turn and
// inputs and outputs exchanged. With a stride, the pixels of the input whose row
// and column leave the same remainders see the same part of the kernel; each such
// phase is a convolution of stride 1 with that part.
type ConvInput struct {
	phases []phase
	conv   Conv
	pixel  int // floats of a pixel of the input's gradient
	size   int // floats of all phases' weights
	// Left and Right are the zero columns that must stand around the output's
	// gradient in memory.
	Left, Right int
}

// phase computes the pixels of the input from row and column on, a stride apart.
type phase struct {
	Conv
	row, col int
	kh, kw   int // the first row and column of the kernel that belong to it
	weights  int // where its weights start
}

// Input returns what computes the gradient of the input of v.
func (v Conv) Input() ConvInput {
	c := ConvInput{conv: v, pixel: kernels.Pad(v.C)}
	for y := range min(v.Stride, v.H) {
		for x := range min(v.Stride, v.W) {
			p := phase{row: y, col: x, weights: c.size}
			p.Conv = Conv{H: v.OH, W: v.OW, C: v.N, N: c.pixel, Stride: 1, in: v.out, out: v.in}
			p.OH, p.KH, p.kh, p.Top = v.along(v.H, v.KH, v.Top, y)
			p.OW, p.KW, p.kw, p.Left = v.along(v.W, v.KW, v.Left, x)
			if p.KH > 0 && p.KW > 0 {
				p.RightBorder = max(p.OW-1+p.KW-p.Left-p.W, 0)
				c.Left, c.Right = max(c.Left, p.Left), max(c.Right, p.RightBorder)
			}
			p.outPixel = v.Stride * c.pixel
			p.Conv = p.withEdges()
			c.size += p.Rows() * p.N
			c.phases = append(c.phases, p)
		}
	}
	return c
}

// along returns, for the pixels of one dimension from at on, a stride apart: how
// many there are in size, how many of the kernel's pixels they see and the first of
// these, and the zeros before the gradient of the output (below 0 means that the
// phase starts after its first pixels).
func (v Conv) along(size, kernel, before, at int) (n, taps, first, zeros int) {
	first = (at + before) % v.Stride
	taps = max(0, (kernel-first+v.Stride-1)/v.Stride)
	return (size - at + v.Stride - 1) / v.Stride, taps, first, taps - 1 - (at+before)/v.Stride
}

// Size returns the floats of the weights that Flip makes.
func (c ConvInput) Size() int { return c.size }

// Flip turns the weights w of the convolution into those that Forward takes.
func (c ConvInput) Flip(flipped, w []float32) {
	v := c.conv
	for _, p := range c.phases {
		for i := range p.KH {
			for j := range p.KW {
				from := (p.kh+i*v.Stride)*v.KW + p.kw + j*v.Stride
				to := (p.KH-1-i)*p.KW + p.KW - 1 - j
				kernels.PackT(flipped[p.weights+to*v.N*kernels.Width:], p.Rows(), w[from*v.C*kernels.Width:], v.Rows(), v.C, v.N)
			}
		}
	}
}

// Forward computes the gradient dx of the input from that of the output, dy. dx
// starts at the first pixel, dy Left columns before; rows are dxRow and dyRow
// floats apart.
func (c ConvInput) Forward(dx []float32, dxRow int, dy []float32, dyRow int, flipped []float32) {
	for i := range c.phases {
		c.ForwardPhase(i, dx, dxRow, dy, dyRow, flipped)
	}
}

// Phases returns how many parts of the input have weights of their own.
func (c ConvInput) Phases() int { return len(c.phases) }

// ForwardPhase is Forward for one of them.
func (c ConvInput) ForwardPhase(i int, dx []float32, dxRow int, dy []float32, dyRow int, flipped []float32) {
	p := &c.phases[i]
	out, row := dx[p.row*dxRow+p.col*c.pixel:], c.conv.Stride*dxRow
	if p.Rows() == 0 {
		for y := range p.OH {
			p.clearRow(out[y*row:])
		}
		return
	}
	p.Forward(out, row, dy[(c.Left-p.Left)*p.C:], dyRow, flipped[p.weights:], nil, false)
}
