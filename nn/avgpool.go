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
	// at most half of the window, and none along a side on which that is 1. The mean counts
	// the pixels in the image, PyTorch's padding with count_include_pad = False;
	// with CountPad zeros of padding count, too.
	Pad      int
	CountPad bool
	// Ceil, OutH and OutW are as in MaxPool.
	Ceil       bool
	OutH, OutW int
}

// Kind returns "avgpool".
func (AvgPool) Kind() string { return "avgpool" }

// Abilities returns what the layer can do.
func (l AvgPool) Abilities() Abilities {
	return Abilities{
		Narrow: Narrowing.Follow, Homogeneous: true,
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
	b := &boundAvgPool{passive: passive{in}, count: l.CountPad}
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
	passive
	out        Flow
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

// runs returns the windows of a row of the output, or of a column, those of one size and distance together.
func runs(windows []pixels) (all []avgRun) {
	for x, w := range windows {
		if last := len(all) - 1; last >= 0 {
			r := &all[last]
			apart := w.from - windows[x-1].from
			if r.size == w.size && r.padded == w.padded && apart > 0 && (r.n == 1 || apart == r.apart) {
				r.n, r.apart = r.n+1, apart
				continue
			}
		}
		all = append(all, avgRun{at: x, n: 1, apart: 1, pixels: w})
	}
	return all
}

// avgRun is n windows from column, or row, at of the output on, apart pixels from one another, the
// first over the given pixels.
type avgRun struct {
	at, n, apart int
	pixels
}

func (b *boundAvgPool) Out() Flow { return b.out }

func (b *boundAvgPool) Traits() Traits { return Traits{PerSample: true} }

func (b *boundAvgPool) NewState(e *Env) State {
	s := &avgPoolState{b: b, y: e.Output(), runs: runs(b.cols)}
	s.rows, s.single = s.together()
	e.nearGradient(&s.dx)
	return s
}

type avgPoolState struct {
	b     *boundAvgPool
	y, dx Act
	runs  []avgRun // of a row
	// rows are runs of rows that go through a call together, single all rows one by one.
	rows, single []avgRun
	pool         kernels.Pool // at work
}

// fewPixels are the most of a window by itself that goes through kernels.MeanPool, whose
// loops have a chain of sums for each window and 16 channels.
const fewPixels = 16

func (s *avgPoolState) Forward(_ *Run, x Act, lo, hi int) Act {
	to, ld := s.y, s.b.in.Ld()
	for i := lo; i < hi; i++ {
		s.each(x, to, i, s.rows, kernels.MeanPool, func(row, r avgRun) {
			mean := to.At(i, row.at, r.at)[:ld]
			clear(mean)
			for k := range row.size {
				kernels.ColSum(mean, x.At(i, row.from+k, r.from), r.size, ld, ld)
			}
			kernels.Scale(mean, s.b.part(row.pixels, r.pixels))
		})
	}
	return s.y
}

// together returns the runs of rows that go through a call together, and all rows one by one.
func (s *avgPoolState) together() (rows, single []avgRun) {
	for y, row := range s.b.rows {
		single = append(single, avgRun{at: y, n: 1, apart: 1, pixels: row})
	}
	rows = runs(s.b.rows)
	for _, row := range rows {
		for _, r := range s.runs {
			if row.size*r.size > fewPixels || row.n > 1 && r.n > 1 && row.apart != r.apart {
				return single, single
			}
		}
	}
	return rows, single
}

// each calls few or many for the windows of image i in rows; big is the input.
func (s *avgPoolState) each(big, small Act, i int, rows []avgRun, few func(p *kernels.Pool, part float32), many func(row, r avgRun)) {
	b, p := s.b, &s.pool
	*p = kernels.Pool{C: b.in.Ld(), SrcW: big.Row / big.Pixel, DstRow: small.Row}
	for _, row := range rows {
		for _, r := range s.runs {
			if r.n == 1 && row.size*r.size > fewPixels {
				many(row, r)
				continue
			}
			p.KH, p.KW, p.OH, p.OW, p.Stride = row.size, r.size, row.n, r.n, r.apart
			if r.n == 1 {
				p.Stride = row.apart
			}
			p.Src, p.Dst = big.At(i, row.from, r.from), small.At(i, row.at, r.at)
			few(p, b.part(row.pixels, r.pixels))
		}
	}
}

func (s *avgPoolState) Backward(r *Run, dy Act, lo, hi int) Act {
	if s.dx.Data == nil {
		return Act{}
	}
	dx, ld := s.dx, s.b.in.Ld()
	for i := lo; i < hi; i++ {
		clear(dx.At(i, 0, -dx.Border.Left)[:s.b.in.H*dx.Row])
		// Row after row: a pixel gets the parts of its windows in their order.
		s.each(dx, dy, i, s.single, kernels.MeanPoolBackward, func(row, r avgRun) {
			for k := range row.size {
				to, g := dx.At(i, row.from+k, r.from), dy.At(i, row.at, r.at)[:ld]
				for px := range r.size {
					kernels.Axpy(to[px*ld:][:ld], s.b.part(row.pixels, r.pixels), g)
				}
			}
		})
	}
	return dx
}
