package models

import (
	"testing"

	"github.com/fedfast/fedfast/nn"
)

// tinyNet is a small network and PyTorch's.
type tinyNet struct {
	name   string
	input  nn.Shape
	layers []nn.Layer
	ops    []torchOp
}

// tinyTransformers are transformers with what the named ones lack.
var tinyTransformers = []tinyNet{
	{
		"masks and heads of odd sizes",
		nn.Shape{Seq: 9, Vocab: 6},
		[]nn.Layer{
			nn.Embedding{Dim: 21},
			nn.Positions{},
			nn.Attention{Heads: 3, MaskPadding: true},
			nn.LayerNorm{RMS: true},
			nn.Residual{Body: []nn.Layer{nn.LayerNorm{}, nn.Attention{Heads: 1, MaskPadding: true}}},
			nn.Activation("silu"), // smooth: a ReLU's kink lets levels that round differently part
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
				Body: []nn.Layer{
					nn.LayerNorm{},
					nn.Attention{Heads: 2, Causal: true},
					nn.Residual{Body: []nn.Layer{nn.Dense{Units: 30}, nn.Activation("gelu"), nn.Dense{Units: 12}}},
				},
				Shortcut: []nn.Layer{nn.Dense{Units: 12}},
			},
			nn.Steps{Take: "mean"},
			nn.Dense{Units: 4},
		},
		[]torchOp{
			{Op: "embedding"},
			{Op: "positions"},
			{
				Op: "residual",
				Body: []torchOp{
					{Op: "layernorm"},
					{Op: "attention", Heads: 2, Causal: true},
					{Op: "residual", Body: []torchOp{opLinear, {Op: "gelu"}, opLinear}},
				},
				Shortcut: []torchOp{opLinear},
			},
			{Op: "steps", Take: "mean"},
			opLinear,
		},
	},
	{
		"the last real step",
		nn.Shape{Seq: 5, Vocab: 3},
		[]nn.Layer{nn.Embedding{Dim: 7}, nn.GRU{Hidden: 9, EveryStep: true}, nn.Steps{MaskPadding: true}, nn.Dense{Units: 5}},
		[]torchOp{{Op: "embedding"}, {Op: "gru"}, {Op: "steps", Take: "last", Mask: true}, opLinear},
	},
	{
		"the first real step",
		nn.Shape{Seq: 3, Vocab: 2},
		[]nn.Layer{nn.Embedding{Dim: 7}, nn.Steps{Take: "first", MaskPadding: true}, nn.Dense{Units: 5}},
		[]torchOp{{Op: "embedding"}, {Op: "steps", Take: "first", Mask: true}, opLinear},
	},
	{
		"the mean of real steps",
		nn.Shape{Seq: 3, Vocab: 3},
		[]nn.Layer{
			nn.Embedding{Dim: 7},
			nn.LSTM{Hidden: 9, EveryStep: true},
			nn.Steps{Take: "mean", MaskPadding: true},
			nn.Dense{Units: 5},
		},
		[]torchOp{{Op: "embedding"}, {Op: "lstm", Layers: 1, Biases: 2}, {Op: "steps", Take: "mean", Mask: true}, opLinear},
	},
	{
		"patches without a class token",
		nn.Shape{H: 6, W: 9, C: 2},
		[]nn.Layer{
			nn.Conv2D{Filters: 20, Kernel: 3, Stride: 3},
			nn.Sequence{},
			nn.Attention{Heads: 5},
			nn.Steps{},
			nn.LayerNorm{},
			nn.Dense{Units: 3},
		},
		[]torchOp{
			{Op: "conv", Padding: 0, Stride: 3},
			{Op: "sequence"},
			{Op: "attention", Heads: 5},
			{Op: "steps", Take: "last"},
			{Op: "layernorm"},
			opLinear,
		},
	},
}

// tinyGraphs are networks of branches and of gated recurrent units.
var tinyGraphs = []tinyNet{
	{
		"gated recurrent units",
		nn.Shape{Seq: 9, Vocab: 12},
		[]nn.Layer{nn.Embedding{Dim: 7}, nn.GRU{Hidden: 20, EveryStep: true}, nn.GRU{Hidden: 9}, nn.Dense{Units: 5}},
		[]torchOp{{Op: "embedding"}, {Op: "gru"}, {Op: "gru"}, opLast, opLinear},
	},
	{
		"branches of an image",
		nn.Shape{H: 9, W: 8, C: 2},
		[]nn.Layer{
			nn.Graph{Branches: []nn.Branch{
				{From: []int{-1}, Layers: []nn.Layer{nn.Conv2D{Filters: 10, Kernel: 3, Pad: 1}, nn.Activation("silu")}},
				{From: []int{0}, Layers: []nn.Layer{nn.Conv2D{Filters: 6, Kernel: 1}}},
				{From: []int{0}, Layers: []nn.Layer{nn.Conv2D{Filters: 6, Kernel: 5, Pad: 2}, nn.Activation("gelu")}},
				{From: []int{1, 2}, Join: "add", Layers: []nn.Layer{nn.GroupNorm{Groups: 2}}},
				{From: []int{3, 0, 2}, Join: "concat"},
			}},
			nn.Activation("silu"),
			nn.Conv2D{Filters: 4, Kernel: 3, Stride: 2},
			nn.Dense{Units: 3},
		},
		[]torchOp{
			{Op: "graph", Branches: []torchBranch{
				{From: []int{-1}, Body: []torchOp{opSame(1), {Op: "silu"}}},
				{From: []int{0}, Body: []torchOp{opSame(0)}},
				{From: []int{0}, Body: []torchOp{opSame(2), {Op: "gelu"}}},
				{From: []int{1, 2}, Body: []torchOp{opNorm}},
				{From: []int{3, 0, 2}, Concat: true, Body: []torchOp{}},
			}},
			{Op: "silu"},
			{Op: "conv", Padding: 0, Stride: 2},
			opFlatten, opLinear,
		},
	},
	{
		"grouped and dilated convolutions",
		nn.Shape{H: 9, W: 8, C: 2},
		[]nn.Layer{
			nn.Conv2D{Filters: 12, Kernel: 3, Dilation: 2, Pad: 2},
			nn.Activation("silu"),
			nn.Conv2D{Filters: 8, Kernel: 3, Groups: 4, Stride: 2, Pad: 1},
			nn.Conv2D{Filters: 6, Kernel: 2, Groups: 2, Dilation: 3, NoBias: true},
			nn.Dense{Units: 3},
		},
		[]torchOp{
			{Op: "conv", Padding: 2, Dilation: 2},
			{Op: "silu"},
			{Op: "conv", Padding: 1, Stride: 2, Groups: 4},
			{Op: "conv", Padding: 0, Dilation: 3, Groups: 2, NoBias: true},
			opFlatten, opLinear,
		},
	},
	{
		"branches of a sequence",
		nn.Shape{Seq: 7, Vocab: 9},
		[]nn.Layer{
			nn.Embedding{Dim: 18},
			nn.Graph{Branches: []nn.Branch{
				{From: []int{-1}, Layers: []nn.Layer{nn.LayerNorm{}, nn.Attention{Heads: 2}}},
				{From: []int{-1}, Layers: []nn.Layer{nn.GRU{Hidden: 11, EveryStep: true}}},
				{From: []int{0, -1}, Join: "add"},
				{From: []int{1, 2}, Join: "concat"},
			}},
			nn.Steps{Take: "mean"},
			nn.Dense{Units: 4},
		},
		[]torchOp{
			{Op: "embedding"},
			{Op: "graph", Branches: []torchBranch{
				{From: []int{-1}, Body: []torchOp{{Op: "layernorm"}, {Op: "attention", Heads: 2}}},
				{From: []int{-1}, Body: []torchOp{{Op: "gru"}}},
				{From: []int{0, -1}, Body: []torchOp{}},
				{From: []int{1, 2}, Concat: true, Body: []torchOp{}},
			}},
			{Op: "steps", Take: "mean"},
			opLinear,
		},
	},
}

// TestTransformerStepsMatchTorch compares steps of small transformers with PyTorch's.
func TestTransformerStepsMatchTorch(t *testing.T) { compareTiny(t, tinyTransformers) }

// TestGraphStepsMatchTorch compares those of networks of branches and of GRUs.
func TestGraphStepsMatchTorch(t *testing.T) { compareTiny(t, tinyGraphs) }

func compareTiny(t *testing.T, nets []tinyNet) {
	t.Helper()
	python := findTorch(t)
	for _, c := range nets {
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
