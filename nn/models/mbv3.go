package models

import (
	"fmt"

	"github.com/fedfast/fedfast/nn"
)

// stage is a row of blocks of one width in a MobileNetV3 for small images.
type stage struct {
	widths, depths []int
	stride         int // of its first block
	squeeze        bool
}

// mbv3Stages are those of mbv3-cifar. Each has, besides its width and depth, the size
// of its kernels and how much wider its blocks are within than what they read.
var mbv3Stages = []stage{
	{[]int{16, 32}, []int{1, 2}, 2, false},
	{[]int{32, 48}, []int{1, 2, 3}, 2, true},
	{[]int{48, 80}, []int{1, 2, 3}, 1, true},
	{[]int{64, 96}, []int{1, 2}, 2, true},
}

var (
	mbv3Kernels    = []int{3, 5}
	mbv3Expansions = []int{2, 3, 4}
)

var mbv3CIFAR = model{
	name: "mbv3-cifar",
	doc: "A supernet of small MobileNetV3s (Howard et al. 2019) for CIFAR: a stem of 16 filters, 4 stages of inverted residual blocks with hard swish, squeeze-and-excitation in the last 3, mean, dense. " +
		"Each stage has a choice of its width, depth, kernel (3 or 5) and expansion (2, 3 or 4): 746,496 networks of 4.3 to 46.6 MFLOP a sample; 676,442 parameters are the whole's. Group normalisation of 8 channels a group " +
		"stands for batch normalisation. PyTorch's initialisation.",
	input:   nn.Shape{H: 32, W: 32, C: 3},
	classes: 10,
	choices: mbv3Choices(),
	pick:    mbv3Layers,
}

var mbv3Mid = model{
	name: "mbv3-cifar-mid",
	doc: "The network in the middle of mbv3-cifar: widths 32, 48, 64 and 80, depths 1, 2, 2 and 1, kernels of 3 and expansions of 3, 15.5 MFLOP a sample; 170,194 parameters. " +
		"It is no sub-network: it stands for one of hand-made size beside those that are searched.",
	input:   nn.Shape{H: 32, W: 32, C: 3},
	classes: 10,
	layers: func(classes int) []nn.Layer {
		widths, depths := []int{32, 48, 64, 80}, []int{1, 2, 2, 1}
		return mbv3(classes, func(s int) stagePick { return stagePick{widths[s], depths[s], 3, 3} })
	},
}

// stagePick is what a stage looks like in a network.
type stagePick struct{ width, depth, kernel, expansion int }

func mbv3Choices() []nn.Choice {
	var cs []nn.Choice
	for i, s := range mbv3Stages {
		at := fmt.Sprintf("stage%d.", i+1)
		cs = append(cs, nn.Choice{Name: at + "depth", Options: s.depths}, nn.Choice{Name: at + "expansion", Options: mbv3Expansions},
			nn.Choice{Name: at + "kernel", Options: mbv3Kernels}, nn.Choice{Name: at + "width", Options: s.widths})
	}
	return cs
}

func mbv3Layers(classes int, pick func(name string) int) []nn.Layer {
	return mbv3(classes, func(s int) stagePick {
		at := fmt.Sprintf("stage%d.", s+1)
		return stagePick{pick(at + "width"), pick(at + "depth"), pick(at + "kernel"), pick(at + "expansion")}
	})
}

// mbv3 returns the layers of the network whose stages, numbered from 0, are as of says.
// A layer's name says where it stands, so that networks of other depths share it: the
// first block of a stage has no shortcut, the others have one.
func mbv3(classes int, of func(s int) stagePick) []nn.Layer {
	layers := called("stem.", []nn.Layer{nn.Conv2D{Filters: 16, Kernel: 3, Pad: 1, NoBias: true}, eights(16), nn.HardSwish{}}, "conv", "norm", "")
	channels := 16
	for i, s := range mbv3Stages {
		p := of(i)
		for d := range p.depth {
			b := inverted{kernel: p.kernel, wide: p.expansion * channels, out: p.width, squeeze: s.squeeze, activation: nn.HardSwish{}, stride: 1}
			at := fmt.Sprintf("stage%d.block%d", i+1, d+1)
			if d == 0 {
				b.stride = s.stride
				layers = append(layers, b.named(at+".", channels)...)
			} else {
				layers = append(layers, nn.Named{Layer: nn.Residual{Body: b.named("", channels)}, Name: at})
			}
			channels = p.width
		}
	}
	return append(layers, nn.AvgPool{}, nn.Named{Layer: nn.Dense{Units: classes}, Name: "classifier"})
}

// named returns the block's layers by names that are the same at every width: it
// always has its first convolution.
func (b inverted) named(prefix string, channels int) []nn.Layer {
	names := []string{"expand", "expand_norm", "", "depthwise", "depthwise_norm", ""}
	if b.squeeze {
		names = append(names, "squeeze")
	}
	return called(prefix, b.layers(channels), append(names, "project", "project_norm")...)
}

// called gives names to layers; an empty one leaves the layer as it is.
func called(prefix string, layers []nn.Layer, names ...string) []nn.Layer {
	for i, name := range names {
		if name != "" {
			layers[i] = nn.Named{Layer: layers[i], Name: prefix + name}
		}
	}
	return layers
}
