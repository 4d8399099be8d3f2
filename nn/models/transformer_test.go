package models

import (
	"testing"

	"github.com/fedfast/fedfast/nn"
)

// tinyTransformers are transformers with what the named ones lack, each with
// PyTorch's network.
var tinyTransformers = []struct {
	name   string
	input  nn.Shape
	layers []nn.Layer
	ops    []torchOp
}{
	{
		"masks and heads of odd sizes",
		nn.Shape{Seq: 9, Vocab: 6},
		[]nn.Layer{
			nn.Embedding{Dim: 21},
			nn.Positions{},
			nn.Attention{Heads: 3, MaskPadding: true},
			nn.RMSNorm{},
			nn.Residual{Body: []nn.Layer{nn.LayerNorm{}, nn.Attention{Heads: 1, MaskPadding: true}}},
			nn.SiLU{}, // smooth: a ReLU's kink lets levels that round differently part
			nn.Dense{Units: 6},
		},
		[]torchOp{
			{Op: "embedding"},
			{Op: "positions"},
			{Op: "attention", Heads: 3, Mask: true},
			{Op: "rmsnorm"},
			{Op: "residual", Body: []torchOp{{Op: "layernorm"}, {Op: "attention", Heads: 1, Mask: true}}},
			{Op: "silu"},
			opLinear, opEvery,
		},
	},
	{
		"causal over more than a block, with a shortcut",
		nn.Shape{Seq: 150, Vocab: 7},
		[]nn.Layer{
			nn.Embedding{Dim: 12},
			nn.Positions{},
			nn.Residual{
				Body:     []nn.Layer{nn.LayerNorm{}, nn.Attention{Heads: 2, Causal: true}, nn.Residual{Body: []nn.Layer{nn.Dense{Units: 30}, nn.GELU{}, nn.Dense{Units: 12}}}},
				Shortcut: []nn.Layer{nn.Dense{Units: 12}},
			},
			nn.Steps{Take: nn.TakeMean},
			nn.Dense{Units: 4},
		},
		[]torchOp{
			{Op: "embedding"},
			{Op: "positions"},
			{
				Op:       "residual",
				Body:     []torchOp{{Op: "layernorm"}, {Op: "attention", Heads: 2, Causal: true}, {Op: "residual", Body: []torchOp{opLinear, {Op: "gelu"}, opLinear}}},
				Shortcut: []torchOp{opLinear},
			},
			{Op: "steps", Take: "mean"},
			opLinear,
		},
	},
	{
		"patches without a class token",
		nn.Shape{H: 6, W: 9, C: 2},
		[]nn.Layer{
			nn.Conv2D{Filters: 20, Kernel: 3, Stride: 3}, nn.Sequence{}, nn.Attention{Heads: 5}, nn.Steps{}, nn.LayerNorm{}, nn.Dense{Units: 3},
		},
		[]torchOp{
			{Op: "conv", Padding: 0, Stride: 3}, {Op: "sequence"}, {Op: "attention", Heads: 5}, {Op: "steps", Take: "last"}, {Op: "layernorm"}, opLinear,
		},
	},
}

// TestTransformerStepsMatchTorch compares steps of small transformers with PyTorch's.
func TestTransformerStepsMatchTorch(t *testing.T) {
	python := findTorch(t)
	for _, c := range tinyTransformers {
		t.Run(c.name, func(t *testing.T) {
			classes := c.layers[len(c.layers)-1].(nn.Dense).Units
			m, err := nn.NewModel("tiny", c.input, classes, c.layers...)
			if err != nil {
				t.Fatal(err)
			}
			compareSteps(t, python, m, c.ops, torchBatch(m, 5), momentum(0.05))
		})
	}
}
