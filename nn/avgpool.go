package nn

import (
	"errors"
	"fmt"

	"github.com/fedfast/fedfast/kernels"
)

// AvgPool takes the mean over windows of Size x Size pixels that lie fully in the
// image.
type AvgPool struct {
	Size   int // 0 means the whole image
	Stride int // 0 means Size
}

// Kind returns "avgpool".
func (AvgPool) Kind() string { return "avgpool" }

// Bind fixes the layer for its input.
func (l AvgPool) Bind(in Flow) (Bound, error) {
	b := &boundAvgPool{in: in, h: l.Size, w: l.Size, stride: l.Stride}
	if l.Size == 0 {
		b.h, b.w = in.H, in.W
	}
	if l.Stride == 0 {
		b.stride = max(b.h, b.w)
	}
	switch {
	case in.Seq > 0 || in.Raw:
		return nil, errors.New("an average pool needs the image of a convolution as its input")
	case l.Size < 0 || l.Stride < 0:
		return nil, fmt.Errorf("size %d, stride %d; neither may be negative", l.Size, l.Stride)
	case b.h > in.H || b.w > in.W:
		return nil, fmt.Errorf("size %d on an image of %d x %d; the image must be as large", l.Size, in.H, in.W)
	}
	b.out = Flow{H: (in.H-b.h)/b.stride + 1, W: (in.W-b.w)/b.stride + 1, C: in.C}
	return b, nil
}

type boundAvgPool struct {
	in, out      Flow
	h, w, stride int
}

func (b *boundAvgPool) Out() Flow { return b.out }

func (b *boundAvgPool) Params() []Param { return nil }

func (b *boundAvgPool) Traits() Traits { return Traits{PerSample: true, Tangents: true} }

// FLOPs returns 0: the one operation for each value is not counted.
func (b *boundAvgPool) FLOPs() int64 { return 0 }

func (b *boundAvgPool) NewState(e *Env) State {
	s := &avgPoolState{b: b, part: 1 / float32(b.h*b.w), y: e.Output()}
	if e.NeedDX {
		s.dx = e.Gradient()
	}
	return s
}

type avgPoolState struct {
	b     *boundAvgPool
	part  float32 // of a pixel in the mean
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
		for oy := range b.out.H {
			for ox := range b.out.W {
				y := to.At(i, oy, ox)[:ld]
				clear(y)
				for r := range b.h {
					kernels.ColSum(y, x.At(i, oy*b.stride+r, ox*b.stride), b.w, ld, ld)
				}
				kernels.Scale(y, s.part)
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
		for oy := range b.out.H {
			for ox := range b.out.W {
				g := dy.At(i, oy, ox)[:ld]
				for r := range b.h {
					row := dx.At(i, oy*b.stride+r, ox*b.stride)
					for px := range b.w {
						kernels.Axpy(row[px*ld:][:ld], s.part, g)
					}
				}
			}
		}
	}
}
