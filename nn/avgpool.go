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
	Stride int // 0 means Size
	// Pad is the number of rows and columns by which windows may reach over each edge,
	// at most half of Size. The mean is that of the pixels in the image: PyTorch's
	// padding with count_include_pad = False.
	Pad int
}

// Kind returns "avgpool".
func (AvgPool) Kind() string { return "avgpool" }

// Abilities returns what the layer can do.
func (l AvgPool) Abilities() Abilities {
	return Abilities{
		Narrow: Follow, Scaling: ScaleBehind,
		Torch: func(t *Torch) {
			t.Image()
			if l.Size == 0 {
				t.Set("F.adaptive_avg_pool2d(%s, 1)", t.X)
				return
			}
			pad := ""
			if l.Pad > 0 {
				pad = fmt.Sprintf(", %d, count_include_pad=False", l.Pad)
			}
			t.Set("F.avg_pool2d(%s, %d, %d%s)", t.X, l.Size, cmp.Or(l.Stride, l.Size), pad)
		},
	}
}

// Bind fixes the layer for its input.
func (l AvgPool) Bind(in Flow) (Bound, error) {
	h, w, stride := l.Size, l.Size, l.Stride
	if l.Size == 0 {
		h, w = in.H, in.W
	}
	if l.Stride == 0 {
		stride = max(h, w)
	}
	switch {
	case in.Seq > 0 || in.Raw:
		return nil, errors.New("an average pool needs the image of a convolution as its input")
	case l.Size < 0 || l.Stride < 0:
		return nil, fmt.Errorf("size %d, stride %d; neither may be negative", l.Size, l.Stride)
	case l.Pad < 0 || 2*l.Pad > l.Size:
		return nil, fmt.Errorf("padding %d of windows of size %d; it must be at most half of that", l.Pad, l.Size)
	case h > in.H+2*l.Pad || w > in.W+2*l.Pad:
		return nil, fmt.Errorf("size %d on an image of %d x %d; the image must be as large", l.Size, in.H, in.W)
	}
	b := &boundAvgPool{in: in, rows: avgWindows(in.H, h, stride, l.Pad), cols: avgWindows(in.W, w, stride, l.Pad)}
	b.out = Flow{H: len(b.rows), W: len(b.cols), C: in.C}
	return b, nil
}

// avgWindow is the rows, or columns, of an image that a window holds.
type avgWindow struct{ from, size int }

// avgWindows returns those of all outputs.
func avgWindows(pixels, size, stride, pad int) []avgWindow {
	var all []avgWindow
	for at := -pad; at+size <= pixels+pad; at += stride {
		from := max(at, 0)
		all = append(all, avgWindow{from, min(at+size, pixels) - from})
	}
	return all
}

type boundAvgPool struct {
	in, out    Flow
	rows, cols []avgWindow
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
			for ox, col := range b.cols {
				y := to.At(i, oy, ox)[:ld]
				clear(y)
				for r := range row.size {
					kernels.ColSum(y, x.At(i, row.from+r, col.from), col.size, ld, ld)
				}
				kernels.Scale(y, 1/float32(row.size*col.size))
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
			for ox, col := range b.cols {
				g, part := dy.At(i, oy, ox)[:ld], 1/float32(row.size*col.size)
				for r := range row.size {
					pixels := dx.At(i, row.from+r, col.from)
					for px := range col.size {
						kernels.Axpy(pixels[px*ld:][:ld], part, g)
					}
				}
			}
		}
	}
}
