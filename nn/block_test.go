package nn

func poolSame(size, stride, before, after int) refOp {
	return refOp{op: "pool", size: size, stride: stride, before: before, after: after}
}

func plainConv(stride, before, after int) refOp {
	return refOp{op: "conv", stride: stride, before: before, after: after, noBias: true}
}

func groupNorm(groups int) refOp { return refOp{op: "groupnorm", groups: groups} }

// blockCases are networks for TestGradient and TestEvaluate of the layers that the
// CIFAR networks add: given padding, same pools, normalisations, residual blocks.
var blockCases = []imageCase{
	{
		"padding that is given, no bias",
		Shape{H: 8, W: 7, C: 2},
		[]Layer{
			Conv2D{Filters: 18, Kernel: 3, Stride: 2, Pad: 1, NoBias: true},
			ReLU{},
			Conv2D{Filters: 4, Kernel: 4, KernelW: 3, Pad: 2, NoBias: true},
			ReLU{},
			Dense{Units: 3},
		},
		[]refOp{plainConv(2, 1, 1), relu, plainConv(1, 2, 2), relu, dense},
	},
	{
		"same pools of 3 with stride 2, even and odd sizes",
		Shape{H: 10, W: 8, C: 1},
		[]Layer{
			Conv2D{Filters: 5, Kernel: 3, Same: true},
			ReLU{},
			MaxPool{Size: 3, Stride: 2, Same: true},
			Conv2D{Filters: 18, Kernel: 3, Same: true},
			ReLU{},
			MaxPool{Size: 3, Stride: 2, Same: true},
			MaxPool{Size: 2, Same: true},
			Dense{Units: 3},
		},
		[]refOp{conv(1, 1, 1), relu, poolSame(3, 2, 0, 1), conv(1, 1, 1), relu, {
			op: "pool", size: 3, stride: 2, before: 1,
			after: 1,
		}, poolSame(2, 2, 0, 1), dense},
	},
	{
		"same pool with clipped windows on all sides, into a border",
		Shape{H: 6, W: 5, C: 1},
		[]Layer{
			Conv2D{Filters: 4, Kernel: 3, Same: true},
			MaxPool{Size: 5, Stride: 1, Same: true},
			Conv2D{Filters: 4, Kernel: 3, Same: true},
			MaxPool{Size: 9, Stride: 1, Same: true},
			Dense{Units: 3},
		},
		[]refOp{conv(1, 1, 1), poolSame(5, 1, 2, 2), conv(1, 1, 1), poolSame(9, 1, 4, 4), dense},
	},
	{
		"average pools, overlapping and of the whole image",
		Shape{H: 8, W: 9, C: 1},
		[]Layer{
			Conv2D{Filters: 5, Kernel: 2},
			ReLU{},
			AvgPool{Size: 3, Stride: 2},
			Conv2D{Filters: 18, Kernel: 2},
			ReLU{},
			AvgPool{},
			Dense{Units: 3},
		},
		[]refOp{
			conv(1, 0, 0), relu,
			{op: "avgpool", size: 3, stride: 2},
			conv(1, 0, 0), relu,
			{op: "avgpool", size: 2, stride: 1},
			dense,
		},
	},
	{
		"local response normalisation",
		Shape{H: 6, W: 6, C: 2},
		[]Layer{
			Conv2D{Filters: 18, Kernel: 3, Same: true},
			ReLU{},
			LRN{Radius: 4, Bias: 1, Alpha: 0.3, Beta: 0.75},
			MaxPool{Size: 2},
			Conv2D{Filters: 5, Kernel: 2},
			LRN{Radius: 1, Bias: 0.5, Alpha: 2, Beta: 0.5},
			LRN{Radius: 9, Bias: 2, Alpha: 0.5, Beta: 1},
			LRN{Bias: 1, Alpha: 1, Beta: 0.25},
			Dense{Units: 3},
		},
		[]refOp{
			conv(1, 1, 1), relu,
			{op: "lrn", lrn: LRN{Radius: 4, Bias: 1, Alpha: 0.3, Beta: 0.75}},
			pool(2),
			conv(1, 0, 0),
			{op: "lrn", lrn: LRN{Radius: 1, Bias: 0.5, Alpha: 2, Beta: 0.5}},
			{op: "lrn", lrn: LRN{Radius: 9, Bias: 2, Alpha: 0.5, Beta: 1}},
			{op: "lrn", lrn: LRN{Bias: 1, Alpha: 1, Beta: 0.25}},
			dense,
		},
	},
	{
		"group normalisation",
		Shape{H: 7, W: 5, C: 2},
		[]Layer{
			Conv2D{Filters: 18, Kernel: 3, Same: true, NoBias: true},
			GroupNorm{Groups: 2},
			ReLU{},
			Conv2D{Filters: 6, Kernel: 3},
			GroupNorm{Groups: 3},
			MaxPool{Size: 3, Stride: 2, Same: true},
			ReLU{},
			GroupNorm{Groups: 1},
			Dense{Units: 3},
		},
		[]refOp{
			plainConv(1, 1, 1), groupNorm(2), relu,
			conv(1, 0, 0), groupNorm(3), poolSame(3, 2, 1, 1), relu, groupNorm(1), dense,
		},
	},
	{
		"residual blocks",
		Shape{H: 7, W: 6, C: 1},
		[]Layer{
			Conv2D{Filters: 6, Kernel: 3, Same: true},
			ReLU{},
			Residual{Body: []Layer{
				Conv2D{Filters: 6, Kernel: 3, Pad: 1, NoBias: true},
				GroupNorm{Groups: 2},
				ReLU{},
				Conv2D{Filters: 6, Kernel: 3, Same: true},
			}},
			ReLU{},
			Residual{
				Body: []Layer{
					Conv2D{Filters: 18, Kernel: 3, Stride: 2, Pad: 1},
					ReLU{},
					Conv2D{Filters: 18, Kernel: 3, Pad: 1},
					GroupNorm{Groups: 2},
				},
				Shortcut: []Layer{Conv2D{Filters: 18, Kernel: 1, Stride: 2, NoBias: true}, GroupNorm{Groups: 2}},
			},
			ReLU{},
			Residual{
				Body:     []Layer{MaxPool{Size: 3, Stride: 1, Same: true}, ReLU{}},
				Shortcut: []Layer{Conv2D{Filters: 18, Kernel: 3, Same: true}, ReLU{}},
			},
			AvgPool{Size: 3},
			Dense{Units: 3},
		},
		[]refOp{
			conv(1, 1, 1), relu,
			{op: "residual", body: []refOp{plainConv(1, 1, 1), groupNorm(2), relu, conv(1, 1, 1)}},
			relu,
			{
				op: "residual", body: []refOp{conv(2, 1, 1), relu, conv(1, 1, 1), groupNorm(2)},
				shortcut: []refOp{plainConv(2, 0, 0), groupNorm(2)},
			},
			relu,
			{op: "residual", body: []refOp{poolSame(3, 1, 1, 1), relu}, shortcut: []refOp{conv(1, 1, 1), relu}},
			{op: "avgpool", size: 3, stride: 3},
			dense,
		},
	},
	{
		"residual block as the first layer, within another",
		Shape{H: 4, W: 5, C: 1},
		[]Layer{
			Residual{
				Body: []Layer{
					Conv2D{Filters: 5, Kernel: 3, Same: true},
					Residual{Body: []Layer{ReLU{}, Conv2D{Filters: 5, Kernel: 3, Same: true}}},
				},
				Shortcut: []Layer{Conv2D{Filters: 5, Kernel: 1}},
			},
			Dense{Units: 3},
		},
		[]refOp{{
			op: "residual", body: []refOp{conv(1, 1, 1), {op: "residual", body: []refOp{relu, conv(1, 1, 1)}}},
			shortcut: []refOp{conv(1, 0, 0)},
		}, dense},
	},
}
