package models

import "github.com/fedfast/fedfast/nn"

var logistic = model{
	name: "logistic",
	doc: "One dense layer on the raw values: multinomial logistic regression. PyTorch's initialisation. " +
		"Without options for images of 28 x 28 and 62 classes.",
	input:   nn.Shape{H: 28, W: 28, C: 1},
	classes: 62,
	layers: func(classes int) []nn.Layer {
		return []nn.Layer{nn.Dense{Units: classes}}
	},
}

var leafFEMNIST = model{
	name: "leaf-femnist-cnn",
	doc: "LEAF's FEMNIST model (Caldas et al. 2018): conv 5x5 32 same, pool 2, conv 5x5 64 same, pool 2, dense 2048, dense 62 on 28 x 28; " +
		"6,603,710 parameters. TensorFlow's initialisation: Glorot uniform weights, zero biases.",
	input:   nn.Shape{H: 28, W: 28, C: 1},
	classes: 62,
	layers: func(classes int) []nn.Layer {
		return []nn.Layer{
			nn.Conv2D{Filters: 32, Kernel: 5, Same: true, Init: nn.InitGlorot},
			nn.ReLU{},
			nn.MaxPool{Size: 2},
			nn.Conv2D{Filters: 64, Kernel: 5, Same: true, Init: nn.InitGlorot},
			nn.ReLU{},
			nn.MaxPool{Size: 2},
			nn.Dense{Units: 2048, Init: nn.InitGlorot},
			nn.ReLU{},
			nn.Dense{Units: classes, Init: nn.InitGlorot},
		}
	},
}

var reddiEMNIST = model{
	name: "reddi-emnist-cnn",
	doc: "The EMNIST model of adaptive federated optimization (Reddi et al. 2021): conv 3x3 32 valid, conv 3x3 64 valid, pool 2, dropout 0.25, dense 128, " +
		"dropout 0.5, dense 62 on 28 x 28; 1,206,590 parameters. Keras' initialisation: Glorot uniform weights, zero biases.",
	input:   nn.Shape{H: 28, W: 28, C: 1},
	classes: 62,
	layers: func(classes int) []nn.Layer {
		return []nn.Layer{
			nn.Conv2D{Filters: 32, Kernel: 3, Init: nn.InitGlorot},
			nn.ReLU{},
			nn.Conv2D{Filters: 64, Kernel: 3, Init: nn.InitGlorot},
			nn.ReLU{},
			nn.MaxPool{Size: 2},
			nn.Dropout{Rate: 0.25},
			nn.Dense{Units: 128, Init: nn.InitGlorot},
			nn.ReLU{},
			nn.Dropout{Rate: 0.5},
			nn.Dense{Units: classes, Init: nn.InitGlorot},
		}
	},
}

var fedexFEMNIST = model{
	name: "fedex-femnist-cnn",
	doc: "The FEMNIST model of FedEx (Khodak et al. 2021): conv 3x3 32 valid, conv 3x3 64 valid, pool 2, dropout, dense 1024, dropout, dense 62 on 28 x 28; " +
		"9,520,574 parameters. Its dropout rate is a hyperparameter, 0 by itself. PyTorch's initialisation: weights and biases uniform in +-1/sqrt(inputs of a unit).",
	input:   nn.Shape{H: 28, W: 28, C: 1},
	classes: 62,
	layers: func(classes int) []nn.Layer {
		return []nn.Layer{
			nn.Conv2D{Filters: 32, Kernel: 3},
			nn.ReLU{},
			nn.Conv2D{Filters: 64, Kernel: 3},
			nn.ReLU{},
			nn.MaxPool{Size: 2},
			nn.Dropout{},
			nn.Dense{Units: 1024},
			nn.ReLU{},
			nn.Dropout{},
			nn.Dense{Units: classes},
		}
	},
}

var fedexCIFAR = model{
	name: "fedex-cifar-cnn",
	doc: "The CIFAR-10 model of FedEx (Khodak et al. 2021): three times conv 3x3 (32, 64, 64) same and pool 2, dropout, dense 64, dropout, dense 10 on 32 x 32 x 3; " +
		"122,570 parameters. Its dropout rate is a hyperparameter, 0 by itself. PyTorch's initialisation: weights and biases uniform in +-1/sqrt(inputs of a unit).",
	input:   nn.Shape{H: 32, W: 32, C: 3},
	classes: 10,
	layers: func(classes int) []nn.Layer {
		return []nn.Layer{
			nn.Conv2D{Filters: 32, Kernel: 3, Same: true},
			nn.ReLU{},
			nn.MaxPool{Size: 2},
			nn.Conv2D{Filters: 64, Kernel: 3, Same: true},
			nn.ReLU{},
			nn.MaxPool{Size: 2},
			nn.Conv2D{Filters: 64, Kernel: 3, Same: true},
			nn.ReLU{},
			nn.MaxPool{Size: 2},
			nn.Dropout{},
			nn.Dense{Units: 64},
			nn.ReLU{},
			nn.Dropout{},
			nn.Dense{Units: classes},
		}
	},
}

var pfllibCNN = model{
	name: "pfllib-cnn",
	doc: "PFLlib's FedAvgCNN for images: conv 5x5 32 valid, pool 2, conv 5x5 64 valid, pool 2, dense 512, dense 10 on 28 x 28; 582,026 parameters, " +
		"878,538 on 32 x 32 x 3. PyTorch's initialisation: weights and biases uniform in +-1/sqrt(inputs of a unit).",
	input:   nn.Shape{H: 28, W: 28, C: 1},
	classes: 10,
	layers: func(classes int) []nn.Layer {
		return []nn.Layer{
			nn.Conv2D{Filters: 32, Kernel: 5},
			nn.ReLU{},
			nn.MaxPool{Size: 2},
			nn.Conv2D{Filters: 64, Kernel: 5},
			nn.ReLU{},
			nn.MaxPool{Size: 2},
			nn.Dense{Units: 512},
			nn.ReLU{},
			nn.Dense{Units: classes},
		}
	},
}

var fedtune2Conv = model{
	name: "fedtune-2conv2dense",
	doc: "FedTune's model of two convolutional and two dense layers for FEMNIST and Fashion-MNIST. Its paper gives no widths; these are ours: conv 5x5 32 same, pool 2, " +
		"conv 5x5 64 same, pool 2, dense 512, dense 10 on 28 x 28; 1,663,370 parameters, 1,690,046 with 62 classes. " +
		"PyTorch's initialisation: weights and biases uniform in +-1/sqrt(inputs of a unit).",
	input:   nn.Shape{H: 28, W: 28, C: 1},
	classes: 10,
	layers: func(classes int) []nn.Layer {
		return []nn.Layer{
			nn.Conv2D{Filters: 32, Kernel: 5, Same: true},
			nn.ReLU{},
			nn.MaxPool{Size: 2},
			nn.Conv2D{Filters: 64, Kernel: 5, Same: true},
			nn.ReLU{},
			nn.MaxPool{Size: 2},
			nn.Dense{Units: 512},
			nn.ReLU{},
			nn.Dense{Units: classes},
		}
	},
}

var fedtune4Conv = model{
	name: "fedtune-4conv2dense",
	doc: "FedTune's model of four convolutional and two dense layers for CIFAR-10. Its paper gives no widths; these are ours: twice conv 3x3, conv 3x3 64 same and pool 2, " +
		"the first conv of 32 filters and the third of 64, dense 512, dense 10 on 32 x 32 x 3; 2,196,042 parameters. " +
		"PyTorch's initialisation: weights and biases uniform in +-1/sqrt(inputs of a unit).",
	input:   nn.Shape{H: 32, W: 32, C: 3},
	classes: 10,
	layers: func(classes int) []nn.Layer {
		return []nn.Layer{
			nn.Conv2D{Filters: 32, Kernel: 3, Same: true},
			nn.ReLU{},
			nn.Conv2D{Filters: 64, Kernel: 3, Same: true},
			nn.ReLU{},
			nn.MaxPool{Size: 2},
			nn.Conv2D{Filters: 64, Kernel: 3, Same: true},
			nn.ReLU{},
			nn.Conv2D{Filters: 64, Kernel: 3, Same: true},
			nn.ReLU{},
			nn.MaxPool{Size: 2},
			nn.Dense{Units: 512},
			nn.ReLU{},
			nn.Dense{Units: classes},
		}
	},
}

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
