package nn

import (
	"strings"
	"testing"

	"github.com/fedfast/fedfast/internal/test/kernelstest"
)

// graphCases are networks of branches for TestGradient, TestEvaluate and TestHessian.
var graphCases = []imageCase{
	{
		"branches of an image, side by side and added",
		Shape{H: 7, W: 6, C: 2},
		[]Layer{
			Conv2D{Filters: 6, Kernel: 3, Same: true},
			ReLU{},
			Graph{Branches: []Branch{
				{From: []int{graphInput}, Layers: []Layer{Conv2D{Filters: 7, Kernel: 1}}},
				{From: []int{graphInput}, Layers: []Layer{
					Conv2D{Filters: 18, Kernel: 3, Pad: 1},
					ReLU{},
					Conv2D{Filters: 7, Kernel: 5, Pad: 2},
				}},
				{From: []int{0}, Layers: []Layer{ReLU{}, Conv2D{Filters: 7, Kernel: 3, Same: true}}},
				{From: []int{1, 2, 0}, Join: joinAdd, Layers: []Layer{GroupNorm{Groups: 1}, ReLU{}}},
				{From: []int{graphInput}, Layers: []Layer{MaxPool{Size: 3, Stride: 1, Same: true}}},
				{From: []int{3, 4, graphInput, 1}, Join: joinConcat},
			}},
			ReLU{},
			Conv2D{Filters: 4, Kernel: 2},
			Dense{Units: 3},
		},
		[]refOp{
			conv(1, 1, 1), relu,
			{op: "graph", branches: []refBranch{
				{from: []int{-1}, ops: []refOp{conv(1, 0, 0)}},
				{from: []int{-1}, ops: []refOp{conv(1, 1, 1), relu, conv(1, 2, 2)}},
				{from: []int{0}, ops: []refOp{relu, conv(1, 1, 1)}},
				{from: []int{1, 2, 0}, ops: []refOp{groupNorm(1), relu}},
				{from: []int{-1}, ops: []refOp{poolSame(3, 1, 1, 1)}},
				{from: []int{3, 4, -1, 1}, concat: true},
			}},
			relu,
			conv(1, 0, 0),
			dense,
		},
	},
	{
		"branches of the network's input that end in vectors",
		Shape{H: 8, W: 8, C: 1},
		[]Layer{
			Graph{Branches: []Branch{
				{From: []int{graphInput}, Layers: []Layer{
					Conv2D{Filters: 18, Kernel: 3, Same: true},
					ReLU{},
					MaxPool{Size: 2},
					Conv2D{Filters: 3, Kernel: 3},
					ReLU{},
					MaxPool{Size: 2},
					Flatten{},
					Dense{Units: 9},
					ReLU{},
				}},
				{From: []int{graphInput}, Layers: []Layer{Flatten{}, Dense{Units: 17}, ReLU{}}},
				{From: []int{1}, Layers: []Layer{Dense{Units: 9}}},
				{From: []int{0, 2}, Join: joinAdd},
				{From: []int{3, 1}, Join: joinConcat},
			}},
			Dense{Units: 3},
		},
		[]refOp{
			{op: "graph", branches: []refBranch{
				{from: []int{-1}, ops: []refOp{conv(1, 1, 1), relu, pool(2), conv(1, 0, 0), relu, pool(2), dense, relu}},
				{from: []int{-1}, ops: []refOp{dense, relu}},
				{from: []int{1}, ops: []refOp{dense}},
				{from: []int{0, 2}},
				{from: []int{3, 1}, concat: true},
			}},
			dense,
		},
	},
	{
		"a graph within a residual block, and one in a graph",
		Shape{H: 5, W: 5, C: 1},
		[]Layer{
			Conv2D{Filters: 4, Kernel: 3, Same: true},
			Residual{Body: []Layer{Graph{Branches: []Branch{
				{From: []int{graphInput}, Layers: []Layer{Conv2D{Filters: 2, Kernel: 3, Same: true}, Graph{Branches: []Branch{
					{From: []int{graphInput}, Layers: []Layer{Conv2D{Filters: 2, Kernel: 1}}},
					{From: []int{0, graphInput}, Join: joinAdd},
				}}}},
				{From: []int{graphInput}, Layers: []Layer{Conv2D{Filters: 2, Kernel: 1}, ReLU{}}},
				{From: []int{1, 0}, Join: joinConcat},
			}}}},
			Dense{Units: 3},
		},
		[]refOp{
			conv(1, 1, 1),
			{op: "residual", body: []refOp{{op: "graph", branches: []refBranch{
				{from: []int{-1}, ops: []refOp{
					conv(1, 1, 1),
					{op: "graph", branches: []refBranch{{from: []int{-1}, ops: []refOp{conv(1, 0, 0)}}, {from: []int{0, -1}}}},
				}},
				{from: []int{-1}, ops: []refOp{conv(1, 0, 0), relu}},
				{from: []int{1, 0}, concat: true},
			}}}},
			dense,
		},
	},
}

// groupedCases are networks for the same tests.
var groupedCases = []imageCase{
	{
		"grouped convolutions of all strides and paddings",
		Shape{H: 9, W: 8, C: 4},
		[]Layer{
			Conv2D{Filters: 6, Kernel: 3, Groups: 2, Same: true},
			Conv2D{Filters: 12, Kernel: 3, Groups: 3, Stride: 2, Pad: 1, NoBias: true},
			ReLU{},
			Conv2D{Filters: 40, Kernel: 2, Groups: 4, Same: true},
			Conv2D{Filters: 5, Kernel: 1, Groups: 5},
			Dense{Units: 3},
		},
		[]refOp{conv(1, 1, 1), plainConv(2, 1, 1), relu, conv(1, 0, 1), conv(1, 0, 0), dense},
	},
	{
		"dilated convolutions, alone and in groups",
		Shape{H: 10, W: 11, C: 2},
		[]Layer{
			Conv2D{Filters: 18, Kernel: 3, Dilation: 2, Pad: 1},
			ReLU{},
			Conv2D{Filters: 4, Kernel: 2, Dilation: 3, Same: true, Groups: 2},
			Conv2D{Filters: 6, Kernel: 3, Dilation: 4, Pad: 8, NoBias: true},
			Conv2D{Filters: 3, Kernel: 1, Dilation: 2},
			Dense{Units: 3},
		},
		[]refOp{
			{op: "conv", stride: 1, dilation: 2, before: 1, after: 1},
			relu,
			{op: "conv", stride: 1, dilation: 3, before: 1, after: 2},
			{op: "conv", stride: 1, dilation: 4, before: 8, after: 8, noBias: true},
			conv(1, 0, 0), dense,
		},
	},
	{
		"many channels of a group",
		Shape{H: 3, W: 3, C: 1},
		[]Layer{
			Conv2D{Filters: 64, Kernel: 1},
			Conv2D{Filters: 64, Kernel: 3, Groups: 2, Pad: 1},
			Conv2D{Filters: 32, Kernel: 3, Dilation: 2, Pad: 2},
			AvgPool{},
			Dense{Units: 3},
		},
		[]refOp{
			conv(1, 0, 0), conv(1, 1, 1),
			{op: "conv", stride: 1, dilation: 2, before: 2, after: 2},
			{op: "avgpool", size: 3, stride: 1},
			dense,
		},
	},
}

// graphNet is a graph on images in front of one on sequences.
func graphNet(t testing.TB) *Model {
	t.Helper()
	m, err := NewModel("test", Shape{H: 8, W: 10, C: 3}, 7,
		Conv2D{Filters: 21, Kernel: 2, Stride: 2},
		Named{Name: "branches", Layer: Graph{Branches: []Branch{
			{From: []int{graphInput}, Layers: []Layer{
				Named{Name: "left", Layer: Conv2D{Filters: 40, Kernel: 3, Pad: 1}},
				ReLU{},
				Dropout{Rate: 0.1},
			}},
			{From: []int{graphInput}, Layers: []Layer{
				DepthwiseConv2D{Kernel: 3, Pad: 1},
				Activation("silu"),
				Conv2D{Filters: 12, Kernel: 2, Groups: 3, Dilation: 2, Same: true},
			}},
			{From: []int{0, 1}, Join: joinConcat},
		}}},
		Sequence{}, Dense{Units: 20},
		Graph{Branches: []Branch{
			{From: []int{graphInput}, Layers: []Layer{LayerNorm{}, Attention{Heads: 2}, Dropout{Rate: 0.2}}},
			{From: []int{graphInput}, Layers: []Layer{Dense{Units: 20}, Activation("gelu")}},
			{From: []int{0}, Layers: []Layer{GRU{Hidden: 20, EveryStep: true}}},
			{From: []int{0, graphInput, 1, 2}, Join: joinAdd},
		}},
		Steps{Take: "mean"}, Dense{Units: 7})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// TestGraph holds for a network of branches what other tests hold for the networks of
// forEachNet, but for the cut into chunks, which sums over the rows of sequences show.
// An emulator compares the levels, and steps by one rule.
func TestGraph(t *testing.T) {
	if kernelstest.Emulated() {
		testLevels(t, graphNet(t))
		testStep(t, graphNet(t), rules[2])
		return
	}
	for name, f := range map[string]func(t *testing.T, m *Model){
		"reuse": testWorkspaceReuse, "levels": testLevels, "masked": testMasked, "allocations": testAllocations,
		"dropout": testDropout,
	} {
		t.Run(name, func(t *testing.T) { f(t, graphNet(t)) })
	}
	forEachRule(t, func(t *testing.T, rule Optimizer) {
		testStep(t, graphNet(t), rule)
		testShiftAndDisplacement(t, graphNet(t), rule)
	})
}

// TestGraphNames checks the names of parameters and that none is given twice.
func TestGraphNames(t *testing.T) {
	var names []string
	m := graphNet(t)
	for _, p := range m.Export(m.NewParams()) {
		if strings.HasSuffix(p.Name, "weight") {
			names = append(names, p.Name)
		}
	}
	want := "conv1.weight left.weight depthwise1.weight conv3.weight dense1.weight layernorm1.weight attention1.in_proj_weight attention1.out_proj.weight dense2.weight dense3.weight"
	if got := strings.Join(names, " "); got != want {
		t.Errorf("names are %s, want %s", got, want)
	}
	_, err := NewModel("test", Shape{H: 4, W: 4, C: 1}, 3, Named{Name: "dense2", Layer: Dense{Units: 4}}, Dense{Units: 3})
	if want := `model test: two parameters are called "dense2.bias"; layers that are named must have other names`; err == nil || err.Error() != want {
		t.Errorf("error %v, want %s", err, want)
	}
}

// TestGraphErrors checks the messages of branches that cannot be joined.
func TestGraphErrors(t *testing.T) {
	text, image := Shape{Seq: 6, Vocab: 9}, Shape{H: 8, W: 8, C: 3}
	in := []int{graphInput}
	join := func(j string, branches ...Branch) []Layer {
		var from []int
		for i := range branches {
			from = append(from, i)
		}
		return []Layer{
			Conv2D{Filters: 4, Kernel: 1},
			Graph{Branches: append(branches, Branch{From: from, Join: j, Number: 9})},
		}
	}
	wide, small := Branch{From: in, Layers: []Layer{Conv2D{Filters: 5, Kernel: 1}}},
		Branch{From: in, Layers: []Layer{MaxPool{Size: 2}}}
	for _, c := range []struct {
		in     Shape
		layers []Layer
		want   string
	}{
		{
			image, join(joinAdd, Branch{From: in}, wide),
			"layer 9 (add): input 1 has 8 x 8 x 4 values, input 2 8 x 8 x 5 values; all must be the same",
		},
		{
			image, join(joinConcat, wide, small),
			"layer 9 (concat): input 1 has 8 x 8 x 5 values, input 2 4 x 4 x 4 values; all must have the same height, width and steps",
		},
		{image, join("sum", wide, wide), `layer 9 (sum): join "sum"; it must be one of add, concat, mix, multiply`},
		{image, join(joinAdd, wide), "layer 9 (add): 1 inputs: a join has at least 2"},
		{image, join(joinAdd, Branch{From: []int{3}}, wide), "layer 1 (): it reads branch 3; there are 0 before it"},
		{
			image,
			[]Layer{Graph{Branches: []Branch{{From: in}, {From: []int{0, 0}, Join: joinAdd, Number: 2}}}},
			"layer 2 (add): it reads the network's input as it is; a layer must come between",
		},
		{image, []Layer{Graph{}}, "a graph must end with a join of branches"},
		{
			image,
			[]Layer{Conv2D{Filters: 4, Kernel: 3, Groups: 2}},
			"layer 1 (conv): 2 groups of 3 channels and 4 filters; the groups must divide both",
		},
		{
			image,
			[]Layer{Conv2D{Filters: 4, Kernel: 3, Dilation: 2, Stride: 2}},
			"layer 1 (conv): dilation 2 with stride 2; one of them must be 1",
		},
		{
			image,
			[]Layer{Conv2D{Filters: 4, Kernel: 5, Dilation: 2}},
			"layer 1 (conv): a kernel that reaches over 9 pixels on an image of 8 x 8",
		},
		{image, []Layer{GRU{Hidden: 3}}, "layer 1 (gru): a GRU needs a sequence as its input"},
		{text, []Layer{GRU{Hidden: 3}}, "layer 1 (gru): an embedding must come before a GRU on tokens"},
		{
			text,
			[]Layer{Graph{Branches: []Branch{{From: in}, {From: []int{0, 0}, Join: joinAdd}}}},
			"a graph of layers cannot read tokens; an embedding must come before its branches",
		},
		{
			image, join(joinAdd, Branch{From: in, Layers: []Layer{
				Named{Number: 5, Name: "a", Layer: Attention{Heads: 1}},
			}}, wide),
			"layer 5 (attention): attention needs a sequence as its input",
		},
	} {
		_, err := NewModel("test", c.in, 3, append(c.layers, Dense{Units: 3})...)
		if err == nil || !strings.HasPrefix(err.Error(), "model test: "+c.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%v: error %v, want %q", c.layers, err, c.want)
		}
	}
}
