package models

import "github.com/fedfast/fedfast/nn"

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
