package nn

import (
	"cmp"
	"errors"
	"fmt"
	"strconv"

	"github.com/fedfast/fedfast/internal/list"
	"github.com/fedfast/fedfast/kernels"
)

// MaxPool takes the maximum over windows of Size x Size pixels. Of equal values
// the first, row by row, gets the gradient.
type MaxPool struct {
	Size   int
	SizeW  int // columns of the windows, 0 means Size
	Stride int // 0 means the larger side of a window
	// Same lets windows reach over the edge, where there is nothing to take, so
	// that the output has ceil(size/Stride) rows and columns; an odd row or column
	// beyond the edge is at the end, as in TensorFlow. Without it, windows lie
	// fully in the image.
	Same bool
	// Pad is the number of rows and columns by which they may reach over each edge, as
	// PyTorch's padding; at most half of the window, and none along a side on which that is 1.
	Pad int
	// Ceil lets a last window reach over the far edge that begins before it, as PyTorch's
	// ceil_mode.
	Ceil bool
	// OutH and OutW, unless 0, are how many rows and columns the output has, of windows that
	// cover the image, as PyTorch's adaptive pools have them; the other fields are then 0.
	OutH, OutW int
}

// Kind returns "pool".
func (MaxPool) Kind() string { return "pool" }

// Abilities returns what the layer can do.
func (l MaxPool) Abilities() Abilities {
	return Abilities{
		Narrow: Narrowing.Follow, Homogeneous: true,
		Torch: func(t *Torch) {
			if l.OutH > 0 {
				t.Image()
				t.Set("F.adaptive_max_pool2d(%s, (%d, %d))", t.X, l.OutH, l.OutW)
				return
			}
			columns := cmp.Or(l.SizeW, l.Size)
			stride := cmp.Or(l.Stride, max(l.Size, columns))
			pad := t.pad(window{l.Size, columns, stride, l.Same, l.Pad, "-float(\"inf\")"})
			t.Set("F.max_pool2d(%s, %s, %d%s%s)", t.X, torchSides(l.Size, columns), stride, pad, torchCeil(l.Ceil))
		},
	}
}

// Bind fixes the layer for its input.
func (l MaxPool) Bind(in Flow) (Bound, error) { return l.bind(in, false) }

// maskedPool is a max-pool that does the backward pass of the ReLU before it, on
// its own output: a maximum above zero is one that the ReLU let pass.
type maskedPool struct{ MaxPool }

func (l maskedPool) Bind(in Flow) (Bound, error) { return l.bind(in, true) }

func (l MaxPool) bind(in Flow, mask bool) (Bound, error) {
	adaptive := l.OutH > 0 && l.OutW > 0 && l == MaxPool{OutH: l.OutH, OutW: l.OutW}
	l.SizeW = cmp.Or(l.SizeW, l.Size)
	l.Stride = cmp.Or(l.Stride, max(l.Size, l.SizeW), 1)
	switch {
	case in.Seq > 0 || in.Raw:
		return nil, errors.New("a max-pool needs the image of a convolution as its input")
	case adaptive:
	case l.OutH != 0 || l.OutW != 0:
		return nil, fmt.Errorf("an output of %d x %d; both must be at least 1, and no size, stride or padding be given", l.OutH, l.OutW)
	case l.Size < 1 || l.Stride < 1 || l.SizeW < 1 || l.Size*l.SizeW > 256:
		return nil, fmt.Errorf("size %s, stride %d; a window must have 1 to 256 pixels, the stride be at least 1", sides(l.Size, l.SizeW), l.Stride)
	case l.Pad < 0 || 2*padded(l.Size, l.Pad) > l.Size || 2*padded(l.SizeW, l.Pad) > l.SizeW || l.Same && (l.Pad > 0 || l.Ceil):
		return nil, fmt.Errorf("padding %d of windows of size %s; it must be at most half of that, and 0 where the padding is \"same\"", l.Pad, sides(l.Size, l.SizeW))
	case !l.Same && (l.Size > in.H+2*padded(l.Size, l.Pad) || l.SizeW > in.W+2*padded(l.SizeW, l.Pad)):
		return nil, fmt.Errorf("size %s on an image of %d x %d; the image must be as large", sides(l.Size, l.SizeW), in.H, in.W)
	}
	b := &boundPool{l: l, passive: passive{in}, mask: mask}
	b.rows, b.cols = l.spans(in.H, l.Size, l.OutH), l.spans(in.W, l.SizeW, l.OutW)
	if r, c := widest(b.rows), widest(b.cols); r*c > 256 {
		return nil, fmt.Errorf("windows of %d x %d; they must have at most 256 pixels", r, c)
	}
	b.out = Flow{H: outputs(b.rows), W: outputs(b.cols), C: in.C}
	return b, nil
}

func widest(spans []poolSpan) (size int) {
	for _, s := range spans {
		size = max(size, s.size)
	}
	return size
}

// halves reports whether the windows are 2 x 2 pixels that lie side by side in the
// image.
func (l MaxPool) halves() bool {
	l.SizeW = cmp.Or(l.SizeW, l.Size)
	l.Stride = cmp.Or(l.Stride, l.Size)
	return l == (MaxPool{Size: 2, SizeW: 2, Stride: 2})
}

// poolSpan is a run of output rows, or columns, whose windows have the same size
// within the image.
type poolSpan struct {
	at, n int // first output and how many
	from  int // the first pixel of the first window
	size  int
}

// spans returns the runs of windows over an image of the given rows or columns.
func (l MaxPool) spans(size, window, outputs int) []poolSpan {
	var spans []poolSpan
	for i, w := range l.windows(size, window, outputs) {
		from, to := w.from, w.from+w.size
		if last := len(spans) - 1; last >= 0 {
			if s := &spans[last]; s.size == to-from && s.from+s.n*l.Stride == from {
				s.n++
				continue
			}
		}
		spans = append(spans, poolSpan{at: i, n: 1, from: from, size: to - from})
	}
	return spans
}

// windows returns the rows or columns of the image that are in each window.
func (l MaxPool) windows(size, window, outputs int) []pixels {
	if outputs > 0 {
		return adaptive(size, outputs)
	}
	if !l.Same {
		return strided(size, window, l.Stride, padded(window, l.Pad), l.Ceil)
	}
	n := (size + l.Stride - 1) / l.Stride
	before := max((n-1)*l.Stride+window-size, 0) / 2
	all := list.Made(n, func(i int) pixels { return clipped(i*l.Stride-before, window, size, 0) })
	return all
}

func outputs(spans []poolSpan) int {
	last := spans[len(spans)-1]
	return last.at + last.n
}

type boundPool struct {
	passive
	l          MaxPool
	out        Flow
	mask       bool
	rows, cols []poolSpan
}

func (b *boundPool) Out() Flow { return b.out }

func (b *boundPool) Traits() Traits { return Traits{PerSample: true, ReadsOutput: b.mask} }

func (b *boundPool) NewState(e *Env) State {
	s := &poolState{b: b, y: e.Output(), idx: make([]uint8, e.Samples*b.out.H*b.out.W*b.out.Ld())}
	s.folds = e.folds(s.y)
	if c, ok := e.before.(*convState); ok && (c.b.halved || c.b.pooled) {
		c.pool, s.fed, s.through = s, c.b.halved, c.b.pooled
	}
	if e.NeedDX && !s.through {
		e.nearGradient(&s.dx)
	}
	return s
}

type poolState struct {
	b     *boundPool
	y, dx Act
	folds folds
	idx   []uint8 // which pixel of the window was the maximum
	train bool    // whether idx is for a backward pass
	// fed says that the convolution before calls pair, through that it takes the
	// gradient of the maxima.
	fed, through bool
	part         kernels.Pool // at work
}

// begin prepares for the output of a run.
func (s *poolState) begin(r *Run) { s.y.Fold, s.train = s.folds.of(r), r.Train }

// parts calls f for the parts of image i whose windows have the same size: the whole image
// where no window reaches over an edge. big is the input.
func (s *poolState) parts(i int, big, small Act, f func(p *kernels.Pool)) {
	b := s.b
	ld, n := b.out.Ld(), b.out.W*b.out.Ld()
	idx := s.places(i)
	p := &s.part
	*p = kernels.Pool{C: ld, Stride: b.l.Stride, SrcW: big.Row / big.Pixel, DstRow: small.Row, IdxRow: n}
	for _, r := range b.rows {
		for _, c := range b.cols {
			p.KH, p.KW, p.OH, p.OW = r.size, c.size, r.n, c.n
			p.Src, p.Dst, p.Idx = big.At(i, r.from, c.from), small.At(i, r.at, c.at), idx[r.at*n+c.at*ld:]
			f(p)
		}
	}
}

// places returns the part of idx that belongs to image i. Nobody asks for it again in
// evaluation, where all images have the same.
func (s *poolState) places(i int) []uint8 {
	if !s.train {
		i = 0
	}
	n := s.b.out.H * s.b.out.W * s.b.out.Ld()
	return s.idx[i*n:][:n]
}

// pair computes row y of the output for image i from the two rows that are in src.
func (s *poolState) pair(i, y int, src Act) {
	ld := s.b.out.Ld()
	n := s.b.out.W * ld
	s.part = kernels.Pool{
		OH: 1, OW: s.b.out.W, C: ld, KH: 2, KW: 2, Stride: 2,
		Src: src.Data, SrcW: src.Row / ld, Dst: s.y.At(i, y, 0), Idx: s.places(i)[y*n:],
	}
	kernels.MaxPool(&s.part)
}

func (s *poolState) Forward(r *Run, x Act, lo, hi int) Act {
	s.begin(r)
	if s.fed {
		return s.y
	}
	for i := lo; i < hi; i++ {
		s.parts(i, x, s.y, kernels.MaxPool)
	}
	return s.y
}

func (s *poolState) Backward(r *Run, dy Act, lo, hi int) Act {
	if s.dx.Data == nil && !s.through {
		return Act{}
	}
	for i := lo; i < hi; i++ {
		if s.b.mask {
			maskRows(dy, s.y, i, s.b.out.H, s.b.out.W)
		}
		if s.through {
			continue
		}
		clear(s.dx.At(i, 0, -s.dx.Border.Left)[:s.b.in.H*s.dx.Row])
		s.parts(i, s.dx, dy, kernels.MaxPoolBackward)
	}
	if s.through {
		return dy
	}
	return s.dx
}

// sides writes a number of rows and one of columns: "3", or "1 x 3".
func sides(rows, columns int) string {
	if rows == columns {
		return strconv.Itoa(rows)
	}
	return fmt.Sprintf("%d x %d", rows, columns)
}

// pixels are the rows, or columns, of an image that a window holds; padded counts those
// of padding, too.
type pixels struct{ from, size, padded int }

// clipped returns those of a window that may reach over the edges and the padding.
func clipped(at, window, size, pad int) pixels {
	from := max(at, 0)
	return pixels{from, min(at+window, size) - from, min(at+window, size+pad) - at}
}

// strided returns the windows of a pool that lie within the image and its padding. With
// ceil there is one more where that leaves out the end of the image, unless it would begin
// after it.
func strided(size, window, stride, pad int, ceil bool) []pixels {
	var all []pixels
	at := -pad
	for ; at+window <= size+pad; at += stride {
		all = append(all, clipped(at, window, size, pad))
	}
	if ceil && at-stride+window < size+pad && at < size {
		all = append(all, clipped(at, window, size, pad))
	}
	return all
}

// adaptive returns n windows that cover an image, as PyTorch's adaptive pools have them.
func adaptive(size, n int) []pixels {
	all := make([]pixels, n)
	for i := range n {
		from := i * size / n
		to := ((i+1)*size + n - 1) / n
		all[i] = pixels{from, to - from, to - from}
	}
	return all
}
