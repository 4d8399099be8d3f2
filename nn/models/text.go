package models

import "github.com/fedfast/fedfast/nn"

var leafCharLSTM = model{
	name: "leaf-char-lstm",
	doc: "LEAF's Shakespeare model (Caldas et al. 2018): embedding 80 x 8, two LSTM layers of 256, dense 80 on the last of 80 steps; " +
		"817,872 parameters. TensorFlow's initialisation: Glorot uniform for the embedding, each LSTM's one kernel and the dense weight, zero biases, " +
		"and a constant 1 added to the forget gates, as BasicLSTMCell does.",
	input:   nn.Shape{Seq: 80, Vocab: 80},
	classes: 80,
	layers: func(classes int) []nn.Layer {
		return []nn.Layer{
			nn.Embedding{Dim: 8, Init: nn.InitGlorot},
			nn.LSTM{Hidden: 256, Layers: 2, OneBias: true, ForgetBias: 1, Init: nn.InitGlorot},
			nn.Dense{Units: classes, Init: nn.InitGlorot},
		}
	},
}

var fedexCharLSTM = model{
	name: "fedex-char-lstm",
	doc: "The Shakespeare model of FedEx (Khodak et al. 2021): embedding 101 x 8 with index 0 as padding, two LSTM layers of 256 with dropout between, " +
		"dense 101 on the last of 80 steps; 825,485 parameters with PyTorch's two biases. PyTorch's initialisation: standard normal embedding, " +
		"LSTM uniform in +-1/16, dense uniform in +-1/sqrt(inputs).",
	input:   nn.Shape{Seq: 80, Vocab: 101},
	classes: 101,
	layers: func(classes int) []nn.Layer {
		return []nn.Layer{
			nn.Embedding{Dim: 8, ZeroPadding: true},
			nn.LSTM{Hidden: 256, Layers: 2, Droppable: true},
			nn.Dense{Units: classes},
		}
	},
}
