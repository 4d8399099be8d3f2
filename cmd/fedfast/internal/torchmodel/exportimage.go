package torchmodel

import (
	"cmp"
	"fmt"
	"strconv"

	"github.com/fedfast/fedfast/nn"
)

// image writes a layer of images.
func (e *exporter) image(s nn.Stage, x, to string) {
	in := s.In
	switch l := s.Layer.(type) {
	case nn.Conv2D:
		wide := cmp.Or(l.KernelW, l.Kernel)
		kernel := strconv.Itoa(l.Kernel)
		if wide != l.Kernel {
			kernel = fmt.Sprintf("(%d, %d)", l.Kernel, wide)
		}
		p := e.padding(window{l.Kernel, wide, max(1, l.Stride), l.Same, l.Pad, "0"}, in, x, to)
		e.set(to, "%s(%s)", e.module(s.Name, "nn.Conv2d(%d, %d, %s%s%s%s)", in.C, l.Filters, kernel, option("stride", l.Stride, 1), option("padding", p.inside, 0), bias(l.NoBias)), p.x)
	case nn.GroupedConv2D:
		wide := (l.Kernel-1)*max(1, l.Dilation) + 1
		p := e.padding(window{wide, wide, max(1, l.Stride), l.Same, l.Pad, "0"}, in, x, to)
		e.set(to, "%s(%s)", e.module(s.Name, "nn.Conv2d(%d, %d, %d%s%s%s%s%s)", in.C, l.Filters, l.Kernel, option("stride", l.Stride, 1), option("padding", p.inside, 0),
			option("dilation", l.Dilation, 1), option("groups", l.Groups, 1), bias(l.NoBias)), p.x)
	case nn.DepthwiseConv2D:
		wide := (l.Kernel-1)*max(1, l.Dilation) + 1
		p := e.padding(window{wide, wide, max(1, l.Stride), l.Same, l.Pad, "0"}, in, x, to)
		e.set(to, "%s(%s)", e.module(s.Name, "nn.Conv2d(%d, %d, %d%s%s%s, groups=%d%s)", in.C, in.C, l.Kernel, option("stride", l.Stride, 1), option("padding", p.inside, 0),
			option("dilation", l.Dilation, 1), in.C, bias(l.NoBias)), p.x)
	case nn.MaxPool:
		stride := cmp.Or(l.Stride, l.Size)
		p := e.padding(window{l.Size, l.Size, stride, l.Same, l.Pad, "-float(\"inf\")"}, in, x, to)
		e.set(to, "F.max_pool2d(%s, %d, %d%s)", p.x, l.Size, stride, option("padding", p.inside, 0))
	case nn.AvgPool:
		if l.Size == 0 {
			e.set(to, "F.adaptive_avg_pool2d(%s, 1)", x)
			return
		}
		pad := ""
		if l.Pad > 0 {
			pad = fmt.Sprintf(", %d, count_include_pad=False", l.Pad)
		}
		e.set(to, "F.avg_pool2d(%s, %d, %d%s)", x, l.Size, cmp.Or(l.Stride, l.Size), pad)
	case nn.LRN:
		size := 2*l.Radius + 1
		e.set(to, "F.local_response_norm(%s, %d, alpha=%v, beta=%v, k=%v)", x, size, l.Alpha*float64(size), l.Beta, l.Bias)
	case nn.SqueezeExcitation:
		e.helpers["Squeeze"] = true
		e.set(to, "%s(%s)", e.module(s.Name, "Squeeze(%d, %d)", in.C, l.Units), x)
	}
}

// option writes a keyword of a call, unless it has its default or is not given.
func option(name string, n, otherwise int) string {
	if n == 0 || n == otherwise {
		return ""
	}
	return fmt.Sprintf(", %s=%d", name, n)
}

func bias(none bool) string {
	if none {
		return ", bias=False"
	}
	return ""
}

// window is what goes over an image, and how the image is padded.
type window struct {
	h, w, stride int
	same         bool
	pad          int
	with         string // what padding holds
}

// padded is an image and the padding that the layer itself adds.
type padded struct {
	x      string
	inside int
}

// padding pads an image as TensorFlow's "same" does: an odd row or column goes to the
// end. PyTorch's layers pad both ends alike, so that anything else is a step before.
func (e *exporter) padding(w window, in nn.Flow, x, to string) padded {
	if !w.same {
		return padded{x, w.pad}
	}
	rows, columns := missing(in.H, w.h, w.stride), missing(in.W, w.w, w.stride)
	if rows == columns && rows%2 == 0 && rows <= w.h { // PyTorch's pools take half a window at most
		return padded{x, rows / 2}
	}
	e.set(to, "F.pad(%s, (%d, %d, %d, %d), value=%s)", x, columns/2, columns-columns/2, rows/2, rows-rows/2, w.with)
	return padded{to, 0}
}

// missing is how many rows or columns "same" adds.
func missing(size, kernel, stride int) int {
	return max(((size+stride-1)/stride-1)*stride+kernel-size, 0)
}
