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
