package nn

import (
	"cmp"
	"errors"
	"fmt"
	"math"
)

// groupedConv is a Conv2D with groups or a dilation.
type groupedConv struct {
	Conv2D
	relu bool // is followed by a ReLU
}

func (l groupedConv) Abilities() Abilities {
	return Abilities{
		Init:    func(i Init) Layer { l.Init = i; return l },
		ReLU:    func() Layer { l.relu = true; return l },
		Rounded: func(p Precision) Layer { l.bf16, l.amx = true, p == BF16AMX; return l },
		Narrow:  l.narrow,
		Blocks:  l.blocks,
		Torch:   l.torch,
	}
}

func (l groupedConv) narrow(n Narrowing) (Narrowed, error) {
	if l.Groups <= 1 {
		l.Filters = n.Of(l.Filters)
		return n.Made(l, l.Filters)
	}
	groups := n.Width * float64(l.Groups)
	if groups != math.Trunc(groups) || groups < 1 {
		return Narrowed{}, fmt.Errorf("width %v of %d groups is not an integer number of groups", n.Width, l.Groups)
	}
	l.Filters = l.Filters / l.Groups * int(groups)
	l.Groups = int(groups)
	return n.Made(l, l.Filters)
}

// blocks: what a filter of groups reads, of channels in groups, is told by its place.
func (l groupedConv) blocks(s Stage, in []int) Blocks {
	switch {
	case l.Groups <= 1:
		return inputBlocks("weight")(s, in)
	case l.Groups == s.In.C && l.Filters == s.In.C: // depthwise
		return ChannelBlocks("weight", "bias")(s, in)
	}
	b := Blocks{Fixed: true}
	if len(in) > 1 {
		b.Err = fmt.Errorf("its %d groups read channels of %v, which are narrowed in other groups", l.Groups, in)
	}
	return b
}

func (l groupedConv) Bind(in Flow) (Bound, error) {
	l.Groups, l.Dilation, l.Stride, l.KernelW = max(l.Groups, 1), max(l.Dilation, 1), max(l.Stride, 1), cmp.Or(l.KernelW, l.Kernel)
	high, wide := (l.Kernel-1)*l.Dilation+1, (l.KernelW-1)*l.Dilation+1
	rows, columns := padded(l.Kernel, l.Pad), padded(l.KernelW, l.Pad)
	switch {
	case in.Seq > 0:
		return nil, errors.New("a convolution needs an image as its input")
	case in.C%l.Groups != 0 || l.Filters < 1 || l.Filters%l.Groups != 0:
		return nil, fmt.Errorf("%d groups of %d channels and %d filters; the groups must divide both", l.Groups, in.C, l.Filters)
	case l.Dilation > 1 && l.Stride > 1:
		return nil, fmt.Errorf("dilation %d with stride %d; one of them must be 1", l.Dilation, l.Stride)
	case l.Kernel < 1 || l.KernelW < 1:
		return nil, fmt.Errorf("kernel %d x %d; both must be at least 1", l.Kernel, l.KernelW)
	case l.Pad < 0 || rows >= high || columns >= wide || l.Pad > 0 && (l.Same || rows+columns == 0):
		return nil, fmt.Errorf("padding %d with a kernel that reaches over %s pixels; it must be less, and 0 where the padding is \"same\"", l.Pad, sides(high, wide))
	case !l.Same && (high > in.H+2*rows || wide > in.W+2*columns):
		return nil, fmt.Errorf("a kernel that reaches over %s pixels on an image of %d x %d; a valid convolution needs the image to be as large", sides(high, wide), in.H, in.W)
	}
	b := &boundGrouped{l: l, in: in, d: l.Dilation, part: Flow{H: in.H, W: in.W, C: in.C / l.Groups}}
	conv := l.Conv2D
	conv.Filters, conv.Groups, conv.Dilation = l.Filters/l.Groups, 0, 0
	if b.d > 1 {
		b.top, b.left = rows, columns
		h, w := in.H+2*rows, in.W+2*columns
		if l.Same {
			b.top, b.left = (high-1)/2, (wide-1)/2
			h, w = in.H+high-1, in.W+wide-1
		}
		b.out.H, b.out.W = h-high+1, w-wide+1
		b.part.H, b.part.W = (h+b.d-1)/b.d, (w+b.d-1)/b.d
		conv.Same, conv.Pad = false, 0
	}
	var err error
	if b.conv, err = conv.bind(b.part, l.relu, l.relu); err != nil {
		return nil, err
	}
	if b.out.C = l.Filters; b.d == 1 {
		b.out.H, b.out.W = b.conv.t.OH, b.conv.t.OW
	}
	return b, nil
}

// boundGrouped takes an image apart: the channels of each group, and of these, with a
// dilation d, the d x d images of every d-th row and column, on which a kernel's
// neighbours are side by side.
type boundGrouped struct {
	l         groupedConv
	in, out   Flow
	d         int
	top, left int        // rows and columns of zeros before the image, with a dilation
	part      Flow       // of one of the images
	conv      *boundConv // on it
}

func (b *boundGrouped) Out() Flow { return b.out }

func (b *boundGrouped) Traits() Traits {
	from, to := b.part, b.conv.Out()
	return Traits{
		PerSample: true,
		Extra:     b.l.Groups * b.d * b.d * (from.H*from.W*from.Ld() + to.H*to.W*to.Ld()),
	}
}

// FLOPs counts the products with padding, too, where there is a dilation.
func (b *boundGrouped) FLOPs() int64 {
	if b.d == 1 {
		return int64(b.l.Groups) * b.conv.FLOPs()
	}
	return 2 * int64(b.out.H*b.out.W) * int64(b.l.Kernel*b.l.KernelW*b.part.C) * int64(b.l.Filters)
}

func (b *boundGrouped) Params() []Param {
	ps := b.conv.Params()
	for i, one := range ps {
		size, n := one.Size, one.Len()
		ps[i].Shape = append([]int{b.l.Filters}, one.Shape[1:]...)
		ps[i].Size = b.l.Groups * size
		ps[i].Pack = func(packed, t []float32) {
			for g := range b.l.Groups {
				one.Pack(packed[g*size:][:size], t[g*n:][:n])
			}
		}
		ps[i].Unpack = func(t, packed []float32) {
			for g := range b.l.Groups {
				one.Unpack(t[g*n:][:n], packed[g*size:][:size])
			}
		}
	}
	return ps
}
