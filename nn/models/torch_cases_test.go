package models

import (
	"fmt"
	"slices"

	"github.com/fedfast/fedfast/nn"
)

// torchOp is one step of the network as testdata/train_steps.py builds it. The
// lists below are written by hand from the table of models, not derived from the
// layers under test.
type torchOp struct {
	Op         string    `json:"op"`
	Padding    any       `json:"padding,omitempty"`
	Stride     int       `json:"stride,omitempty"`
	Dilation   int       `json:"dilation,omitempty"`
	NoBias     bool      `json:"no_bias,omitempty"`
	Size       int       `json:"size,omitempty"`
	Groups     int       `json:"groups,omitempty"`
	NoAffine   bool      `json:"no_affine,omitempty"`
	Radius     int       `json:"radius,omitempty"`
	K          float64   `json:"k,omitempty"`
	Alpha      float64   `json:"alpha,omitempty"`
	Beta       float64   `json:"beta,omitempty"`
	Body       []torchOp `json:"body,omitempty"`
	Shortcut   []torchOp `json:"shortcut,omitempty"`
	PaddingIdx *int      `json:"padding_idx,omitempty"`
	Layers     int       `json:"layers,omitempty"`
	Biases     int       `json:"biases,omitempty"`
	ForgetBias float64   `json:"forget_bias,omitempty"`
	Heads      int       `json:"heads,omitempty"`
	Causal     bool      `json:"causal,omitempty"`
	Mask       bool      `json:"mask_padding,omitempty"`
	ClassToken bool      `json:"class_token,omitempty"`
	Take       string    `json:"take,omitempty"`

	Branches []torchBranch `json:"branches,omitempty"`
}

// torchBranch is a branch of a graph: what it reads, -1 being the graph's input, side by
// side or added, and its layers.
type torchBranch struct {
	From   []int     `json:"from"`
	Concat bool      `json:"concat,omitempty"`
	Mix    string    `json:"mix,omitempty"` // name of the weights by which they are mixed, and with zeros
	Body   []torchOp `json:"body"`
}

var (
	opConv    = torchOp{Op: "conv", Padding: 0}
	opRelu    = torchOp{Op: "relu"}
	opPool    = torchOp{Op: "pool"}
	opFlatten = torchOp{Op: "flatten"}
	opLinear  = torchOp{Op: "linear"}
	opLast    = torchOp{Op: "last"}
	opEvery   = torchOp{Op: "every"}
	opPool3   = torchOp{Op: "pool", Size: 3, Stride: 2}
	opLRN     = torchOp{Op: "lrn", Radius: 4, K: 1, Alpha: 0.001 / 9, Beta: 0.75}
	opNorm    = torchOp{Op: "groupnorm", Groups: 2}
)

// opPlain is a convolution without bias.
func opPlain(stride, padding int) torchOp {
	return torchOp{Op: "conv", Stride: stride, Padding: padding, NoBias: true}
}

// opBlocks is one stage of a ResNet of two blocks.
func opBlocks(stride int) []torchOp {
	first := torchOp{Op: "residual", Body: []torchOp{opPlain(stride, 1), opNorm, opRelu, opPlain(1, 1), opNorm}}
	second := torchOp{Op: "residual", Body: []torchOp{opPlain(1, 1), opNorm, opRelu, opPlain(1, 1), opNorm}}
	if stride > 1 {
		first.Shortcut = []torchOp{opPlain(stride, 0), opNorm}
	}
	return []torchOp{first, opRelu, second, opRelu}
}

// opTransformer is n blocks of a transformer, the last of which lets one step pass.
func opTransformer(n int, attention torchOp, take string) []torchOp {
	var ops []torchOp
	for range n {
		ops = append(ops,
			torchOp{Op: "residual", Body: []torchOp{{Op: "layernorm"}, attention}},
			torchOp{Op: "residual", Body: []torchOp{{Op: "layernorm"}, opLinear, {Op: "gelu"}, opLinear}})
	}
	return append(ops, torchOp{Op: "steps", Take: take})
}

// opMobile is the network of mobilenet-small.
func opMobile() []torchOp {
	swish, channels := torchOp{Op: "hardswish"}, 16
	eights := func(n int) torchOp { return torchOp{Op: "groupnorm", Groups: n / 8} }
	ops := []torchOp{opPlain(1, 1), eights(16), swish}
	for _, b := range []struct {
		kernel, wide, out, stride int
		squeeze                   bool
		act                       torchOp
	}{
		{3, 16, 16, 2, true, opRelu},
		{3, 72, 24, 2, false, opRelu},
		{3, 88, 24, 1, false, opRelu},
		{5, 96, 40, 2, true, swish},
		{5, 240, 40, 1, true, swish},
		{5, 240, 40, 1, true, swish},
		{5, 120, 48, 1, true, swish},
		{5, 144, 48, 1, true, swish},
		{5, 288, 96, 2, true, swish},
		{5, 576, 96, 1, true, swish},
		{5, 576, 96, 1, true, swish},
	} {
		var body []torchOp
		if b.wide != channels {
			body = append(body, opPlain(1, 0), eights(b.wide), b.act)
		}
		body = append(body, torchOp{Op: "depthwise", Stride: b.stride, Padding: b.kernel / 2, NoBias: true}, eights(b.wide),
			b.act)
		if b.squeeze {
			body = append(body, torchOp{Op: "squeeze"})
		}
		body = append(body, opPlain(1, 0), eights(b.out))
		if b.stride == 1 && b.out == channels {
			body = []torchOp{{Op: "residual", Body: body}}
		}
		ops, channels = append(ops, body...), b.out
	}
	return append(ops, opPlain(1, 0), eights(576), swish, torchOp{Op: "mean"}, opLinear, swish, opLinear)
}

// opMBV3 is a network of mbv3-cifar's kind up to its head, of stages of a width, depth,
// kernel, expansion and stride, all but one of which have squeeze-and-excitation.
func opMBV3(plain int, stages ...[5]int) []torchOp {
	swish, channels := torchOp{Op: "hardswish"}, 16
	eights := func(n int) torchOp { return torchOp{Op: "groupnorm", Groups: n / 8} }
	ops := []torchOp{opPlain(1, 1), eights(16), swish}
	for i, s := range stages {
		for block := range s[1] {
			wide, stride := s[3]*channels, 1
			if block == 0 {
				stride = s[4]
			}
			var body []torchOp
			if s[3] > 1 {
				body = []torchOp{opPlain(1, 0), eights(wide), swish}
			}
			body = append(body, torchOp{Op: "depthwise", Stride: stride, Padding: s[2] / 2, NoBias: true}, eights(wide), swish)
			if i != plain {
				body = append(body, torchOp{Op: "squeeze"})
			}
			body = append(body, opPlain(1, 0), eights(s[0]))
			if block > 0 {
				body = []torchOp{{Op: "residual", Body: body}}
			}
			ops, channels = append(ops, body...), s[0]
		}
	}
	return ops
}

// opPaper32 is mbv3-paper32.
func opPaper32() []torchOp {
	swish := torchOp{Op: "hardswish"}
	return append(opMBV3(1, [5]int{24, 2, 5, 1, 2}, [5]int{40, 2, 5, 5, 2}, [5]int{80, 4, 5, 5, 2},
		[5]int{112, 4, 5, 5, 1}, [5]int{160, 4, 5, 5, 2}),
		opPlain(1, 0), torchOp{Op: "groupnorm", Groups: 120}, swish, torchOp{Op: "mean"}, opLinear, swish, opLinear)
}

// opDARTS is darts-cifar.
func opDARTS() []torchOp {
	var all []torchBranch
	add := func(b torchBranch) int {
		all = append(all, b)
		return len(all) - 1
	}
	stem, last, before, channels, halved := -1, -1, -1, 8, false
	for i, halves := range []bool{false, true, true} {
		kind, strides := "normal", map[bool]int{false: 1, true: 2}
		if halves {
			channels *= 2
			kind = "reduce"
		}
		norm := torchOp{Op: "groupnorm", Groups: channels / 8, NoAffine: true}
		point := func(from, stride int) int {
			return add(torchBranch{From: []int{from}, Body: []torchOp{opRelu, opPlain(stride, 0), norm}})
		}
		if i == 0 {
			before, last = stem, stem
		}
		one := point(last, 1)
		nodes := []int{point(before, strides[halved]), one}
		for n := 2; n < 6; n++ {
			var edges []int
			for from := range n {
				stride := strides[halves && from < 2]
				depth := func(padding, dilation, stride int) []torchOp {
					return []torchOp{
						opRelu,
						{Op: "depthwise", Stride: stride, Padding: padding, Dilation: dilation, NoBias: true},
						opPlain(1, 0), norm,
					}
				}
				var inputs []int
				for _, op := range []string{"maxpool", "avgpool"} {
					inputs = append(inputs, add(torchBranch{
						From: []int{nodes[from]},
						Body: []torchOp{{Op: op, Size: 3, Stride: stride, Padding: 1}, norm},
					}))
				}
				if stride == 1 {
					inputs = append(inputs, nodes[from])
				} else {
					inputs = append(inputs, point(nodes[from], stride))
				}
				for _, body := range [][]torchOp{
					append(depth(1, 1, stride), depth(1, 1, 1)...), append(depth(2, 1, stride), depth(2, 1, 1)...),
					depth(2, 2, stride), depth(4, 2, stride),
				} {
					inputs = append(inputs, add(torchBranch{From: []int{nodes[from]}, Body: body}))
				}
				edges = append(edges, add(torchBranch{From: inputs, Mix: fmt.Sprint(kind, n, from)}))
			}
			nodes = append(nodes, add(torchBranch{From: edges}))
		}
		before, last, halved = last, add(torchBranch{From: nodes[2:], Concat: true}), halves
	}
	return []torchOp{opPlain(1, 1), {Op: "groupnorm", Groups: 3}, {Op: "graph", Branches: all}, {Op: "mean"}, opLinear}
}

func opSame(padding int) torchOp { return torchOp{Op: "conv", Padding: padding} }

func zeroIndex() *int { return new(int) }

// torchCases holds every model at a batch and rate on which momentum 0.9 trains and
// does not diverge, so that float32 and float64 stay comparable. A
// ReLU or max-pool whose argument passes within a rounding error of its kink
// changes a gradient by a percent; with a few thousand units and these batches
// none does. Should one after a change of kernels, only the convolutional model
// concerned fails, and another seed in torchBatch passes.
var torchCases = []struct {
	model string
	batch int
	lr    float32
	ops   []torchOp
	input nn.Shape // zero: the model's own
}{
	{"logistic", 8, 0.1, []torchOp{opFlatten, opLinear}, nn.Shape{}},
	{"leaf-femnist-cnn", 6, 0.1, []torchOp{
		opSame(2), opRelu, opPool, opSame(2), opRelu, opPool, opFlatten, opLinear,
		opRelu, opLinear,
	}, nn.Shape{}},
	// A batch of 6 has two values in a window of the pool whose order depends on
	// the last bit.
	{
		"reddi-emnist-cnn", 7, 0.1,
		[]torchOp{opConv, opRelu, opConv, opRelu, opPool, opFlatten, opLinear, opRelu, opLinear},
		nn.Shape{},
	},
	{
		"fedex-femnist-cnn", 6, 0.1,
		[]torchOp{opConv, opRelu, opConv, opRelu, opPool, opFlatten, opLinear, opRelu, opLinear},
		nn.Shape{},
	},
	{"fedex-cifar-cnn", 6, 0.1, []torchOp{
		opSame(1), opRelu, opPool, opSame(1), opRelu, opPool, opSame(1), opRelu, opPool,
		opFlatten, opLinear, opRelu, opLinear,
	}, nn.Shape{}},
	{"mcmahan-cifar-cnn", 4, 0.1, []torchOp{
		opSame(2), opRelu, opPool3, opLRN, opSame(2), opRelu, opLRN, opPool3,
		opFlatten, opLinear, opRelu, opLinear, opRelu, opLinear,
	}, nn.Shape{}},
	// Weights of normalisations are near 1, so float32 knows their changes to some
	// 1e-4.
	{"resnet18-gn", 3, 0.005, slices.Concat(
		[]torchOp{opPlain(1, 1), opNorm, opRelu}, opBlocks(1), opBlocks(2), opBlocks(2), opBlocks(2),
		[]torchOp{{Op: "mean"}, opLinear},
	), nn.Shape{H: 10, W: 10, C: 3}},
	{"char-gpt", 3, 0.05, slices.Concat(
		[]torchOp{{Op: "embedding"}, {Op: "positions"}}, opTransformer(4, torchOp{Op: "attention", Heads: 4, Causal: true},
			"last"), []torchOp{{Op: "layernorm"}, {Op: "tied"}},
	), nn.Shape{Seq: 24, Vocab: 80}},
	{"vit-tiny", 3, 0.02, slices.Concat(
		[]torchOp{{Op: "conv", Padding: 0, Stride: 4}, {Op: "sequence", ClassToken: true}, {Op: "positions"}},
		opTransformer(6, torchOp{Op: "attention", Heads: 4}, "first"), []torchOp{{Op: "layernorm"}, opLinear},
	), nn.Shape{H: 16, W: 12, C: 3}},
	{"so-tag-lr", 6, 0.1, []torchOp{opFlatten, opLinear}, nn.Shape{}},
	{"mobilenet-small", 3, 0.01, opMobile(), nn.Shape{}},
	{"mbv3-cifar-mid", 3, 0.005, append(opMBV3(0, [5]int{32, 1, 3, 3, 2}, [5]int{48, 2, 3, 3, 2}, [5]int{64, 2, 3, 3, 1},
		[5]int{80, 1, 3, 3, 2}), torchOp{Op: "mean"}, opLinear), nn.Shape{}},
	{"mbv3-cifar", 3, 0.005, append(opMBV3(0, [5]int{32, 2, 5, 4, 2}, [5]int{48, 3, 5, 4, 2}, [5]int{80, 3, 5, 4, 1},
		[5]int{96, 2, 5, 4, 2}), torchOp{Op: "mean"}, opLinear), nn.Shape{}},
	{"mbv3-paper32", 2, 0.01, opPaper32(), nn.Shape{}},
	{"darts-cifar", 2, 0.02, opDARTS(), nn.Shape{H: 12, W: 12, C: 3}},
	{"fedtune-2conv2dense", 6, 0.1, []torchOp{
		opSame(2), opRelu, opPool, opSame(2), opRelu, opPool, opFlatten, opLinear,
		opRelu, opLinear,
	}, nn.Shape{}},
	{"pfllib-cnn", 6, 0.1, []torchOp{
		opConv, opRelu, opPool, opConv, opRelu, opPool, opFlatten, opLinear, opRelu,
		opLinear,
	}, nn.Shape{}},
	{"fedtune-4conv2dense", 6, 0.1, []torchOp{
		opSame(1), opRelu, opSame(1), opRelu, opPool, opSame(1), opRelu, opSame(1), opRelu, opPool,
		opFlatten, opLinear, opRelu, opLinear,
	}, nn.Shape{}},
	{"leaf-char-lstm", 4, 0.1, []torchOp{
		{Op: "embedding"},
		{Op: "lstm", Layers: 2, Biases: 1, ForgetBias: 1},
		opLast,
		opLinear,
	}, nn.Shape{Seq: 20, Vocab: 80}},
	{"fedex-char-lstm", 4, 0.1, []torchOp{
		{Op: "embedding", PaddingIdx: zeroIndex()},
		{Op: "lstm", Layers: 2, Biases: 2},
		opLast, opLinear,
	}, nn.Shape{Seq: 20, Vocab: 101}},
	{
		"tff-char-lstm", 4, 0.1,
		[]torchOp{{Op: "embedding"}, {Op: "lstm", Layers: 2, Biases: 1}, opEvery, opLinear},
		nn.Shape{Seq: 25, Vocab: 90},
	},
	{
		"so-nwp-lstm", 4, 0.1,
		[]torchOp{{Op: "embedding"}, {Op: "lstm", Layers: 1, Biases: 1}, opEvery, opLinear, opLinear},
		nn.Shape{Seq: 8, Vocab: 10004},
	},
}
