package nn

import (
	"errors"
	"fmt"

	"github.com/fedfast/fedfast/kernels"
	"github.com/fedfast/fedfast/tensor"
)

// DepthwiseConv2D is a two-dimensional convolution in which every channel has a kernel
// of its own and reads itself only: PyTorch's Conv2d with as many groups as channels.
// The parameters are weight [channels, 1, Kernel, Kernel] and, unless NoBias, bias
// [channels].
type DepthwiseConv2D struct {
	Kernel   int
	Stride   int // 0 means 1
	Dilation int // the distance of the kernel's neighbours, 0 means 1
	// Same and Pad are as in Conv2D; Pad may be as large as the kernel reaches.
	Same   bool
	Pad    int
	NoBias bool
	Init   Init
}

// Kind returns "depthwise".
func (DepthwiseConv2D) Kind() string { return "depthwise" }

// Abilities returns what the layer can do.
func (l DepthwiseConv2D) Abilities() Abilities {
	return Abilities{
		Init:   func(i Init) Layer { l.Init = i; return l },
		Narrow: Narrowing.Follow,
		Blocks: ChannelBlocks("weight", "bias"),
		Torch: func(t *Torch) {
			wide := (l.Kernel-1)*max(1, l.Dilation) + 1
			pad := t.pad(window{wide, wide, max(1, l.Stride), l.Same, l.Pad, "0"})
			t.Set("%s(%s)", t.Module("nn.Conv2d(%d, %d, %d%s%s%s, groups=%d%s)", t.In.C, t.In.C, l.Kernel, torchOption("stride", l.Stride), pad,
				torchOption("dilation", l.Dilation), t.In.C, torchBias(l.NoBias)), t.X)
		},
	}
}

// Bind fixes the layer for its input.
func (l DepthwiseConv2D) Bind(in Flow) (Bound, error) {
	l.Stride, l.Dilation = max(l.Stride, 1), max(l.Dilation, 1)
	wide := (l.Kernel-1)*l.Dilation + 1
	switch {
	case in.Seq > 0 || in.Raw:
		return nil, errors.New("a depthwise convolution needs the image of a convolution as its input")
	case l.Kernel < 1 || l.Kernel > 11:
		return nil, fmt.Errorf("kernel %d; it must be from 1 to 11", l.Kernel)
	case l.Pad < 0 || l.Pad >= wide || l.Same && l.Pad > 0:
		return nil, fmt.Errorf("padding %d with a kernel that reaches over %d pixels; it must be less, and 0 where the padding is \"same\"", l.Pad, wide)
	case !l.Same && (wide > in.H+2*l.Pad || wide > in.W+2*l.Pad):
		return nil, fmt.Errorf("a kernel that reaches over %d pixels on an image of %d x %d; a valid convolution needs the image to be as large", wide, in.H, in.W)
	}
	if err := l.Init.check(); err != nil {
		return nil, err
	}
	b := &boundDepthwise{l: l, in: in, t: tensor.NewDepthwise(in.H, in.W, in.Ld(), l.Kernel, l.Stride, l.Dilation, l.Pad, l.Same)}
	b.t.Used = in.C
	return b, nil
}

type boundDepthwise struct {
	l  DepthwiseConv2D
	in Flow
	t  tensor.Depthwise
}

func (b *boundDepthwise) Out() Flow { return Flow{H: b.t.OH, W: b.t.OW, C: b.in.C} }

func (b *boundDepthwise) border() Border     { return Border{b.t.Left, b.t.RightBorder} }
func (b *boundDepthwise) backBorder() Border { return Border{b.t.BackLeft, b.t.BackRight} }

// Images with rows of few pixels go through several at a time, pixel by pixel.
const (
	acrossPixels = 4         // most pixels of a row
	acrossLeast  = fewImages // samples that are faster so
)

// across reports whether several samples go through the layer at a time.
func (b *boundDepthwise) across() bool { return max(b.in.W, b.t.OW) <= acrossPixels }

func (b *boundDepthwise) Traits() Traits {
	group := 0
	if b.across() {
		group = fewImages
	}
	return Traits{PerSample: true, ReadsInput: true, Group: group, InBorder: b.border(), GradBorder: b.backBorder()}
}

// FLOPs counts the products with padding, too.
func (b *boundDepthwise) FLOPs() int64 {
	return 2 * int64(b.t.OH*b.t.OW) * int64(b.l.Kernel*b.l.Kernel*b.in.C)
}

func (b *boundDepthwise) Params() []Param {
	fan, ld := b.l.Kernel*b.l.Kernel, b.in.Ld()
	walk := func(f func(at, i int)) {
		for c := range b.in.C {
			for k := range fan {
				f(k*ld+c, c*fan+k)
			}
		}
	}
	ps := []Param{{
		Name:   "weight",
		Shape:  []int{b.in.C, 1, b.l.Kernel, b.l.Kernel},
		Size:   fan * ld,
		Init:   func(t []float32, s *kernels.Stream) { b.l.Init.weight(t, fan, fan, s) },
		Pack:   func(packed, t []float32) { walk(func(at, i int) { packed[at] = t[i] }) },
		Unpack: func(t, packed []float32) { walk(func(at, i int) { t[i] = packed[at] }) },
	}}
	if b.l.NoBias {
		return ps
	}
	return append(ps, biasParam(b.in.C, func(t []float32, s *kernels.Stream) { b.l.Init.bias(t, fan, s) }))
}

// depthwiseState is a depthwise convolution in one workspace. It works image by
// image.
type depthwiseState struct {
	b                *boundDepthwise
	t                tensor.Depthwise
	w, bias          int // offsets of the parameters
	x, y, dx         Act
	padded, bordered Act // one image of the input or of the output's gradient, when it comes without its border
}

func (b *boundDepthwise) NewState(e *Env) State {
	s := &depthwiseState{
		b: b, t: b.t.WithSpace(e.Arena), w: e.Offset, bias: e.Offset + b.l.Kernel*b.l.Kernel*b.in.Ld(), y: e.Output(),
		padded: newAct(e.Arena, b.in, 1, b.border(), 1),
	}
	if e.NeedDX {
		e.nearGradient(&s.dx)
		s.bordered = newAct(e.Arena, b.Out(), 1, b.backBorder(), 1)
	}
	return s
}

// biases returns the bias within all parameters or gradients p, or nil.
func (s *depthwiseState) biases(p []float32) []float32 {
	if s.b.l.NoBias {
		return nil
	}
	return p[s.bias:][:s.b.in.Ld()]
}

// within returns image i of a, of the size of f, from its border b on, and its row
// length; an image that lacks the border is copied to space.
func within(a Act, i int, f Flow, b Border, space Act) ([]float32, int) {
	if a.Has(b) {
		return a.At(i, 0, -b.Left), a.Row
	}
	n := f.W * a.Pixel
	for y := range f.H {
		copy(space.At(0, y, 0)[:n], a.At(i, y, 0))
	}
	return space.At(0, 0, -b.Left), space.Row
}

func (s *depthwiseState) Forward(r *Run, x Act, lo, hi int) Act {
	s.x = x
	if s.across(x, s.y, lo, hi) {
		s.t.ForwardAcross(s.y.At(lo, 0, 0), s.y.Row, s.y.Sample, x.At(lo, 0, 0), x.Row, x.Sample, hi-lo, r.W[s.w:s.bias], s.biases(r.W))
		return s.y
	}
	for i := lo; i < hi; i++ {
		in, row := within(x, i, s.b.in, s.b.border(), s.padded)
		s.t.Forward(s.y.At(i, 0, 0), s.y.Row, in, row, r.W[s.w:s.bias], s.biases(r.W))
	}
	return s.y
}

// across reports whether the samples [lo, hi) of both go through the layer at a time.
func (s *depthwiseState) across(x, y Act, lo, hi int) bool {
	return s.b.across() && hi-lo >= acrossLeast && x.apart(lo, hi) && y.apart(lo, hi)
}

func (s *depthwiseState) Backward(r *Run, dy Act, lo, hi int) Act {
	if !r.mixing {
		s.weights(r, dy, lo, hi)
	}
	switch {
	case s.dx.Data == nil:
	case s.across(s.dx, dy, lo, hi):
		s.t.BackwardInputAcross(s.dx.At(lo, 0, 0), s.dx.Row, s.dx.Sample, dy.At(lo, 0, 0), dy.Row, dy.Sample, hi-lo, r.W[s.w:s.bias])
	default:
		for i := lo; i < hi; i++ {
			g, row := within(dy, i, s.b.Out(), s.b.backBorder(), s.bordered)
			s.t.BackwardInput(s.dx.At(i, 0, 0), s.dx.Row, g, row, r.W[s.w:s.bias])
		}
	}
	return s.dx
}

// weights computes the gradients of the parameters, or adds to them.
func (s *depthwiseState) weights(r *Run, dy Act, lo, hi int) {
	gw, gb := r.G[s.w:s.bias], s.biases(r.G)
	for i := lo; i < hi; i++ {
		s.t.BackwardBias(gb, dy.At(i, 0, 0), dy.Row, !r.Starts(i))
	}
	if s.x.Has(s.b.border()) && s.across(s.x, dy, lo, hi) {
		s.t.BackwardWeights(gw, s.x.At(lo, 0, -s.b.t.Left), s.x.Row, s.x.Sample, dy.At(lo, 0, 0), dy.Row, dy.Sample, hi-lo, !r.Starts(lo))
		return
	}
	for i := lo; i < hi; i++ {
		in, row := within(s.x, i, s.b.in, s.b.border(), s.padded)
		s.t.BackwardWeights(gw, in, row, 0, dy.At(i, 0, 0), dy.Row, 0, 1, !r.Starts(i))
	}
}
