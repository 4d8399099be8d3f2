package models

import "github.com/fedfast/fedfast/nn"

var mcmahanCIFAR = model{
	name: "mcmahan-cifar-cnn",
	doc: "The CIFAR-10 model of federated averaging (McMahan et al. 2017), TensorFlow's tutorial network: conv 5x5 64 same, pool 3 stride 2 same, local response normalisation, " +
		"conv 5x5 64 same, local response normalisation, pool 3 stride 2 same, dense 384, dense 192, dense 10 on 24 x 24 x 3; 1,068,298 parameters. " +
		"Normalisation over 4 channels on either side, bias 1, alpha 0.001/9, beta 0.75. TensorFlow's initialisation: Glorot uniform weights, zero biases.",
	input:   nn.Shape{H: 24, W: 24, C: 3},
	classes: 10,
	layers: func(classes int) []nn.Layer {
		norm := nn.LRN{Radius: 4, Bias: 1, Alpha: 0.001 / 9, Beta: 0.75}
		return []nn.Layer{
			nn.Conv2D{Filters: 64, Kernel: 5, Same: true, Init: nn.InitGlorot},
			nn.ReLU{},
			nn.MaxPool{Size: 3, Stride: 2, Same: true},
			norm,
			nn.Conv2D{Filters: 64, Kernel: 5, Same: true, Init: nn.InitGlorot},
			nn.ReLU{},
			norm,
			nn.MaxPool{Size: 3, Stride: 2, Same: true},
			nn.Dense{Units: 384, Init: nn.InitGlorot},
			nn.ReLU{},
			nn.Dense{Units: 192, Init: nn.InitGlorot},
			nn.ReLU{},
			nn.Dense{Units: classes, Init: nn.InitGlorot},
		}
	},
}

var resnet18 = model{
	name: "resnet18",
	doc: "ResNet-18 for images of CIFAR's size (He et al. 2016) with batch normalization: the network of resnet18-gn otherwise; 11,173,962 parameters, 11,220,132 with 100 classes, and " +
		"9,600 running statistics. PyTorch's initialisation.",
	input:   nn.Shape{H: 32, W: 32, C: 3},
	classes: 10,
	layers:  func(classes int) []nn.Layer { return resnet18With(nn.BatchNorm{Momentum: 0.1}, classes) },
}

var resnet18GN = model{
	name: "resnet18-gn",
	doc: "ResNet-18 for images of CIFAR's size (He et al. 2016) with group normalisation of 2 groups in place of batch normalisation: conv 3x3 64, then twice two residual blocks of " +
		"two conv 3x3 for each of 64, 128, 256 and 512 channels, the image halved with each step by a stride of 2 and a strided conv 1x1 in the shortcut, the mean over the image, " +
		"dense 10 on 32 x 32 x 3; 11,173,962 parameters, 11,220,132 with 100 classes. PyTorch's initialisation: weights uniform in +-1/sqrt(inputs of a unit), no biases of convolutions, " +
		"normalisations start as the identity.",
	input:   nn.Shape{H: 32, W: 32, C: 3},
	classes: 10,
	layers:  func(classes int) []nn.Layer { return resnet18With(nn.GroupNorm{Groups: 2}, classes) },
}

func resnet18With(norm nn.Layer, classes int) []nn.Layer {
	layers := []nn.Layer{nn.Conv2D{Filters: 64, Kernel: 3, Pad: 1, NoBias: true}, norm, nn.ReLU{}}
	channels := 64
	for _, filters := range []int{64, 128, 256, 512} {
		for block := range 2 {
			stride := 1
			if block == 0 && filters != channels {
				stride = 2
			}
			b := nn.Residual{Body: []nn.Layer{
				nn.Conv2D{Filters: filters, Kernel: 3, Stride: stride, Pad: 1, NoBias: true},
				norm,
				nn.ReLU{},
				nn.Conv2D{Filters: filters, Kernel: 3, Pad: 1, NoBias: true},
				norm,
			}}
			if stride > 1 {
				b.Shortcut = []nn.Layer{nn.Conv2D{Filters: filters, Kernel: 1, Stride: stride, NoBias: true}, norm}
			}
			layers = append(layers, b, nn.ReLU{})
			channels = filters
		}
	}
	return append(layers, nn.AvgPool{}, nn.Dense{Units: classes})
}
