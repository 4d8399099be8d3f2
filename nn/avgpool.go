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

// alike returns how many windows from column ox of the output on are of one size, each a pixel
// behind the one before: they go through a call.
func (b *boundAvgPool) alike(ox int) int {
	n, next := 1, b.cols[ox]
	for next.from++; ox+n < len(b.cols) && b.cols[ox+n] == next; n++ {
		next.from++
	}
	return n
}

func (b *boundAvgPool) Out() Flow { return b.out }

func (b *boundAvgPool) Params() []Param { return nil }

func (b *boundAvgPool) Traits() Traits { return Traits{PerSample: true, Tangents: true} }

// FLOPs returns 0: the one operation for each value is not counted.
func (b *boundAvgPool) FLOPs() int64 { return 0 }

func (b *boundAvgPool) NewState(e *Env) State {
	s := &avgPoolState{b: b, y: e.Output()}
	if e.NeedDX {
		s.dx = e.Gradient()
	}
	return s
}

type avgPoolState struct {
	b     *boundAvgPool
	y, dx Act
}

func (s *avgPoolState) Forward(r *Run, x Act, lo, hi int) Act {
	s.means(s.y, x, lo, hi)
	if r.V != nil {
		s.means(s.y.Tangent(), x.Tangent(), lo, hi)
	}
	return s.y
}

// means sums each window of x row by row, pixel by pixel.
func (s *avgPoolState) means(to, x Act, lo, hi int) {
	b, ld := s.b, s.b.in.Ld()
	for i := lo; i < hi; i++ {
		for oy, row := range b.rows {
			for ox, n := 0, 0; ox < len(b.cols); ox += n {
				n = b.alike(ox)
				col, y := b.cols[ox], to.At(i, oy, ox)[:n*ld]
				clear(y)
				for r := range row.size {
					if n == 1 {
						kernels.ColSum(y, x.At(i, row.from+r, col.from), col.size, ld, ld)
						continue
					}
					for px := range col.size {
						kernels.Add(y, y, x.At(i, row.from+r, col.from+px)[:n*ld])
					}
				}
				kernels.Scale(y, b.part(row, col))
			}
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
	b, ld := s.b, s.b.in.Ld()
	for i := lo; i < hi; i++ {
		clear(dx.At(i, 0, -dx.Border.Left)[:b.in.H*dx.Row])
		for oy, row := range b.rows {
			for ox, n := 0, 0; ox < len(b.cols); ox += n {
				n = b.alike(ox)
				col := b.cols[ox]
				g, part := dy.At(i, oy, ox)[:n*ld], b.part(row, col)
				for r := range row.size {
					pixels := dx.At(i, row.from+r, col.from)
					for px := col.size - 1; px >= 0; px-- { // a pixel meets its windows from left to right
						kernels.Axpy(pixels[px*ld:][:n*ld], part, g)
					}
				}
			}
		}
	}
}
