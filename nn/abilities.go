package nn

import "math"

// Abilities are what a layer can do besides training, of which some methods and
// commands make use. What is nil it cannot, and they refuse it in one line that names
// the layer; the zero value is a layer that can be trained and evaluated.
type Abilities struct {
	// Init returns the layer with another initialization; nil draws nothing, or has its
	// own way alone.
	Init func(i Init) Layer
	// ReLU returns the layer with a ReLU after it that it computes itself; nil leaves it
	// to a layer of its own.
	ReLU func() Layer
	// Rounded returns the layer with products whose factors are rounded to bf16, in one of
	// its precisions; nil computes in float32 in any precision.
	Rounded func(p Precision) Layer
	// Narrow cuts the layer to a share of its channels, see Model.Narrow. A layer that
	// computes the same with any channels has Narrowing.Follow.
	Narrow func(n Narrowing) (Narrowed, error)
	// Homogeneous says that the layer passes multiples on, and Normalizes that it is a normalization.
	// What a layer of a sub-network gives, which has lost channels, is divided before the next layer that
	// is not Homogeneous: by the width if that one Normalizes, else by the root of the width.
	Homogeneous, Normalizes bool
	// Blocks describes how the channels of the input, which come in blocks of these sizes,
	// correspond to channels of the parameters and of the output. nil knows of no blocks: the layer
	// cannot have parameters and read several.
	Blocks func(s Stage, in []int) Blocks
	// Outputs says that the layer may give the outputs of a network: as many as it is
	// told, which no narrowing changes then.
	Outputs bool
	// Tokens says that it looks at the tokens of the network's input.
	Tokens bool
	// Torch writes the layer in PyTorch; nil has no form there.
	Torch func(t *Torch)

	// within returns the layer as it is bound for something.
	within func(to binding) Layer
	// tied returns the layer with the weights of the network's first layer, which reads
	// tokens from a vocabulary of the given size.
	tied func(vocab int, first Layer) Layer
	// few says that it is evaluated fastest on a few samples at a time.
	few bool
}

// Narrowing describes how a layer is cut.
type Narrowing struct {
	// Width is the share of the channels that is left, in (0, 1].
	Width float64
	// Channels are the channels of the input of the layer, without what was cut.
	Channels int
	// Cut says that the input has lost channels.
	Cut bool
	// Outputs says that the layer gives the outputs of the network.
	Outputs bool

	whole bool // the layer stands in the network itself, and not within another layer
	last  bool // none after it gives the outputs
}

// Of returns how many channels of the given number are left: the first ones, rounded up.
func (n Narrowing) Of(channels int) int { return int(math.Ceil(n.Width * float64(channels))) }

// Narrowed is a layer that was cut.
type Narrowed struct {
	// Layer is the layer that is left, nil for the one that there was.
	Layer Layer
	// Channels are those that it gives.
	Channels int
	// Cut says that what it gives has lost channels, Scaled that it is to be divided
	// therefore.
	Cut, Scaled bool
}

// Made is what Narrow returns for a layer that gives channels of its own.
func (n Narrowing) Made(l Layer, channels int) (Narrowed, error) {
	return Narrowed{Layer: l, Channels: channels, Cut: true, Scaled: n.Width < 1}, nil
}

// Kept is what Narrow returns for a layer that gives the channels which it reads.
func (n Narrowing) Kept(l Layer) (Narrowed, error) {
	return Narrowed{Layer: l, Channels: n.Channels, Cut: n.Cut}, nil
}

// Follow is Narrow of a layer without numbers of channels: it is the same in a sub-network,
// and gives the channels that it reads.
func (n Narrowing) Follow() (Narrowed, error) { return n.Kept(nil) }

// Blocks are the channels of a layer: a sub-network that has fewer of them has a part of
// each block.
type Blocks struct {
	// Params tells, for the first two dimensions of the layer's parameters by name, the
	// sizes of the blocks that they consist of, in channels; nil is one block. The gates
	// of recurrent layers are some, and so are the inputs of a join of channels.
	Params map[string][2][]int
	// Out are those that the layer gives; nil is one block of all channels.
	Out []int
	// Fixed says that the layer's channels cannot begin elsewhere than with the first.
	Fixed bool
	// Err returns why the layer has no sub-networks.
	Err error
}

// ChannelBlocks is the ability of a layer whose parameters hold a number for each channel
// of the input, which are the channels that it gives.
func ChannelBlocks(names ...string) func(Stage, []int) Blocks {
	return func(_ Stage, in []int) Blocks {
		b := Blocks{Params: map[string][2][]int{}, Out: in}
		for _, name := range names {
			b.Params[name] = [2][]int{in, nil}
		}
		return b
	}
}

// inputBlocks is the ability of a layer whose parameter of a name has the channels of the
// input along its second dimension, and which gives one block of channels.
func inputBlocks(name string) func(Stage, []int) Blocks {
	return func(_ Stage, in []int) Blocks {
		return Blocks{Params: map[string][2][]int{name: {nil, in}}}
	}
}
