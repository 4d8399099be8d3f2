package models

import "github.com/fedfast/fedfast/nn"

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
		layers = append(layers, blocks(6, 128, nn.Attention{Heads: 4}, nn.Steps{Take: nn.TakeFirst})...)
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
