package models

import "github.com/fedfast/fedfast/nn"

var mobilenetSmall = model{
	name: "mobilenet-small",
	doc: "MobileNetV3-Small (Howard et al. 2019) for CIFAR: a stem of 16 filters with stride 1, 11 inverted residual blocks of depthwise convolutions 3x3 and 5x5 with squeeze-and-excitation, " +
		"conv 1x1 576, mean, dense 1024 with dropout 0.2, dense 10 on 32 x 32 x 3; 1,528,106 parameters. Group normalisation of 8 channels per group stands for batch normalisation, whose averages over " +
		"a client's few samples are no model for all. PyTorch's initialisation: weights and biases uniform in +-1/sqrt(inputs of a unit).",
	input:   nn.Shape{H: 32, W: 32, C: 3},
	classes: 10,
	layers: func(classes int) []nn.Layer {
		layers := []nn.Layer{nn.Conv2D{Filters: 16, Kernel: 3, Pad: 1, NoBias: true}, eights(16), nn.Activation("hardswish")}
		channels := 16
		for _, b := range []inverted{
			{3, 16, 16, true, nn.ReLU{}, 2},
			{3, 72, 24, false, nn.ReLU{}, 2},
			{3, 88, 24, false, nn.ReLU{}, 1},
			{5, 96, 40, true, nn.Activation("hardswish"), 2},
			{5, 240, 40, true, nn.Activation("hardswish"), 1},
			{5, 240, 40, true, nn.Activation("hardswish"), 1},
			{5, 120, 48, true, nn.Activation("hardswish"), 1},
			{5, 144, 48, true, nn.Activation("hardswish"), 1},
			{5, 288, 96, true, nn.Activation("hardswish"), 2},
			{5, 576, 96, true, nn.Activation("hardswish"), 1},
			{5, 576, 96, true, nn.Activation("hardswish"), 1},
		} {
			if body := b.layers(channels); b.stride == 1 && b.out == channels {
				layers = append(layers, nn.Residual{Body: body})
			} else {
				layers = append(layers, body...)
			}
			channels = b.out
		}
		return append(layers,
			nn.Conv2D{Filters: 576, Kernel: 1, NoBias: true}, eights(576), nn.Activation("hardswish"), nn.AvgPool{},
			nn.Dense{Units: 1024}, nn.Activation("hardswish"), nn.Dropout{Rate: 0.2}, nn.Dense{Units: classes})
	},
}

// eights normalises channels in groups of 8.
func eights(channels int) nn.Layer { return nn.GroupNorm{Groups: channels / 8} }

// inverted is an inverted residual block: the width within and of what it gives, and
// whether squeeze-and-excitation is in it.
type inverted struct {
	kernel, wide, out int
	squeeze           bool
	activation        nn.Layer
	stride            int
}

// layers returns the block after channels.
func (b inverted) layers(channels int) []nn.Layer {
	var layers []nn.Layer
	if b.wide != channels {
		layers = append(layers, nn.Conv2D{Filters: b.wide, Kernel: 1, NoBias: true}, eights(b.wide), b.activation)
	}
	layers = append(layers, nn.DepthwiseConv2D{Kernel: b.kernel, Stride: b.stride, Pad: b.kernel / 2, NoBias: true}, eights(b.wide), b.activation)
	if b.squeeze {
		units := (b.wide/4 + 4) / 8 * 8
		if 10*units < 9*(b.wide/4) {
			units += 8
		}
		layers = append(layers, nn.SqueezeExcitation{Units: units})
	}
	return append(layers, nn.Conv2D{Filters: b.out, Kernel: 1, NoBias: true}, eights(b.out))
}
