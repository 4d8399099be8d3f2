package nn

import (
	"errors"
	"fmt"

	"github.com/fedfast/fedfast/kernels"
)

// MaxPool takes the maximum over windows of Size x Size pixels that lie fully in
// the image. Of equal values the first, row by row, gets the gradient.
type MaxPool struct {
	Size   int
	Stride int // 0 means Size
}

// Kind returns "pool".
func (MaxPool) Kind() string { return "pool" }

// Bind fixes the layer for its input.
func (l MaxPool) Bind(in Flow) (Bound, error) { return l.bind(in, false) }

// maskedPool is a max-pool that does the backward pass of the ReLU before it, on
// its own output: a maximum above zero is one that the ReLU let pass.
type maskedPool struct{ MaxPool }

func (l maskedPool) Bind(in Flow) (Bound, error) { return l.bind(in, true) }

func (l MaxPool) bind(in Flow, mask bool) (Bound, error) {
	if l.Stride == 0 {
		l.Stride = l.Size
	}
	switch {
	case in.Seq > 0 || in.Raw:
		return nil, errors.New("a max-pool needs the image of a convolution as its input")
	case l.Size < 1 || l.Stride < 1 || l.Size > 16:
		return nil, fmt.Errorf("size %d, stride %d; the size must be 1 to 16, the stride at least 1", l.Size, l.Stride)
	case l.Size > in.H || l.Size > in.W:
		return nil, fmt.Errorf("size %d on an image of %d x %d; the image must be as large", l.Size, in.H, in.W)
	}
	out := Flow{H: (in.H-l.Size)/l.Stride + 1, W: (in.W-l.Size)/l.Stride + 1, C: in.C}
	return &boundPool{l: l, in: in, out: out, mask: mask}, nil
}

type boundPool struct {
	l       MaxPool
	in, out Flow
	mask    bool
}

func (b *boundPool) Out() Flow { return b.out }

func (b *boundPool) Params() []Param { return nil }

func (b *boundPool) Traits() Traits { return Traits{PerSample: true, ReadsOutput: b.mask} }

// FLOPs returns 0: comparisons are not counted.
func (b *boundPool) FLOPs() int64 { return 0 }

func (b *boundPool) NewState(e *Env) State {
	s := &poolState{b: b, y: e.Output(), idx: make([]uint8, e.Samples*b.out.H*b.out.W*b.out.Ld())}
	if e.NeedDX {
		s.dx = e.Gradient()
	}
	return s
}

type poolState struct {
	b     *boundPool
	y, dx Act
	idx   []uint8      // which pixel of the window was the maximum
	part  kernels.Pool // at work
}

// rows calls f for the parts of image i whose output lies in one piece: the
// whole image, or each row when small has a border. big is the input.
func (s *poolState) rows(i int, big, small Act, f func(p *kernels.Pool)) {
	b := s.b
	n := b.out.W * b.out.Ld()
	idx := s.idx[i*b.out.H*n:][:b.out.H*n]
	p := &s.part
	*p = kernels.Pool{OH: b.out.H, OW: b.out.W, C: b.out.Ld(), KH: b.l.Size, KW: b.l.Size, Stride: b.l.Stride, SrcW: big.Row / big.Pixel}
	if small.Row == n {
		p.Src, p.Dst, p.Idx = big.At(i, 0, 0), small.At(i, 0, 0), idx
		f(p)
		return
	}
	p.OH = 1
	for y := range b.out.H {
		p.Src, p.Dst, p.Idx = big.At(i, y*b.l.Stride, 0), small.At(i, y, 0), idx[y*n:(y+1)*n]
		f(p)
	}
}

func (s *poolState) Forward(_ *Run, x Act, lo, hi int) Act {
	for i := lo; i < hi; i++ {
		s.rows(i, x, s.y, kernels.MaxPool)
	}
	return s.y
}

func (s *poolState) Backward(_ *Run, dy Act, lo, hi int) Act {
	if s.dx.Data == nil {
		return Act{}
	}
	for i := lo; i < hi; i++ {
		if s.b.mask {
			maskRows(dy, s.y, i, s.b.out.H, s.b.out.W)
		}
		clear(s.dx.At(i, 0, -s.dx.Border.Left)[:s.b.in.H*s.dx.Row])
		s.rows(i, s.dx, dy, kernels.MaxPoolBackward)
	}
	return s.dx
}
