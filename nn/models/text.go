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

var tffCharLSTM = model{
	name: "tff-char-lstm",
	doc: "The Shakespeare model of TensorFlow Federated's research baselines (Reddi et al. 2021): embedding 90 x 8, two LSTM layers of 256, dense 90 at every one of 80 steps; " +
		"820,522 parameters. Keras' initialisation: embedding uniform in +-0.05, Glorot uniform input and dense weights, orthonormal recurrent weights, " +
		"biases zero but for the forget gates', which start at 1 (TensorFlow Federated's own code draws the LSTM's input weights from a normal distribution). A pad (token 0) is an ordinary token here; with its label masked and at the end of a " +
		"sequence, as these data sets have it, Keras' masking gives the same.",
	input:   nn.Shape{Seq: 80, Vocab: 90},
	classes: 90,
	layers: func(classes int) []nn.Layer {
		return []nn.Layer{
			nn.Embedding{Dim: 8, Init: nn.InitKeras},
			nn.LSTM{Hidden: 256, Layers: 2, EveryStep: true, OneBias: true, Init: nn.InitKeras},
			nn.Dense{Units: classes, Init: nn.InitKeras},
		}
	},
}

var soNWPLSTM = model{
	name: "so-nwp-lstm",
	doc: "The next-word model for Stack Overflow (Reddi et al. 2021): embedding 10,004 x 96, LSTM 670, dense 96 without activation, dense 10,004 at every one of 20 steps; " +
		"4,050,748 parameters. The vocabulary is 10,000 words and the tokens for padding, begin, end and an unknown word. Keras' initialisation, as in tff-char-lstm.",
	input:   nn.Shape{Seq: 20, Vocab: 10004},
	classes: 10004,
	layers: func(classes int) []nn.Layer {
		return []nn.Layer{
			nn.Embedding{Dim: 96, Init: nn.InitKeras},
			nn.LSTM{Hidden: 670, EveryStep: true, OneBias: true, Init: nn.InitKeras},
			nn.Dense{Units: 96, Init: nn.InitKeras},
			nn.Dense{Units: classes, Init: nn.InitKeras},
		}
	},
}

var soTagLR = model{
	name: "so-tag-lr",
	doc: "Logistic regression for the tags of Stack Overflow's questions (Reddi et al. 2021): the 500 most frequent tags by the frequencies of the 10,000 most frequent words; " +
		"5,000,500 parameters. Keras' initialisation: Glorot uniform weight, zero bias.",
	input:   nn.Shape{H: 1, W: 1, C: 10000},
	classes: 500,
	layers:  func(classes int) []nn.Layer { return []nn.Layer{nn.Dense{Units: classes, Init: nn.InitGlorot}} },
}

var charGPT = model{
	name: "char-gpt",
	doc: "A transformer in the form of GPT-2 (Radford et al. 2019) for the next character of Shakespeare: embedding 80 x 128 and 80 positions, four blocks of causal attention with 4 heads " +
		"and a dense layer of 512 with GELU, each after a layer normalisation, and outputs by the table of the embedding on the last of 80 steps; 813,824 parameters. " +
		"The sizes are ours. GPT-2's initialisation: normals of deviation 0.02, zero biases.",
	input:   nn.Shape{Seq: 80, Vocab: 80},
	classes: 80,
	layers: func(int) []nn.Layer {
		layers := append([]nn.Layer{nn.Embedding{Dim: 128, Init: nn.InitGPT2}, nn.Positions{}}, blocks(4, 128, nn.Attention{Heads: 4, Causal: true, Init: nn.InitGPT2}, nn.Steps{})...)
		return append(layers, nn.LayerNorm{}, nn.Tied{})
	},
}

var vitTiny = model{
	name: "vit-tiny",
	doc: "A vision transformer (Dosovitskiy et al. 2021) for CIFAR: patches of 4 x 4 by a convolution of 128 filters, a class token and 65 positions, six blocks of attention with 4 heads " +
		"and a dense layer of 512 with GELU, each after a layer normalisation, and dense 10 on the class token, on 32 x 32 x 3; 1,205,898 parameters. The sizes are ours. " +
		"PyTorch's initialisation; class token and positions are normals of deviation 0.02.",
	input:   nn.Shape{H: 32, W: 32, C: 3},
	classes: 10,
	layers: func(classes int) []nn.Layer {
		layers := []nn.Layer{nn.Conv2D{Filters: 128, Kernel: 4, Stride: 4}, nn.Sequence{ClassToken: true}, nn.Positions{}}
		layers = append(layers, blocks(6, 128, nn.Attention{Heads: 4}, nn.Steps{Take: "first"})...)
		return append(layers, nn.LayerNorm{}, nn.Dense{Units: classes})
	},
}

// blocks returns n blocks of a transformer that is width channels wide. What goes on
// after them is one step, which is taken as early as nothing else is needed: before
// the dense layers of the last block.
func blocks(n, width int, attention nn.Attention, last nn.Steps) []nn.Layer {
	var layers []nn.Layer
	for i := range n {
		layers = append(layers, nn.Residual{Body: []nn.Layer{nn.LayerNorm{}, attention}})
		if i == n-1 {
			layers = append(layers, last)
		}
		layers = append(layers, nn.Residual{Body: []nn.Layer{
			nn.LayerNorm{}, nn.Dense{Units: 4 * width, Init: attention.Init}, nn.Activation("gelu"), nn.Dense{Units: width, Init: attention.Init},
		}})
	}
	return layers
}
