package models

import "github.com/fedfast/fedfast/nn"

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
