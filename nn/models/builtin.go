package models

import (
	"fmt"

	"github.com/fedfast/fedfast/nn"
)

// builtIn are the types of layers of this program; those that join or hold other layers
// are made by package models itself.
var builtIn = []LayerType{
	{
		Name: "conv", Doc: "a convolution of images",
		Keys: []string{"filters", "kernel", "width", "padding", "pad", "no_bias", "stride", "groups", "dilation", "init"}, Required: []string{"filters", "kernel"},
		Make: func(s LayerSpec, _ any) nn.Layer {
			return nn.Conv2D{
				Filters: s.Filters, Kernel: s.Kernel, KernelW: s.Width, Groups: s.Groups, Dilation: s.Dilation,
				Same: s.Padding == "same", Pad: s.Pad, Stride: s.Stride, NoBias: s.NoBias, Init: s.init(),
			}
		},
	},
	{
		Name: "dense", Doc: "a fully connected layer",
		Keys: []string{"units", "no_bias", "init"}, Ends: true,
		Make: func(s LayerSpec, _ any) nn.Layer {
			return nn.Dense{Units: s.Units, NoBias: s.NoBias, Init: s.init()}
		},
	},
	{
		Name: "maxpool", Doc: "the maximum of each window of an image",
		Keys: []string{"size", "width", "stride", "padding", "pad", "ceil", "rows", "columns"},
		Make: func(s LayerSpec, _ any) nn.Layer {
			return nn.MaxPool{Size: s.Size, SizeW: s.Width, Stride: s.Stride, Same: s.Padding == "same", Pad: s.Pad, Ceil: s.Ceil, OutH: s.Rows, OutW: s.Columns}
		},
	},
	{
		Name: "avgpool", Doc: "the mean of each window, or of the whole image",
		Keys: []string{"size", "width", "stride", "pad", "count_pad", "ceil", "rows", "columns"},
		Make: func(s LayerSpec, _ any) nn.Layer {
			return nn.AvgPool{Size: s.Size, SizeW: s.Width, Stride: s.Stride, Pad: s.Pad, CountPad: s.CountPad, Ceil: s.Ceil, OutH: s.Rows, OutW: s.Columns}
		},
	},
	{
		Name: "lrn", Doc: "local response normalization over channels",
		Keys: []string{"radius", "bias", "alpha", "beta"}, Required: []string{"radius", "alpha"},
		Make: func(s LayerSpec, _ any) nn.Layer {
			return nn.LRN{Radius: s.Radius, Bias: or(s.Bias, 1), Alpha: *s.Alpha, Beta: or(s.Beta, 0.75)}
		},
	},
	{
		Name: "groupnorm", Doc: "group normalization",
		Keys: []string{"groups", "no_affine", "eps"}, Required: []string{"groups"},
		Make: func(s LayerSpec, _ any) nn.Layer {
			return nn.GroupNorm{Groups: s.Groups, Epsilon: or(s.Eps, 0), NoAffine: s.NoAffine}
		},
	},
	{
		Name: "batchnorm", Doc: "batch normalization of the channels of images or sequences, or of the features of vectors",
		Keys: []string{"momentum", "cumulative", "eps", "no_affine"},
		Make: func(s LayerSpec, _ any) nn.Layer {
			l := nn.BatchNorm{Epsilon: or(s.Eps, 0), Momentum: or(s.Momentum, 0.1), Cumulative: s.Cumulative, NoAffine: s.NoAffine}
			if s.Cumulative {
				l.Momentum = 0
			}
			return l
		},
	},
	{
		Name: "relu", Doc: "max(x, 0)", Module: "nn.ReLU", Function: "relu",
		Make: func(_ LayerSpec, _ any) nn.Layer { return nn.ReLU{} },
	},
	{
		Name: "flatten", Doc: "makes a vector of an image",
		Make: func(_ LayerSpec, _ any) nn.Layer { return nn.Flatten{} },
	},
	{
		Name: "dropout", Doc: "sets a share of values to zero while training",
		Keys: []string{"rate", "channels"}, Required: []string{"rate"},
		Make: func(s LayerSpec, _ any) nn.Layer {
			return nn.Dropout{Rate: float32(*s.Rate), Channels: s.Channels}
		},
	},
	{
		Name: "embedding", Doc: "a vector for each token",
		Keys: []string{"size", "zero_padding", "init"}, Required: []string{"size"},
		Make: func(s LayerSpec, _ any) nn.Layer {
			return nn.Embedding{Dim: s.Size, ZeroPadding: s.ZeroPadding, Init: s.init()}
		},
	},
	{
		Name: "lstm", Doc: "one or more LSTM layers over a sequence",
		Keys: []string{"hidden", "layers", "output", "rate", "biases", "init"}, Required: []string{"hidden"},
		Make: func(s LayerSpec, _ any) nn.Layer {
			l := nn.LSTM{Hidden: s.Hidden, Layers: s.Layers, EveryStep: s.Output == "every", OneBias: s.Biases == 1, Init: s.init()}
			if s.Rate != nil {
				l.Dropout, l.Droppable = float32(*s.Rate), true
			}
			if s.Init == "glorot" || s.Init == "haiku" {
				l.ForgetBias = 1
			}
			return l
		},
	},
	{
		Name: "gru", Doc: "gated recurrent units over a sequence",
		Keys: []string{"hidden", "output", "init"}, Required: []string{"hidden"},
		Make: func(s LayerSpec, _ any) nn.Layer {
			return nn.GRU{Hidden: s.Hidden, EveryStep: s.Output == "every", Init: s.init()}
		},
	},
	{
		Name: "depthwise", Doc: "a convolution of each channel by itself",
		Keys: []string{"kernel", "padding", "pad", "no_bias", "stride", "dilation", "init"}, Required: []string{"kernel"},
		Make: func(s LayerSpec, _ any) nn.Layer {
			return nn.DepthwiseConv2D{Kernel: s.Kernel, Same: s.Padding == "same", Pad: s.Pad, Stride: s.Stride, Dilation: s.Dilation, NoBias: s.NoBias, Init: s.init()}
		},
	},
	{
		Name: "squeeze", Doc: "squeeze-and-excitation: a share for each channel of an image, by the means of all",
		Keys: []string{"units", "init"}, Required: []string{"units"},
		Make: func(s LayerSpec, _ any) nn.Layer {
			return nn.SqueezeExcitation{Units: s.Units, Init: s.init()}
		},
	},
	{
		Name: "attention", Doc: "multi-head self-attention over a sequence",
		Keys: []string{"heads", "causal", "mask_padding", "init"}, Required: []string{"heads"},
		Make: func(s LayerSpec, _ any) nn.Layer {
			return nn.Attention{Heads: s.Heads, Causal: s.Causal, MaskPadding: s.MaskPadding, Init: s.init()}
		},
	},
	{
		Name: "sequence", Doc: "the pixels of an image as a sequence",
		Keys: []string{"class_token"},
		Make: func(s LayerSpec, _ any) nn.Layer {
			return nn.Sequence{ClassToken: s.ClassToken}
		},
	},
	{
		Name: "image", Doc: "the steps of a sequence as an image of one row, for convolutions and pools over steps",
		Make: func(_ LayerSpec, _ any) nn.Layer { return nn.Image{} },
	},
	{
		Name: "positions", Doc: "adds a learned vector to each step of a sequence",
		Make: func(_ LayerSpec, _ any) nn.Layer { return nn.Positions{} },
	},
	{
		Name: "steps", Doc: "one vector of a sequence",
		Keys: []string{"take", "mask_padding"},
		Make: func(s LayerSpec, _ any) nn.Layer {
			return nn.Steps{Take: s.Take, MaskPadding: s.MaskPadding}
		},
	},
	{
		Name: "tied", Doc: "an output for each token, by the table of the embedding",
		Make: func(_ LayerSpec, _ any) nn.Layer { return nn.Tied{} },
	},
	{
		Name: "layernorm", Doc: "normalization of the channels of each step or pixel, or of a vector",
		Keys: []string{"eps"},
		Make: func(s LayerSpec, _ any) nn.Layer { return nn.LayerNorm{Epsilon: or(s.Eps, 0)} },
	},
	{
		Name: "rmsnorm", Doc: "division of the channels of each step or pixel, or of a vector, by their root mean square",
		Keys: []string{"eps"},
		Make: func(s LayerSpec, _ any) nn.Layer { return nn.LayerNorm{Epsilon: or(s.Eps, 0), RMS: true} },
	},
	{
		Name: "gelu", Doc: "x times the share of a normal distribution below x",
		Keys: []string{"approximate"}, Function: "gelu",
		Make: func(s LayerSpec, _ any) nn.Layer {
			if s.Approximate == "tanh" {
				return nn.Activation("gelu_tanh")
			}
			return nn.Activation("gelu")
		},
	},
	{
		Name: add, Doc: "the sum of what several layers give",
		Keys: []string{"inputs"}, Required: []string{"inputs"},
	},
	{
		Name: concat, Doc: "the channels of several layers side by side",
		Keys: []string{"inputs"}, Required: []string{"inputs"},
	},
	{
		Name: mix, Doc: "the sum of several layers weighted by the softmax of trained numbers, a mixed operation of DARTS",
		Keys: []string{"inputs", "weights", "zero"}, Required: []string{"inputs", "weights"},
	},
	{
		Name: multiply, Doc: "the product of two layers of one shape, or of an image and a factor for each channel",
		Keys: []string{"inputs"}, Required: []string{"inputs"},
	},
	{
		Name: "scale", Doc: "x times a constant",
		Keys: []string{"factor"}, Required: []string{"factor"},
		Make: func(s LayerSpec, _ any) nn.Layer { return nn.Scale{Factor: float32(*s.Factor), Always: true} },
	},
	{
		Name: "reverse", Doc: "the steps of a sequence in the reverse order, for the second direction of an LSTM or GRU",
		Make: func(_ LayerSpec, _ any) nn.Layer { return nn.Reverse{} },
	},
	{
		Name: "channels", Doc: "some or all channels of an image or a vector, shuffled in groups as in ShuffleNet",
		Keys: []string{"first", "count", "groups"},
		Make: func(s LayerSpec, _ any) nn.Layer {
			return nn.Channels{First: s.First, Count: s.Count, Groups: s.Groups}
		},
	},
	{
		Name: "leakyrelu", Doc: "x above zero, and a small slope times x below",
		Keys: []string{"slope"}, Module: "nn.LeakyReLU", Attributes: map[string]string{"slope": "negative_slope"},
		Make: func(s LayerSpec, _ any) nn.Layer { return leakyReLU(float32(or(s.Slope, 0.01))) },
	},
	{
		Name: residual, Doc: "the sum of two branches of layers",
		Keys: []string{"depth", "body", "shortcut"}, Required: []string{"body"},
	},
}

// leakyReLU is x above zero, and slope times x below.
func leakyReLU(slope float32) nn.Elementwise {
	return nn.Elementwise{
		Name: "leakyrelu", Torch: fmt.Sprintf("F.leaky_relu(%%s, %v)", slope),
		F: func(x float32) (y, dy float32) {
			if x <= 0 {
				return slope * x, slope
			}
			return x, 1
		},
	}
}

// init registers the built-in types. One that cannot be registered is a mistake of this
// package.
func init() {
	all := builtIn
	for _, a := range nn.Activations() {
		doc, module, function := a.Describe()
		if a.Kind() == string(a) && a != "gelu" { // which has a key
			all = append(all, LayerType{
				Name: a.Kind(), Doc: doc, Module: module, Function: function,
				Make: func(LayerSpec, any) nn.Layer { return a },
			})
		}
	}
	for _, t := range all {
		if err := Register(t); err != nil {
			panic(err)
		}
	}
}
