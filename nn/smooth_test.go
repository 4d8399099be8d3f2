package nn

import (
	"strings"
	"testing"
)

func depthwise(stride, before, after int) refOp {
	return refOp{op: "depthwise", stride: stride, dilation: 1, before: before, after: after}
}

// everyActivation is a network with each of Activations, on images and on vectors, behind
// channels that are padded.
func everyActivation() imageCase {
	c := imageCase{name: "activations", in: Shape{H: 4, W: 5, C: 2}}
	for i, a := range Activations() {
		if i < 5 {
			c.layers, c.ops = append(c.layers, Conv2D{Filters: 18 - 3*i, Kernel: 1 + i%2}), append(c.ops, conv(1, 0, 0))
		} else {
			c.layers, c.ops = append(c.layers, Dense{Units: 17 + i}), append(c.ops, dense)
		}
		c.layers, c.ops = append(c.layers, a), append(c.ops, refOp{op: string(a)})
	}
	c.layers, c.ops = append(c.layers, Dense{Units: 3}), append(c.ops, dense)
	return c
}

// smoothCases are networks for TestGradient and TestEvaluate of the layers of small
// mobile networks and of transformers that treat each pixel alone.
var smoothCases = []imageCase{
	everyActivation(),
	{
		"normalisations of rows",
		Shape{H: 4, W: 5, C: 2},
		[]Layer{
			Conv2D{Filters: 21, Kernel: 3},
			LayerNorm{},
			Activation("gelu"),
			Conv2D{Filters: 32, Kernel: 2},
			LayerNorm{RMS: true},
			Dense{Units: 40},
			LayerNorm{},
			Activation("silu"),
			Dense{Units: 7},
			LayerNorm{RMS: true},
			Dense{Units: 3},
		},
		[]refOp{
			conv(1, 0, 0),
			{op: "layernorm"},
			{op: "gelu"},
			conv(1, 0, 0),
			{op: "rmsnorm"},
			dense,
			{op: "layernorm"},
			{op: "silu"},
			dense,
			{op: "rmsnorm"},
			dense,
		},
	},
	{
		"depthwise convolutions of all strides and paddings",
		Shape{H: 9, W: 9, C: 2},
		[]Layer{
			Conv2D{Filters: 18, Kernel: 3, Same: true},
			DepthwiseConv2D{Kernel: 3, Same: true},
			Activation("silu"),
			DepthwiseConv2D{Kernel: 5, Stride: 2, Pad: 2},
			Activation("hardswish"),
			Conv2D{Filters: 33, Kernel: 1, NoBias: true},
			DepthwiseConv2D{Kernel: 3, Stride: 2, Same: true},
			ReLU{},
			DepthwiseConv2D{Kernel: 2, NoBias: true},
			Dense{Units: 3},
		},
		[]refOp{
			conv(1, 1, 1), depthwise(1, 1, 1),
			{op: "silu"},
			depthwise(2, 2, 2),
			{op: "hardswish"},
			plainConv(1, 0, 0),
			depthwise(2, 1, 1), relu,
			{op: "depthwise", stride: 1, dilation: 1, noBias: true},
			dense,
		},
	},
	{
		"dilated and skipping depthwise convolutions, larger than the image",
		Shape{H: 10, W: 11, C: 1},
		[]Layer{
			Conv2D{Filters: 5, Kernel: 1},
			DepthwiseConv2D{Kernel: 3, Dilation: 2, Pad: 2},
			DepthwiseConv2D{Kernel: 3, Stride: 3, Dilation: 2, Pad: 1},
			DepthwiseConv2D{Kernel: 5, Same: true},
			DepthwiseConv2D{Kernel: 1, Stride: 2},
			Dense{Units: 3},
		},
		[]refOp{
			conv(1, 0, 0),
			{op: "depthwise", stride: 1, dilation: 2, before: 2, after: 2},
			{op: "depthwise", stride: 3, dilation: 2, before: 1, after: 1},
			depthwise(1, 2, 2), depthwise(2, 0, 0), dense,
		},
	},
	{
		"squeeze-and-excitation within residual blocks",
		Shape{H: 6, W: 6, C: 1},
		[]Layer{
			Conv2D{Filters: 18, Kernel: 3, Pad: 1, Stride: 2},
			Activation("hardswish"),
			Residual{Body: []Layer{
				Conv2D{Filters: 34, Kernel: 1},
				Activation("hardswish"),
				DepthwiseConv2D{Kernel: 3, Pad: 1},
				SqueezeExcitation{Units: 9},
				GroupNorm{Groups: 2},
				Conv2D{Filters: 18, Kernel: 1},
			}},
			SqueezeExcitation{Units: 17},
			LayerNorm{},
			AvgPool{},
			Dense{Units: 3},
		},
		[]refOp{
			conv(2, 1, 1),
			{op: "hardswish"},
			{op: "residual", body: []refOp{
				conv(1, 0, 0),
				{op: "hardswish"},
				depthwise(1, 1, 1),
				{op: "squeeze"},
				groupNorm(2),
				conv(1, 0, 0),
			}},
			{op: "squeeze"},
			{op: "layernorm"},
			{op: "avgpool", size: 3, stride: 1},
			dense,
		},
	},
	{
		"attention",
		Shape{H: 4, W: 4, C: 2},
		[]Layer{
			Conv2D{Filters: 6, Kernel: 2, Stride: 2},
			Sequence{ClassToken: true},
			Positions{},
			Residual{Body: []Layer{LayerNorm{}, Attention{Heads: 3}}},
			Activation("gelu"),
			Residual{Body: []Layer{Attention{Heads: 2, Causal: true}, LayerNorm{RMS: true}}},
			Steps{Take: "mean"},
			Dense{Units: 3},
		},
		[]refOp{
			conv(2, 0, 0),
			{op: "sequence"},
			{op: "positions"},
			{op: "residual", body: []refOp{{op: "layernorm"}, {op: "attention", groups: 3}}},
			{op: "gelu"},
			{op: "residual", body: []refOp{{op: "causal", groups: 2}, {op: "rmsnorm"}}},
			{op: "steps"},
			dense,
		},
	},
}

// smoothNet is a small network of these layers.
func smoothNet(t testing.TB) *Model {
	t.Helper()
	m, err := NewModel("test", Shape{H: 9, W: 8, C: 2}, 7,
		Conv2D{Filters: 18, Kernel: 3, Same: true}, Activation("gelu"), DepthwiseConv2D{Kernel: 5, Stride: 2, Same: true},
		LayerNorm{RMS: true}, Activation("silu"),
		Residual{Body: []Layer{
			LayerNorm{},
			DepthwiseConv2D{Kernel: 3, Same: true, NoBias: true},
			Activation("hardswish"),
			SqueezeExcitation{Units: 5},
			Activation("sigmoid"),
			Dropout{Rate: 0.1},
		}},
		Dense{Units: 20}, Activation("tanh"), LayerNorm{}, Dense{Units: 7})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// TestSmoothErrors checks the messages of layers that cannot stand where they are.
func TestSmoothErrors(t *testing.T) {
	image := Shape{H: 8, W: 8, C: 3}
	first := Conv2D{Filters: 16, Kernel: 1}
	for _, c := range []struct {
		layers []Layer
		want   string
	}{
		{[]Layer{Activation("gelu")}, "layer 1 (gelu): a layer of type gelu cannot be the first one"},
		{[]Layer{LayerNorm{}}, "layer 1 (layernorm): a normalization cannot be the first layer"},
		{[]Layer{first, LayerNorm{RMS: true, Epsilon: 2}}, "layer 2 (rmsnorm): epsilon 2; it must be at least 0 and below 1"},
		{
			[]Layer{DepthwiseConv2D{Kernel: 3}},
			"layer 1 (depthwise): a depthwise convolution needs the image of a convolution as its input",
		},
		{
			[]Layer{first, DepthwiseConv2D{Kernel: 5, Dilation: 2}},
			"layer 2 (depthwise): a kernel that reaches over 9 pixels on an image of 8 x 8",
		},
		{
			[]Layer{first, DepthwiseConv2D{Kernel: 3, Pad: 3}},
			"layer 2 (depthwise): padding 3 with a kernel that reaches over 3 pixels",
		},
		{[]Layer{first, DepthwiseConv2D{}}, "layer 2 (depthwise): kernel 0; it must be from 1 to 11"},
		{[]Layer{first, SqueezeExcitation{}}, "layer 2 (squeeze): 0 units; must be at least 1"},
	} {
		_, err := NewModel("test", image, 3, append(c.layers, Dense{Units: 3})...)
		if err == nil || !strings.HasPrefix(err.Error(), "model test: "+c.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%v: error %v, want %q", c.layers, err, c.want)
		}
	}
}
