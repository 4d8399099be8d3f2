package nn

import (
	"strings"
	"testing"
)

// plainNorm is a group normalization without parameters.
func plainNorm(groups int) refOp { return refOp{op: "groupnorm", groups: groups, noBias: true} }

// mixCases are networks of mixed operations for TestGradient and TestEvaluate.
var mixCases = []imageCase{
	{
		"operations of a cell, mixed by weights that two graphs share",
		Shape{H: 8, W: 7, C: 2},
		[]Layer{
			Conv2D{Filters: 6, Kernel: 3, Same: true},
			Graph{Branches: []Branch{
				{From: []int{GraphInput}, Layers: []Layer{MaxPool{Size: 3, Stride: 1, Pad: 1}, GroupNorm{Groups: 2, NoAffine: true}}},
				{From: []int{GraphInput}, Layers: []Layer{AvgPool{Size: 3, Stride: 1, Pad: 1}, GroupNorm{Groups: 1, NoAffine: true}}},
				{From: []int{GraphInput}, Layers: []Layer{ReLU{}, DepthwiseConv2D{Kernel: 3, Dilation: 2, Pad: 2, NoBias: true}, Conv2D{Filters: 6, Kernel: 1, NoBias: true}}},
				{From: []int{0, 1, GraphInput, 2}, Join: Mix, Weights: "a", Zero: true},
				{From: []int{2, 0}, Join: Mix, Weights: "b", Layers: []Layer{GroupNorm{Groups: 3}}},
				{From: []int{3, 4}, Join: Concat},
			}},
			ReLU{},
			Graph{Branches: []Branch{
				{From: []int{GraphInput}, Layers: []Layer{MaxPool{Size: 3, Stride: 2, Pad: 1}}},
				{From: []int{GraphInput}, Layers: []Layer{AvgPool{Size: 3, Stride: 2, Pad: 1}}},
				{From: []int{GraphInput}, Layers: []Layer{Conv2D{Filters: 12, Kernel: 1, Stride: 2}}},
				{From: []int{GraphInput}, Layers: []Layer{Conv2D{Filters: 12, Kernel: 3, Stride: 2, Pad: 1}}},
				{From: []int{2, 0, 1, 3}, Join: Mix, Weights: "a", Zero: true},
			}},
			Dense{Units: 3},
		},
		[]refOp{
			conv(1, 1, 1),
			{op: "graph", branches: []refBranch{
				{from: []int{-1}, ops: []refOp{poolSame(3, 1, 1, 1), plainNorm(2)}},
				{from: []int{-1}, ops: []refOp{{op: "avgpool", size: 3, stride: 1, before: 1, after: 1}, plainNorm(1)}},
				{from: []int{-1}, ops: []refOp{relu, {op: "depthwise", stride: 1, dilation: 2, before: 2, after: 2, noBias: true}, plainConv(1, 0, 0)}},
				{from: []int{0, 1, -1, 2}, mix: "a", zero: true},
				{from: []int{2, 0}, mix: "b", ops: []refOp{groupNorm(3)}},
				{from: []int{3, 4}, concat: true},
			}},
			relu,
			{op: "graph", branches: []refBranch{
				{from: []int{-1}, ops: []refOp{poolSame(3, 2, 1, 1)}},
				{from: []int{-1}, ops: []refOp{{op: "avgpool", size: 3, stride: 2, before: 1, after: 1}}},
				{from: []int{-1}, ops: []refOp{conv(2, 0, 0)}},
				{from: []int{-1}, ops: []refOp{conv(2, 1, 1)}},
				{from: []int{2, 0, 1, 3}, mix: "a", zero: true},
			}},
			dense,
		},
	},
	{
		"vectors mixed with the layer before them",
		Shape{H: 4, W: 4, C: 1},
		[]Layer{
			Flatten{},
			Dense{Units: 9},
			Graph{Branches: []Branch{
				{From: []int{GraphInput}, Layers: []Layer{ReLU{}, Dense{Units: 9}}},
				{From: []int{0, GraphInput}, Join: Mix, Weights: "a", Layers: []Layer{Dense{Units: 9}}},
				{From: []int{1, 0}, Join: Mix, Weights: "a"},
			}},
			Dense{Units: 3},
		},
		[]refOp{
			dense,
			{op: "graph", branches: []refBranch{
				{from: []int{-1}, ops: []refOp{relu, dense}},
				{from: []int{0, -1}, mix: "a", ops: []refOp{dense}},
				{from: []int{1, 0}, mix: "a"},
			}},
			dense,
		},
	},
}

// TestMixSteps wants the bits of a gradient and of steps in whatever chunks the
// batch is worked on, and of a step that updates as it goes back.
func TestMixSteps(t *testing.T) {
	for _, c := range mixCases {
		m := c.model(t)
		w := m.NewParams()
		m.Init(w, 5)
		b := images(m, 5)
		whole, parts := m.newWorkspace(8), m.newWorkspace(2)
		whole.Gradient(w, b, TrainOpts{})
		if image := !strings.Contains(c.name, "vectors"); image {
			parts.Gradient(w, b, TrainOpts{})
			sameBits(t, parts.Grad(), whole.Grad(), c.name)
		}
		stepped := append([]float32(nil), w...)
		opt := &Optimizer{SGD: SGD{LR: 0.1}}
		opt.Step(w, whole.Grad())
		whole.Step(stepped, b, TrainOpts{}, &Optimizer{SGD: SGD{LR: 0.1}})
		sameBits(t, stepped, w, c.name)
	}
}

// TestMixErrors wants one line for each wrong mix.
func TestMixErrors(t *testing.T) {
	mix := func(weights string, zero bool, from ...int) Branch {
		return Branch{From: from, Join: Mix, Weights: weights, Zero: zero}
	}
	pool := Branch{From: []int{GraphInput}, Layers: []Layer{MaxPool{Size: 2}}}
	conv := Branch{From: []int{GraphInput}, Layers: []Layer{Conv2D{Filters: 4, Kernel: 1}}}
	for _, c := range []struct {
		branches []Branch
		want     string
	}{
		{[]Branch{conv, mix("", false, 0, GraphInput)}, "layer 1 (mix): weights \"\"; a mix has a name"},
		{[]Branch{conv, {From: []int{0, GraphInput}, Join: Sum, Zero: true}}, "layer 1 (add): weights \"\"; a mix has"},
		{[]Branch{pool, mix("a", false, 0, GraphInput)}, "layer 1 (mix): input 1 has 4 x 4 x 4 values, input 2 8 x 8 x 4 values; all must be the same"},
		{[]Branch{conv, mix("a", false, 0, GraphInput), mix("a", true, 0, 1)}, "layer 1 (mix): the weights \"a\" are those of 2 alternatives, here there are 3"},
	} {
		_, err := NewModel("test", Shape{H: 8, W: 8, C: 1}, 3, Conv2D{Filters: 4, Kernel: 1}, Graph{Branches: c.branches}, Dense{Units: 3})
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("error %v\nwant %s", err, c.want)
		}
	}
	if m := mixCases[0].model(t); m.CheckHessian() == nil {
		t.Error("products with the Hessian of a mix are not refused")
	}
}
