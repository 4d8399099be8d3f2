package nn

import "testing"

// leakyReLU is x above zero, and slope times x below.
func leakyReLU(slope float32) Layer {
	return Elementwise{Name: "leakyrelu", F: func(x float32) (y, dy float32) {
		if x <= 0 {
			return slope * x, slope
		}
		return x, 1
	}}
}

// seriesCases are networks for TestGradient and others on images of one row, and of windows
// that are no squares.
var seriesCases = []imageCase{
	{
		"one row, which becomes a sequence and an image again",
		Shape{H: 1, W: 21, C: 3},
		[]Layer{
			Conv2D{Filters: 6, Kernel: 1, KernelW: 5, Pad: 2},
			ReLU{},
			MaxPool{Size: 1, SizeW: 3, Stride: 2, Pad: 1},
			Conv2D{Filters: 8, Kernel: 1, KernelW: 3, Groups: 2, Dilation: 2, Pad: 2},
			Sequence{},
			Image{},
			Conv2D{Filters: 4, Kernel: 1, KernelW: 3, Groups: 2, Stride: 2, Pad: 1, NoBias: true},
			AvgPool{Size: 1, SizeW: 2, Stride: 1},
			AvgPool{OutH: 1, OutW: 3},
			Dense{Units: 3},
		},
		[]refOp{
			conv(1, 2, 2), relu,
			{op: "pool", size: 1, columns: 3, stride: 2, before: 1, after: 1},
			{op: "conv", stride: 1, before: 2, after: 2, dilation: 2},
			plainConv(2, 1, 1),
			{op: "avgpool", size: 1, columns: 2, stride: 1},
			{op: "adaptive", size: 1, columns: 3},
			dense,
		},
	},
	{
		"windows of other rows than columns",
		Shape{H: 8, W: 7, C: 2},
		[]Layer{
			Conv2D{Filters: 5, Kernel: 3, KernelW: 1, Pad: 1},
			AvgPool{Size: 3, SizeW: 2, Stride: 2, Ceil: true},
			Conv2D{Filters: 4, Kernel: 2, KernelW: 3, Pad: 1},
			MaxPool{OutH: 3, OutW: 2},
			AvgPool{OutH: 2, OutW: 5},
			Conv2D{Filters: 3, Kernel: 1},
			AvgPool{},
		},
		[]refOp{
			conv(1, 1, 1),
			{op: "avgpool", size: 3, columns: 2, stride: 2, after: 1},
			conv(1, 1, 1),
			{op: "adaptive", size: 3, columns: 2, largest: true},
			{op: "adaptive", size: 2, columns: 5},
			conv(1, 0, 0),
			{op: "adaptive", size: 1, columns: 1},
		},
	},
	{
		"products and activations of straight lines",
		Shape{H: 6, W: 5, C: 2},
		[]Layer{
			Conv2D{Filters: 6, Kernel: 3},
			Scale{Factor: 20, Always: true},
			Activation("relu6"),
			Graph{Branches: []Branch{
				{From: []int{graphInput}, Layers: []Layer{AvgPool{}, Conv2D{Filters: 6, Kernel: 1}, Activation("sigmoid")}},
				{From: []int{0, graphInput}, Join: joinMultiply, Layers: []Layer{Conv2D{Filters: 5, Kernel: 1}, leakyReLU(0.25)}},
				{From: []int{graphInput}, Layers: []Layer{Conv2D{Filters: 5, Kernel: 1}, Activation("tanh")}},
				{From: []int{1, 2}, Join: joinMultiply},
			}},
			Dense{Units: 3},
		},
		[]refOp{
			conv(1, 0, 0),
			{op: "by20"},
			{op: "relu6"},
			{op: "graph", branches: []refBranch{
				{from: []int{-1}, ops: []refOp{{op: "adaptive", size: 1, columns: 1}, conv(1, 0, 0), {op: "sigmoid"}}},
				{from: []int{-1, 0}, times: true, ops: []refOp{conv(1, 0, 0), {op: "leaky"}}},
				{from: []int{-1}, ops: []refOp{conv(1, 0, 0), {op: "tanh"}}},
				{from: []int{1, 2}, times: true},
			}},
			dense,
		},
	},
	{
		"parts of the channels, shuffled",
		Shape{H: 6, W: 5, C: 2},
		[]Layer{
			Conv2D{Filters: 18, Kernel: 3, Groups: 2},
			Channels{Groups: 3},
			Graph{Branches: []Branch{
				{From: []int{graphInput}, Layers: []Layer{Channels{Count: 7}}},
				{From: []int{graphInput}, Layers: []Layer{Channels{First: 7}, Conv2D{Filters: 5, Kernel: 1}, Activation("tanh")}},
				{From: []int{0, 1}, Join: joinConcat},
			}},
			Channels{First: 2, Count: 8, Groups: 4},
			AvgPool{},
			Channels{Groups: 2},
			Dense{Units: 3},
		},
		[]refOp{
			conv(1, 0, 0),
			{op: "channels", size: 18, groups: 3},
			{op: "graph", branches: []refBranch{
				{from: []int{-1}, ops: []refOp{{op: "channels", size: 7, groups: 1}}},
				{from: []int{-1}, ops: []refOp{{op: "channels", before: 7, size: 11, groups: 1}, conv(1, 0, 0), {op: "tanh"}}},
				{from: []int{0, 1}, concat: true},
			}},
			{op: "channels", before: 2, size: 8, groups: 4},
			{op: "adaptive", size: 1, columns: 1},
			{op: "channels", size: 8, groups: 2},
			dense,
		},
	},
	{
		"the steps of an image in the reverse order, twice",
		Shape{H: 1, W: 7, C: 2},
		[]Layer{
			Conv2D{Filters: 5, Kernel: 1, KernelW: 3},
			Sequence{},
			Reverse{},
			Image{},
			Conv2D{Filters: 4, Kernel: 1, KernelW: 2},
			Sequence{},
			Reverse{},
			Image{},
			Dense{Units: 3},
		},
		[]refOp{conv(1, 0, 0), {op: "flip"}, conv(1, 0, 0), {op: "flip"}, dense},
	},
}

// seriesNet has dropout of channels and the layers of the cases above.
func seriesNet(t *testing.T) *Model {
	t.Helper()
	m, err := NewModel("series", Shape{H: 1, W: 21, C: 3}, 3,
		Conv2D{Filters: 6, Kernel: 1, KernelW: 5, Pad: 2}, Activation("relu6"), Dropout{Rate: 0.2, Channels: true},
		MaxPool{Size: 1, SizeW: 3, Stride: 2, Pad: 1}, Sequence{ClassToken: true},
		Graph{Branches: []Branch{
			{From: []int{graphInput}, Layers: []Layer{Activation("tanh"), Reverse{}}},
			{From: []int{graphInput, 0}, Join: joinMultiply, Layers: []Layer{leakyReLU(0.1), Scale{Factor: 2, Always: true}}},
			{From: []int{0, 1}, Join: joinConcat},
		}},
		Image{}, AvgPool{OutH: 1, OutW: 4}, Dense{Units: 3})
	if err != nil {
		t.Fatal(err)
	}
	return m
}
