package tensor

import "github.com/fedfast/fedfast/kernels"

// Depthwise is a two-dimensional convolution of one NHWC image in which every channel
// has a kernel of its own and reads itself only. The weight of row kh and column kw of
// all channels starts at (kh*K + kw)*C.
//
// As in Conv, rows above and below the image are skipped, and columns left and right
// of it must be zeros in memory: Left and RightBorder of the input, BackLeft and
// BackRight of the gradient of the output.
type Depthwise struct {
	H, W, C             int // input; C is a multiple of 16
	OH, OW              int // output
	K, Stride, Dilation int
	Top, Left           int // zero rows and columns before the image
	RightBorder         int
	BackLeft, BackRight int
	Used                int // channels that are not zero, nor their weights; 0 means C

	zero []float32 // C values
	taps []kernels.ChannelTap
}

// NewDepthwise fills in the output size for pad zero rows and columns on each side,
// or, if same, for those that make it ceil(size/stride), the odd one at the end. The
// result belongs to one goroutine at a time.
func NewDepthwise(h, w, c, k, stride, dilation, pad int, same bool) Depthwise {
	v := Depthwise{H: h, W: w, C: c, K: k, Stride: stride, Dilation: dilation, Top: pad, Left: pad}
	wide := (k-1)*dilation + 1
	if same {
		v.OH, v.OW = (h+stride-1)/stride, (w+stride-1)/stride
		v.Top = max((v.OH-1)*stride+wide-h, 0) / 2
		v.Left = max((v.OW-1)*stride+wide-w, 0) / 2
	} else {
		v.OH, v.OW = (h+2*pad-wide)/stride+1, (w+2*pad-wide)/stride+1
	}
	v.RightBorder = max((v.OW-1)*stride+wide-v.Left-w, 0)
	v.BackLeft = max((wide-1-v.Left+stride-1)/stride, 0)
	v.BackRight = max((w-1+v.Left)/stride-(v.OW-1), 0)
	return v
}

// WithSpace returns v with the memory that its passes need.
func (v Depthwise) WithSpace(a *Arena) Depthwise {
	v.zero, v.taps = a.Alloc(v.C), make([]kernels.ChannelTap, 0, v.K*v.K)
	return v
}

// Forward computes y = x * w + bias; bias may be nil. x starts at the left border of
// the image's first row and has xRow floats from row to row; y starts at the first
// pixel and has yRow.
func (v *Depthwise) Forward(y []float32, yRow int, x []float32, xRow int, w, bias []float32) {
	if bias == nil {
		bias = v.zero
	}
	// Without a stride, pixels that read the same columns go through together.
	c, phases := kernels.Channels{C: v.C, Used: v.Used, XRow: v.Stride * xRow, XStep: v.Stride * v.C, W: w, Bias: bias, YRow: yRow, YStep: v.C}, 1
	if v.Stride == 1 {
		c.Run, phases = v.K, v.Dilation
		c.XStep, c.YStep = v.Dilation*v.C, v.Dilation*v.C
	}
	for r := 0; r < v.OH; r += c.Rows {
		first := v.outputTaps(r, xRow)
		c.Rows = 1
		if top := r*v.Stride - v.Top; top >= 0 { // rows that meet all of the kernel have the same taps
			c.Rows = max(1, min(v.OH-r, (v.H-(v.K-1)*v.Dilation-1-top)/v.Stride+1))
		}
		c.Taps = v.taps
		for phase := range min(phases, v.OW) {
			c.Pixels, c.Y = (v.OW-phase+phases-1)/phases, y[r*yRow+phase*v.C:]
			if first >= 0 {
				c.X = x[first*xRow+phase*v.C:]
			}
			kernels.ForwardChannels(&c)
		}
	}
}

// outputTaps lists the weights that row r of the output meets and returns the first row of
// the input that it reads, -1 without any.
func (v *Depthwise) outputTaps(r, xRow int) int {
	v.taps = v.taps[:0]
	first := -1
	for kh := range v.K {
		at := r*v.Stride - v.Top + kh*v.Dilation
		if at < 0 || at >= v.H {
			continue
		}
		if first < 0 {
			first = at
		}
		for kw := range v.K {
			v.taps = append(v.taps, kernels.ChannelTap{X: (at-first)*xRow + kw*v.Dilation*v.C, W: (kh*v.K + kw) * v.C})
		}
	}
	return first
}

// ForwardAcross is Forward for n images, xImage and yImage floats apart, and
// takes each pixel of all images at once. x starts at the first pixel and needs no border.
// It is faster where a row has few pixels.
func (v *Depthwise) ForwardAcross(y []float32, yRow, yImage int, x []float32, xRow, xImage, n int, w, bias []float32) {
	if bias == nil {
		bias = v.zero
	}
	c := kernels.Channels{Rows: 1, Pixels: n, C: v.C, XStep: xImage, X: x, W: w, Bias: bias, YStep: yImage}
	for r := range v.OH {
		for col := range v.OW {
			v.taps = v.taps[:0]
			for kh := range v.K {
				at := r*v.Stride - v.Top + kh*v.Dilation
				if at < 0 || at >= v.H {
					continue
				}
				for kw := range v.K {
					if to := col*v.Stride - v.Left + kw*v.Dilation; to >= 0 && to < v.W {
						v.taps = append(v.taps, kernels.ChannelTap{X: at*xRow + to*v.C, W: (kh*v.K + kw) * v.C})
					}
				}
			}
			c.Taps, c.Y = v.taps, y[r*yRow+col*v.C:]
			kernels.ForwardChannels(&c)
		}
	}
}

// BackwardInputAcross is BackwardInput for n images, dxImage and dyImage floats apart, each
// pixel of all images at once. dy starts at the first pixel and needs no border.
func (v *Depthwise) BackwardInputAcross(dx []float32, dxRow, dxImage int, dy []float32, dyRow, dyImage, n int, w []float32) {
	c := kernels.Channels{Rows: 1, Pixels: n, C: v.C, XStep: dyImage, X: dy, W: w, Bias: v.zero, YStep: dxImage}
	for r := range v.H {
		for col := range v.W {
			v.taps = v.taps[:0]
			for kh := v.K - 1; kh >= 0; kh-- {
				at := r + v.Top - kh*v.Dilation
				if at < 0 || at%v.Stride != 0 || at/v.Stride >= v.OH {
					continue
				}
				for kw := v.K - 1; kw >= 0; kw-- {
					to := col + v.Left - kw*v.Dilation
					if to >= 0 && to%v.Stride == 0 && to/v.Stride < v.OW {
						v.taps = append(v.taps, kernels.ChannelTap{X: at/v.Stride*dyRow + to/v.Stride*v.C, W: (kh*v.K + kw) * v.C})
					}
				}
			}
			c.Taps, c.Y = v.taps, dx[r*dxRow+col*v.C:]
			kernels.ForwardChannels(&c)
		}
	}
}

// BackwardInput computes the gradient dx of the input from dy, that of the output,
// which starts at its left border.
func (v *Depthwise) BackwardInput(dx []float32, dxRow int, dy []float32, dyRow int, w []float32) {
	c, phases := kernels.Channels{C: v.C, Used: v.Used, XRow: dyRow, XStep: v.C, W: w, Bias: v.zero, YRow: v.Stride * dxRow, YStep: v.Stride * v.C}, v.Stride
	if v.Stride == 1 {
		c.Run, phases = v.K, v.Dilation
		c.XStep, c.YStep = v.Dilation*v.C, v.Dilation*v.C
	}
	whole := (v.K-1)*v.Dilation - v.Top // from this row on rows meet all of the kernel
	for start := range min(v.Stride, v.H) {
		for r := start; r < v.H; r += c.Rows * v.Stride {
			c.Rows = 1
			if r >= whole { // such rows, Stride apart, have the same taps
				c.Rows = max(1, min((v.H-r-1)/v.Stride+1, ((v.OH-1)*v.Stride-v.Top-r)/v.Stride+1))
			}
			first := 0
			for phase := range min(phases, v.W) {
				at := phase * v.C // with one list of taps for all phases
				if v.Stride > 1 || phase == 0 {
					first, at = v.inputTaps(r, phase, dyRow), 0
				}
				c.Pixels, c.Taps, c.Y = (v.W-phase+phases-1)/phases, v.taps, dx[r*dxRow+phase*v.C:]
				if first >= 0 {
					c.X = dy[first*dyRow+at:]
				}
				kernels.ForwardChannels(&c)
			}
		}
	}
}

// inputTaps lists the weights that row r of the input and its columns phase, phase +
// Stride and so on met, in the order of the outputs, and returns the first row of
// these, -1 without any.
func (v *Depthwise) inputTaps(r, phase, dyRow int) int {
	v.taps = v.taps[:0]
	first := -1
	for kh := v.K - 1; kh >= 0; kh-- {
		row, met := v.strides(r + v.Top - kh*v.Dilation)
		if !met || row < 0 || row >= v.OH {
			continue
		}
		if first < 0 {
			first = row
		}
		for kw := v.K - 1; kw >= 0; kw-- {
			if col, met := v.strides(phase + v.Left - kw*v.Dilation); met {
				v.taps = append(v.taps, kernels.ChannelTap{X: (row-first)*dyRow + (col+v.BackLeft)*v.C, W: (kh*v.K + kw) * v.C})
			}
		}
	}
	if len(v.taps) == 0 {
		return -1
	}
	return first
}

// strides returns how many strides n is, and whether it is a multiple of one.
func (v *Depthwise) strides(n int) (int, bool) {
	if v.Stride == 1 {
		return n, true // without a division, which takes long
	}
	return n / v.Stride, n%v.Stride == 0
}

// BackwardWeights computes the gradient gw of the weights from n images, xImage and dyImage
// floats apart, one after the other, or adds to it if accumulate. x is placed as in Forward,
// and dy starts at its first pixel.
func (v *Depthwise) BackwardWeights(gw, x []float32, xRow, xImage int, dy []float32, dyRow, dyImage, n int, accumulate bool) {
	if !accumulate {
		clear(gw[:v.K*v.K*v.C])
	}
	first, last := v.meet(v.OW, v.W, v.Left)
	for kh := range v.K {
		lo := max(0, (v.Top-kh*v.Dilation+v.Stride-1)/v.Stride)
		hi := min(v.OH, (v.H-1+v.Top-kh*v.Dilation+v.Stride)/v.Stride)
		if lo >= hi {
			continue
		}
		kernels.BackwardChannels(&kernels.ChannelsGrad{
			Images: n, XImage: xImage, YImage: dyImage, Rows: hi - lo, Pixels: v.OW, C: v.C, Used: v.Used, Taps: last - first,
			X: x[(lo*v.Stride-v.Top+kh*v.Dilation)*xRow+first*v.Dilation*v.C:], XRow: v.Stride * xRow, XStep: v.Stride * v.C,
			XTap: v.Dilation * v.C, DY: dy[lo*dyRow:], YRow: dyRow, YStep: v.C, G: gw[(kh*v.K+first)*v.C:], WTap: v.C,
		})
	}
}

// meet returns the columns of the kernel [first, last) that meet the image in any of the
// out places along it, size pixels with before zeros.
func (v *Depthwise) meet(out, size, before int) (first, last int) {
	last = v.K
	for first < last-1 && (out-1)*v.Stride+first*v.Dilation < before {
		first++
	}
	for last > first+1 && (last-1)*v.Dilation >= before+size {
		last--
	}
	return first, last
}

// BackwardBias computes the gradient gb of the bias, unless that is nil, or adds to
// it if accumulate.
func (v *Depthwise) BackwardBias(gb, dy []float32, dyRow int, accumulate bool) {
	if gb == nil {
		return
	}
	if !accumulate {
		clear(gb[:v.C])
	}
	for r := range v.OH {
		kernels.ColSum(gb, dy[r*dyRow:], v.OW, v.C, v.C)
	}
}
