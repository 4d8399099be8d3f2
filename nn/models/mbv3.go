package models

import (
	"fmt"

	"github.com/fedfast/fedfast/nn"
)

// stage is a row of blocks of one width in a MobileNetV3 for small images. It has,
// besides its width and depth, the size of its kernels and how much wider its blocks
// are within than what they read.
type stage struct {
	widths, depths, expansions []int
	stride                     int // of its first block
	squeeze                    bool
}

// mbv3Stages are the stages of mbv3-cifar, paperStages those of mbv3-paper32.
var (
	mbv3Stages = []stage{
		{[]int{16, 32}, []int{1, 2}, []int{2, 3, 4}, 2, false},
		{[]int{32, 48}, []int{1, 2, 3}, []int{2, 3, 4}, 2, true},
		{[]int{48, 80}, []int{1, 2, 3}, []int{2, 3, 4}, 1, true},
		{[]int{64, 96}, []int{1, 2}, []int{2, 3, 4}, 2, true},
	}
	paperStages = []stage{
		{[]int{16, 24}, []int{1, 2}, []int{1}, 2, true},
		{[]int{24, 40}, []int{1, 2}, []int{3, 4, 5}, 2, false},
		{[]int{40, 80}, []int{2, 3, 4}, []int{3, 4, 5}, 2, true},
		{[]int{48, 112}, []int{2, 3, 4}, []int{3, 4, 5}, 1, true},
		{[]int{96, 160}, []int{2, 3, 4}, []int{3, 4, 5}, 2, true},
	}
	mbv3Kernels = []int{3, 5}
)

var mbv3CIFAR = model{
	name: "mbv3-cifar",
	doc: "A supernet of small MobileNetV3s (Howard et al. 2019) for CIFAR: a stem of 16 filters, 4 stages of inverted " +
		"residual blocks with hard swish, squeeze-and-excitation in the last 3, mean, dense. " +
		"Each stage has a choice of its width, depth, kernel (3 or 5) and expansion (2, 3 or 4): 746,496 networks of 4.3 " +
		"to 46.6 MFLOP a sample; 676,442 parameters are the whole's. Group normalisation of 8 channels per group " +
		"stands for batch normalisation. PyTorch's initialisation.",
	input:   nn.Shape{H: 32, W: 32, C: 3},
	classes: 10,
	choices: mbv3Choices(mbv3Stages),
	pick: func(classes int, pick func(name string) int) []nn.Layer {
		return append(mbv3Body(mbv3Stages, mbv3Picks(mbv3Stages, pick)), nn.AvgPool{}, classifier(classes))
	},
}

var mbv3Mid = model{
	name: "mbv3-cifar-mid",
	doc: "The network in the middle of mbv3-cifar: widths 32, 48, 64 and 80, depths 1, 2, 2 and 1, kernels of 3 and expansions of 3, 15.5 MFLOP a sample; 170,194 parameters. " +
		"It is no sub-network: it stands for one of hand-made size beside those that are searched.",
	input:   nn.Shape{H: 32, W: 32, C: 3},
	classes: 10,
	layers: func(classes int) []nn.Layer {
		return append(mbv3Body(mbv3Stages, []stagePick{{32, 1, 3, 3}, {48, 2, 3, 3}, {64, 2, 3, 3}, {80, 1, 3, 3}}), nn.AvgPool{}, classifier(classes))
	},
}

var mbv3Paper32 = model{
	name: "mbv3-paper32",
	doc: "The supernet of MobileNetV3s that PerFedRLNAS' authors search (Yao and Li 2024, their code), for images of 32 " +
		"x 32: the stem has a stride of 1. 5 stages of inverted residual blocks with hard swish, squeeze-and-excitation in " +
		"all but the second, " +
		"conv 1x1 six times as wide, mean, dense 1280, dense 10. Each stage has a choice of its width, depth and kernel, " +
		"the last 4 of their expansion: 8,957,952 networks; 5,179,042 parameters are the whole's. As in Howard et al. " +
		"2019 a stage's " +
		"first block has no shortcut. Group normalisation of 8 channels per group stands for batch normalisation. PyTorch's initialisation.",
	input:   nn.Shape{H: 32, W: 32, C: 3},
	classes: 10,
	choices: mbv3Choices(paperStages),
	pick: func(classes int, pick func(name string) int) []nn.Layer {
		picks := mbv3Picks(paperStages, pick)
		wide := 6 * picks[len(picks)-1].width
		head := called("head.", []nn.Layer{
			nn.Conv2D{Filters: wide, Kernel: 1, NoBias: true},
			eights(wide),
			nn.Activation("hardswish"),
			nn.AvgPool{},
			nn.Dense{Units: 1280},
			nn.Activation("hardswish"),
		}, "expand", "norm", "",
			"", "mix")
		return append(append(mbv3Body(paperStages, picks), head...), classifier(classes))
	},
}

// stagePick is what a stage looks like in a network.
type stagePick struct{ width, depth, kernel, expansion int }

func mbv3Choices(stages []stage) []nn.Choice {
	var cs []nn.Choice
	for i, s := range stages {
		at := fmt.Sprintf("stage%d.", i+1)
		cs = append(cs, nn.Choice{Name: at + "depth", Options: s.depths})
		if len(s.expansions) > 1 {
			cs = append(cs, nn.Choice{Name: at + "expansion", Options: s.expansions})
		}
		cs = append(cs, nn.Choice{Name: at + "kernel", Options: mbv3Kernels}, nn.Choice{Name: at + "width", Options: s.widths})
	}
	return cs
}

// mbv3Picks returns what is picked for each stage.
func mbv3Picks(stages []stage, pick func(name string) int) []stagePick {
	var picks []stagePick
	for i, s := range stages {
		at, expansion := fmt.Sprintf("stage%d.", i+1), s.expansions[0]
		if len(s.expansions) > 1 {
			expansion = pick(at + "expansion")
		}
		picks = append(picks, stagePick{pick(at + "width"), pick(at + "depth"), pick(at + "kernel"), expansion})
	}
	return picks
}

// mbv3Body returns the layers of a network with these stages up to its head. A layer's
// name says where it stands, so that networks of other depths share it: the first block
// of a stage has no shortcut, the others have one.
func mbv3Body(stages []stage, picks []stagePick) []nn.Layer {
	layers := called("stem.", []nn.Layer{nn.Conv2D{Filters: 16, Kernel: 3, Pad: 1, NoBias: true}, eights(16), nn.Activation("hardswish")}, "conv", "norm", "")
	channels := 16
	for i, s := range stages {
		p := picks[i]
		for d := range p.depth {
			b := inverted{kernel: p.kernel, wide: p.expansion * channels, out: p.width, squeeze: s.squeeze, activation: nn.Activation("hardswish"), stride: 1}
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
	return layers
}

// classifier returns the last layer.
func classifier(classes int) nn.Layer {
	return nn.Named{Layer: nn.Dense{Units: classes}, Name: "classifier"}
}

// named returns the block's layers by names that are the same at every width: whether
// it has its first convolution, which makes it wider, is no choice.
func (b inverted) named(prefix string, channels int) []nn.Layer {
	var names []string
	if b.wide != channels {
		names = []string{"expand", "expand_norm", ""}
	}
	names = append(names, "depthwise", "depthwise_norm", "")
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

// eights normalises channels in groups of 8.
func eights(channels int) nn.Layer { return nn.GroupNorm{Groups: channels / 8} }

// inverted is an inverted residual block: the width within and of what it gives, and
// whether squeeze-and-excitation is in it.
type inverted struct {
	kernel, wide, out int
	squeeze           bool
	activation        nn.Layer
	stride            int
}

// layers returns the block after channels.
func (b inverted) layers(channels int) []nn.Layer {
	var layers []nn.Layer
	if b.wide != channels {
		layers = append(layers, nn.Conv2D{Filters: b.wide, Kernel: 1, NoBias: true}, eights(b.wide), b.activation)
	}
	layers = append(layers, nn.DepthwiseConv2D{Kernel: b.kernel, Stride: b.stride, Pad: b.kernel / 2, NoBias: true}, eights(b.wide), b.activation)
	if b.squeeze {
		units := (b.wide/4 + 4) / 8 * 8
		if 10*units < 9*(b.wide/4) {
			units += 8
		}
		layers = append(layers, nn.SqueezeExcitation{Units: units})
	}
	return append(layers, nn.Conv2D{Filters: b.out, Kernel: 1, NoBias: true}, eights(b.out))
}
