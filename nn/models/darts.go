package models

import (
	"fmt"

	"github.com/fedfast/fedfast/nn"
)

// dartsSize is the size of a network of cells.
const (
	dartsChannels = 8
	dartsCells    = 3
	dartsNodes    = 4 // of a cell
)

var dartsCIFAR = model{
	name: "darts-cifar",
	doc: "A supernet of DARTS (Liu et al. 2019) for CIFAR that trains on a CPU: a stem of 24 filters, 3 cells of 8, 16 and 32 channels, the last two of which halve the image, mean, dense. " +
		"On each of the 14 edges of a cell 8 operations are mixed by a softmax of weights that all normal, or all " +
		"reducing, cells share: none, skip, max and average pools 3x3, separable and dilated separable convolutions 3x3 " +
		"and 5x5; " +
		"84.4 MFLOP a sample, 209,666 parameters, 224 of them weights of operations. " +
		"Group normalisation of 8 channels per group stands for batch normalisation, whose averages over a client's few samples are no model for all; as in the paper it learns nothing within cells. " +
		"A skip that halves is one convolution 1x1 where DARTS has two on every other pixel each. PyTorch's initialisation; weights of operations are normal with a deviation of 0.001.",
	input:   nn.Shape{H: 32, W: 32, C: 3},
	classes: 10,
	layers: func(classes int) []nn.Layer {
		return chain(withClasses(cells(func(c cell, node int) []LayerSpec {
			var specs []LayerSpec
			var ends []string
			for from := range node {
				edge, end := c.mixed(node, from)
				specs, ends = append(specs, edge...), append(ends, end)
			}
			return append(specs, LayerSpec{Type: add, Name: c.node(node), Inputs: ends})
		}, false), classes))
	},
}

// cell is one of DARTS' cells. Its nodes are numbered: 0 and 1 are what the two cells
// before give, the others sums of what operations make of nodes before them.
type cell struct {
	name     string
	kind     string // normalCell or reduceCell
	channels int
	halves   bool
	affine   bool // of normalisations
}

// node names a node among the layers.
func (c cell) node(i int) string { return fmt.Sprintf("%s.node%d", c.name, i) }

// cells returns the layers of a network whose cells have the nodes that node makes.
func cells(node func(c cell, i int) []LayerSpec, affine bool) []LayerSpec {
	stem := 3 * dartsChannels
	specs := []LayerSpec{
		{Type: "conv", Name: "stem.conv", Filters: stem, Kernel: 3, Pad: 1, NoBias: true},
		{Type: "groupnorm", Name: "stem.norm", Groups: stem / 8},
	}
	before, last, halved, channels := "stem.norm", "stem.norm", false, dartsChannels
	for i := range dartsCells {
		c := cell{name: fmt.Sprintf("cell%d", i+1), kind: normalCell, affine: affine}
		if c.halves = i == dartsCells/3 || i == 2*dartsCells/3; c.halves {
			channels *= 2
			c.kind = reduceCell
		}
		c.channels = channels
		specs = append(specs, c.point(c.node(1), last, 1)...)
		specs = append(specs, c.point(c.node(0), before, stride(halved))...)
		var all []string
		for n := 2; n < 2+dartsNodes; n++ {
			specs = append(specs, node(c, n)...)
			all = append(all, c.node(n))
		}
		specs = append(specs, LayerSpec{Type: concat, Name: c.name, Inputs: all})
		before, last, halved = last, c.name, c.halves
	}
	return append(specs, LayerSpec{Type: "avgpool", Input: last}, LayerSpec{Type: "dense", Name: "classifier"})
}

func stride(halves bool) int {
	if halves {
		return 2
	}
	return 1
}

// point returns a convolution 1x1 between ReLU and normalisation, which are called
// name.
func (c cell) point(name, input string, stride int) []LayerSpec {
	return []LayerSpec{
		{Type: "relu", Name: name + ".relu", Input: input},
		{Type: "conv", Name: name + ".point", Filters: c.channels, Kernel: 1, Stride: stride, NoBias: true},
		c.norm(name),
	}
}

func (c cell) norm(name string) LayerSpec {
	return LayerSpec{Type: "groupnorm", Name: name, Groups: c.channels / 8, NoAffine: !c.affine}
}

// dartsOperations are the operations of an edge in DARTS' order and by its names.
var dartsOperations = []string{
	"none", "max_pool_3x3", "avg_pool_3x3", "skip_connect", "sep_conv_3x3", "sep_conv_5x5", "dil_conv_3x3", "dil_conv_5x5",
}

// mixed returns an edge of all operations, and the name of what it gives.
func (c cell) mixed(node, from int) (specs []LayerSpec, name string) {
	name = c.edge(node, from)
	m := LayerSpec{Type: mix, Name: name, Weights: weightsOf(c.kind, node, from), Zero: true}
	for _, op := range dartsOperations[1:] {
		layers, end := c.operation(op, node, from)
		specs, m.Inputs = append(specs, layers...), append(m.Inputs, end)
	}
	return append(specs, m), name
}

func (c cell) edge(node, from int) string { return fmt.Sprintf("%s.from%d", c.node(node), from) }

// weightsOf names the weights of an edge of all cells of a kind.
func weightsOf(kind string, node, from int) string {
	return fmt.Sprintf("%s.node%d.from%d", kind, node, from)
}

// operation returns one of an edge, and the name of what it gives.
func (c cell) operation(op string, node, from int) (specs []LayerSpec, name string) {
	input, name := c.node(from), c.edge(node, from)+"."+op
	step := stride(c.halves && from < 2)
	separable := func(part, input string, kernel, dilation, stride int) []LayerSpec {
		return []LayerSpec{
			{Type: "relu", Name: name + ".relu" + part, Input: input},
			{Type: "depthwise", Name: name + ".depth" + part, Kernel: kernel, Dilation: dilation, Stride: stride, Pad: dilation * (kernel - 1) / 2, NoBias: true},
			{Type: "conv", Name: name + ".point" + part, Filters: c.channels, Kernel: 1, NoBias: true},
		}
	}
	switch op {
	case "skip_connect":
		if step == 1 {
			return nil, input
		}
		return c.point(name, input, step), name
	case "max_pool_3x3", "avg_pool_3x3":
		specs = []LayerSpec{{Type: op[:3] + "pool", Name: name + ".pool", Input: input, Size: 3, Stride: step, Pad: 1}}
		return append(specs, c.norm(name)), name
	}
	kernel := int(op[len(op)-1] - '0')
	if op[:3] == "dil" {
		return append(separable("", input, kernel, 2, step), c.norm(name)), name
	}
	specs = append(separable("1", input, kernel, 1, step), c.norm(name+".norm"))
	return append(append(specs, separable("2", name+".norm", kernel, 1, 1)...), c.norm(name)), name
}
