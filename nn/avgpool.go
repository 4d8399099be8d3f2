package nn

import (
	"cmp"
	"errors"
	"fmt"

	"github.com/fedfast/fedfast/kernels"
)

// AvgPool takes the mean over windows of Size x Size pixels.
type AvgPool struct {
	Size   int // 0 means the whole image
	SizeW  int // columns of the windows, 0 means Size
	Stride int // 0 means the larger side of a window
	// Pad is the number of rows and columns by which windows may reach over each edge,
	// at most half of the window, and none along a side on which that is 1. The mean is
	// that of the pixels in the image, PyTorch's padding with count_include_pad = False;
	// with CountPad zeros of padding count, too.
	Pad      int
	CountPad bool
	// Ceil, OutH and OutW are those of MaxPool.
	Ceil       bool
	OutH, OutW int
}

// Kind returns "avgpool".
func (AvgPool) Kind() string { return "avgpool" }

// Abilities returns what the layer can do.
func (l AvgPool) Abilities() Abilities {
	return Abilities{
		Narrow: Follow, Scaling: ScaleBehind,
		Torch: func(t *Torch) {
			t.Image()
			switch {
			case l.OutH > 0:
				t.Set("F.adaptive_avg_pool2d(%s, (%d, %d))", t.X, l.OutH, l.OutW)
				return
			case l.Size == 0:
				t.Set("F.adaptive_avg_pool2d(%s, 1)", t.X)
				return
			}
			columns := cmp.Or(l.SizeW, l.Size)
			pad := torchPadding(padded(l.Size, l.Pad), padded(columns, l.Pad)) + torchCeil(l.Ceil)
			if l.Pad > 0 && !l.CountPad {
				pad += ", count_include_pad=False"
			}
			t.Set("F.avg_pool2d(%s, %s, %d%s)", t.X, torchSides(l.Size, columns), cmp.Or(l.Stride, max(l.Size, columns)), pad)
		},
	}
}

// Bind fixes the layer for its input.
func (l AvgPool) Bind(in Flow) (Bound, error) {
	h, w := l.Size, cmp.Or(l.SizeW, l.Size)
	if l.Size == 0 {
		h, w = in.H, in.W
	}
	stride, top, left := cmp.Or(l.Stride, max(h, w)), padded(h, l.Pad), padded(w, l.Pad)
	b := &boundAvgPool{in: in, count: l.CountPad}
	switch {
	case in.Seq > 0 || in.Raw:
		return nil, errors.New("an average pool needs the image of a convolution as its input")
	case l.OutH > 0 && l.OutW > 0 && l == AvgPool{OutH: l.OutH, OutW: l.OutW}:
		b.rows, b.cols = adaptive(in.H, l.OutH), adaptive(in.W, l.OutW)
	case l.OutH != 0 || l.OutW != 0:
		return nil, fmt.Errorf("an output of %d x %d; both must be at least 1, and no size, stride or padding be given", l.OutH, l.OutW)
	case l.Size < 0 || l.SizeW < 0 || l.Stride < 0 || l.Size == 0 && l.SizeW > 0:
		return nil, fmt.Errorf("size %s, stride %d; neither may be negative", sides(l.Size, w), l.Stride)
	case l.Pad < 0 || 2*top > h || 2*left > w || l.Size == 0 && l.Pad > 0:
		return nil, fmt.Errorf("padding %d of windows of size %s; it must be at most half of that", l.Pad, sides(h, w))
	case h > in.H+2*top || w > in.W+2*left:
		return nil, fmt.Errorf("size %s on an image of %d x %d; the image must be as large", sides(h, w), in.H, in.W)
	default:
		b.rows, b.cols = strided(in.H, h, stride, top, l.Ceil), strided(in.W, w, stride, left, l.Ceil)
	}
	b.out = Flow{H: len(b.rows), W: len(b.cols), C: in.C}
	return b, nil
}

type boundAvgPool struct {
	in, out    Flow
	rows, cols []pixels
	count      bool // padding, too
}

// part returns the share of each pixel in the mean of a window.
func (b *boundAvgPool) part(row, col pixels) float32 {
	if b.count {
		return 1 / float32(row.padded*col.padded)
	}
	return 1 / float32(row.size*col.size)
}

// runs returns the windows of a row of the output, those of one size and distance together.
func (b *boundAvgPool) runs() (all []avgRun) {
	for x, col := range b.cols {
		if last := len(all) - 1; last >= 0 {
			r := &all[last]
			apart := col.from - b.cols[x-1].from
			if r.col.size == col.size && r.col.padded == col.padded && apart > 0 && (r.n == 1 || apart == r.apart) {
				r.n, r.apart = r.n+1, apart
				continue
			}
		}
		all = append(all, avgRun{at: x, n: 1, apart: 1, col: col})
	}
	return all
}

// avgRun is n windows from column at of the output on, apart pixels from one another, the first
// over the columns col.
type avgRun struct {
	at, n, apart int
	col          pixels
}

func (b *boundAvgPool) Out() Flow { return b.out }

func (b *boundAvgPool) Params() []Param { return nil }

func (b *boundAvgPool) Traits() Traits { return Traits{PerSample: true, Tangents: true} }

// FLOPs returns 0: the one operation for each value is not counted.
func (b *boundAvgPool) FLOPs() int64 { return 0 }

func (b *boundAvgPool) NewState(e *Env) State {
	s := &avgPoolState{b: b, y: e.Output(), runs: b.runs()}
	if e.NeedDX {
		e.nearGradient(&s.dx)
	}
	return s
}

type avgPoolState struct {
	b     *boundAvgPool
	y, dx Act
	runs  []avgRun
	pool  kernels.Pool // at work
}

func (s *avgPoolState) Forward(r *Run, x Act, lo, hi int) Act {
	s.means(s.y, x, lo, hi)
	if r.V != nil {
		s.means(s.y.Tangent(), x.Tangent(), lo, hi)
	}
	return s.y
}

// fewPixels are the most of a window by itself that goes through kernels.MeanPool, whose
// loops have a chain of sums for each window and 16 channels.
const fewPixels = 16

// means takes those of each window of x.
func (s *avgPoolState) means(to, x Act, lo, hi int) {
	ld := s.b.in.Ld()
	for i := lo; i < hi; i++ {
		s.each(x, to, i, kernels.MeanPool, func(y int, row pixels, r avgRun) {
			mean := to.At(i, y, r.at)[:ld]
			clear(mean)
			for k := range row.size {
				kernels.ColSum(mean, x.At(i, row.from+k, r.col.from), r.col.size, ld, ld)
			}
			kernels.Scale(mean, s.b.part(row, r.col))
		})
	}
}

// each calls few or many for the windows of image i, row after row; big is the input.
func (s *avgPoolState) each(big, small Act, i int, few func(p *kernels.Pool, part float32), many func(y int, row pixels, r avgRun)) {
	b, p := s.b, &s.pool
	*p = kernels.Pool{OH: 1, C: b.in.Ld(), SrcW: big.Row / big.Pixel}
	for y, row := range b.rows {
		for _, r := range s.runs {
			if r.n == 1 && row.size*r.col.size > fewPixels {
				many(y, row, r)
				continue
			}
			p.KH, p.KW, p.OW, p.Stride = row.size, r.col.size, r.n, r.apart
			p.Src, p.Dst = big.At(i, row.from, r.col.from), small.At(i, y, r.at)
			few(p, b.part(row, r.col))
		}
	}
}

func (s *avgPoolState) Backward(r *Run, dy Act, lo, hi int) Act {
	if s.dx.Data == nil {
		return Act{}
	}
	s.spread(s.dx, dy, lo, hi)
	if r.V != nil {
		s.spread(s.dx.Tangent(), dy.Tangent(), lo, hi)
	}
	return s.dx
}

// spread gives every pixel its part of the gradients of the windows that hold it.
func (s *avgPoolState) spread(dx, dy Act, lo, hi int) {
	ld := s.b.in.Ld()
	for i := lo; i < hi; i++ {
		clear(dx.At(i, 0, -dx.Border.Left)[:s.b.in.H*dx.Row])
		s.each(dx, dy, i, kernels.MeanPoolBackward, func(y int, row pixels, r avgRun) {
			for k := range row.size {
				to, g := dx.At(i, row.from+k, r.col.from), dy.At(i, y, r.at)[:ld]
				for px := range r.col.size {
					kernels.Axpy(to[px*ld:][:ld], s.b.part(row, r.col), g)
				}
			}
		})
	}
}
