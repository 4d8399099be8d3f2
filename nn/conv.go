package nn

import (
	"cmp"
	"errors"
	"fmt"

	"github.com/fedfast/fedfast/kernels"
	"github.com/fedfast/fedfast/tensor"
)

// Conv2D is a two-dimensional convolution of an image. The parameters are weight
// [Filters, channels/Groups, Kernel, KernelW] and, unless NoBias, bias [Filters].
type Conv2D struct {
	Filters int
	Kernel  int // rows of the kernel
	KernelW int // columns; 0 means Kernel
	Stride  int // 0 means 1
	// Groups are as many groups of filters, which read a group of channels each: PyTorch's groups
	// between 1 and the number of channels, for which there is DepthwiseConv2D. It must divide the
	// channels and Filters; 0 means 1.
	Groups int
	// Dilation is the distance of the kernel's neighbours; 0 means 1, and above 1 the stride must be 1.
	Dilation int
	// Same pads with zeros so that the output has ceil(size/Stride) rows and
	// columns; an odd row or column of padding goes to the end, as in
	// TensorFlow. For odd kernels at stride 1 this is PyTorch's padding =
	// (Kernel-1)/2. Without it there is no padding ("valid").
	Same bool
	// Pad puts that many rows and columns of zeros on each side, as PyTorch's
	// padding does, but none along a side on which the kernel is 1; it excludes Same, and must be less
	// than the kernel reaches.
	Pad int
	// NoBias leaves out the bias, as before a normalisation that has its own.
	NoBias bool
	Init   Init

	bf16, amx bool // rounds the factors of products; their sums have the order of AMX
}

// Kind returns "conv".
func (Conv2D) Kind() string { return "conv" }

// Abilities returns what the layer can do.
func (l Conv2D) Abilities() Abilities {
	if l.grouped() {
		return groupedConv{Conv2D: l}.Abilities()
	}
	return Abilities{
		Init:    func(i Init) Layer { l.Init = i; return l },
		ReLU:    func() Layer { return fusedConv{Conv2D: l} },
		Rounded: func(p Precision) Layer { l.bf16, l.amx = true, p == BF16AMX; return l },
		Narrow: func(n Narrowing) (Narrowed, error) {
			l.Filters = n.Of(l.Filters)
			return n.Made(l, l.Filters)
		},
		Blocks: inputBlocks("weight"),
		Torch:  l.torch,
	}
}

// grouped reports whether the layer has groups or a dilation.
func (l Conv2D) grouped() bool { return l.Groups > 1 || l.Dilation > 1 }

func (l Conv2D) torch(t *Torch) {
	d, columns := max(1, l.Dilation), cmp.Or(l.KernelW, l.Kernel)
	pad := t.pad(window{(l.Kernel-1)*d + 1, (columns-1)*d + 1, max(1, l.Stride), l.Same, l.Pad, "0"})
	options := torchOption("stride", l.Stride) + pad + torchOption("dilation", l.Dilation) + torchOption("groups", l.Groups)
	t.Set("%s(%s)", t.Module("nn.Conv2d(%d, %d, %s%s%s)", t.In.C, l.Filters, torchSides(l.Kernel, columns), options,
		torchBias(l.NoBias)), t.X)
}

// Bind fixes the layer for its input.
func (l Conv2D) Bind(in Flow) (Bound, error) {
	if l.grouped() {
		return groupedConv{Conv2D: l}.Bind(in)
	}
	b, err := l.bind(in, false, false)
	if err != nil {
		return nil, err
	}
	return b, nil
}

// leastBlock is how many numbers a row of a window has in a convolution whose sums are in
// blocks: fewer leave tiles of AMX mostly empty.
const leastBlock = 32

// fusedConv is a convolution followed by a ReLU. With maskLater, the max-pool
// that follows does the ReLU's part of the backward pass; halved says that the
// pool has windows of 2 x 2 pixels side by side.
type fusedConv struct {
	Conv2D
	maskLater, halved bool
}

func (l fusedConv) Bind(in Flow) (Bound, error) {
	b, err := l.bind(in, true, !l.maskLater)
	if err != nil {
		return nil, err
	}
	sparse := !in.Raw && b.t.CanSparse()
	if b.pooled = l.halved && sparse; b.pooled {
		b.fast.useInput = false
	}
	b.halved = l.halved && (!b.fast.useWeights || b.fast.weights.Pairs())
	b.thin = !l.maskLater && sparse && !b.fast.useWeights && !l.bf16
	return b, nil
}

func (l Conv2D) bind(in Flow, relu, mask bool) (*boundConv, error) {
	l.KernelW = cmp.Or(l.KernelW, l.Kernel)
	l.Stride = cmp.Or(l.Stride, 1)
	rows, columns := padded(l.Kernel, l.Pad), padded(l.KernelW, l.Pad)
	switch {
	case in.Seq > 0:
		return nil, errors.New("a convolution needs an image as its input")
	case l.Filters < 1:
		return nil, fmt.Errorf("%d filters; must be at least 1", l.Filters)
	case l.Kernel < 1 || l.KernelW < 1 || l.Stride < 1:
		return nil, fmt.Errorf("kernel %d x %d, stride %d; all must be at least 1", l.Kernel, l.KernelW, l.Stride)
	case l.Pad < 0 || rows >= l.Kernel || columns >= l.KernelW || l.Pad > 0 && (l.Same || rows+columns == 0):
		return nil, fmt.Errorf("padding %d with a kernel of %d x %d; it must be less than the kernel, and 0 where the padding is \"same\"", l.Pad, l.Kernel, l.KernelW)
	case !l.Same && (l.Kernel > in.H+2*rows || l.KernelW > in.W+2*columns):
		return nil, fmt.Errorf("kernel %d x %d on an image of %d x %d; a valid convolution needs the image to be as large", l.Kernel, l.KernelW, in.H, in.W)
	}
	if err := l.Init.check(); err != nil {
		return nil, err
	}
	t := tensor.NewConv(in.H, in.W, in.Ld(), kernels.Pad(l.Filters), l.Kernel, l.KernelW, l.Stride, l.Same)
	if l.Pad > 0 {
		t = tensor.NewPaddedConv(in.H, in.W, in.Ld(), kernels.Pad(l.Filters), l.Kernel, l.KernelW, l.Stride, rows, columns)
	}
	t = t.Of(in.C, l.Filters)
	l.amx = l.amx && t.KW*t.C >= leastBlock
	fast := newWinogradPlan(t, l.bf16, l.amx)
	b := &boundConv{l: l, in: in, t: t, back: t.Input(), fast: fast, relu: relu, mask: mask}
	if !l.bf16 {
		b.wide = t.Windows()
	}
	return b, nil
}

type boundConv struct {
	l          Conv2D
	in         Flow
	t          tensor.Conv
	back       tensor.ConvInput
	fast       winogradPlan
	wide       tensor.Windows
	relu, mask bool
	// pooled says that the gradient comes as that of a max-pool, which hands it
	// through; thin that the ReLU may leave little of it. See tensor.Sparse.
	pooled, thin bool
	// halved says that a max-pool over windows of 2 x 2 pixels takes the output two
	// rows at a time, so that no more of it is ever in memory.
	halved bool
}

func (b *boundConv) Out() Flow { return Flow{H: b.t.OH, W: b.t.OW, C: b.l.Filters} }

// border and backBorder are what the input and the gradient of the output need
// around their rows.
func (b *boundConv) border() Border {
	if b.fast.useWeights {
		return winogradBorder(b.fast.weights)
	}
	return Border{b.t.Left, b.t.RightBorder}
}

func (b *boundConv) backBorder() Border {
	if b.fast.useInput {
		return winogradBorder(b.fast.input)
	}
	return Border{b.back.Left, b.back.Right}
}

func (b *boundConv) Traits() Traits {
	t := Traits{PerSample: true, ReadsInput: true, ReadsOutput: b.mask, InBorder: b.border(), Group: max(b.fast.wish(), b.flatGroup())}
	if !b.in.Raw && !b.pooled {
		t.GradBorder = b.backBorder()
	}
	return t
}

// weights returns the packed floats of the weights.
func (b *boundConv) weights() int { return b.t.Rows() * b.t.N }

// FLOPs leaves out the products with padding, which are zero.
func (b *boundConv) FLOPs() int64 {
	rows := taps(b.t.OH, b.l.Stride, b.l.Kernel, b.t.Top, b.in.H)
	return 2 * rows * taps(b.t.OW, b.l.Stride, b.l.KernelW, b.t.Left, b.in.W) * int64(b.l.Filters*b.in.C)
}

// taps counts the rows (or columns) of an image of size that a kernel reads in
// all of its n places, the first of which lies pad before the image.
func taps(n, stride, kernel, pad, size int) int64 {
	count := 0
	for at := -pad; at < n*stride-pad; at += stride {
		count += min(at+kernel, size) - max(at, 0)
	}
	return int64(count)
}

func (b *boundConv) Params() []Param {
	fan := b.l.Kernel * b.l.KernelW
	in, out := fan*b.in.C, fan*b.l.Filters
	ps := []Param{{
		Name:   "weight",
		Shape:  []int{b.l.Filters, b.in.C, b.l.Kernel, b.l.KernelW},
		Size:   b.weights(),
		Init:   func(t []float32, s *kernels.Stream) { b.l.Init.weight(t, in, out, s) },
		Pack:   func(packed, t []float32) { b.walk(func(at, i int) { packed[at] = t[i] }) },
		Unpack: func(t, packed []float32) { b.walk(func(at, i int) { t[i] = packed[at] }) },
	}}
	if b.l.NoBias {
		return ps
	}
	return append(ps, biasParam(b.l.Filters, func(t []float32, s *kernels.Stream) { b.l.Init.bias(t, in, s) }))
}

// walk calls f with the packed and the canonical place of every weight.
func (b *boundConv) walk(f func(at, i int)) {
	i := 0
	for j := range b.l.Filters {
		for c := range b.in.C {
			for k := range b.l.Kernel * b.l.KernelW {
				f(packedAt(k*b.t.C+c, j, b.t.Rows()), i)
				i++
			}
		}
	}
}
