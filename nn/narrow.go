package nn

import (
	"fmt"
	"math"
	"slices"
)

// Narrow returns the sub-network with the first ceil(width C) of the C channels of
// every convolution, hidden dense or recurrent layer and embedding, width in (0, 1];
// the input and the outputs of the last layer are not cut (HeteroFL, Diao et al. 2021).
// Parameters keep their names, and each is the part of the whole one with the lowest
// indices.
//
// In training what such a layer gives is divided by the width where a normalisation
// comes next, as in the authors' networks, which have one behind each layer. Elsewhere
// it is divided by the root of the width, or by 1 where the layer's input is not cut:
// so values of independent weights are as large as in the whole network, while nothing
// would undo divisions by the width, which multiply up from layer to layer. What a
// recurrent layer gives itself is not divided; positions and a class token that are
// added to what a layer gives are divided with it.
//
// Depthwise convolutions, normalisations, positions, class tokens and tied outputs
// follow the channels that they read, group normalisation in as many groups as divide
// them and the whole one's; squeeze-and-excitation has as small a share of its units.
// Attention keeps its heads, each with its first channels, as in the authors'
// transformer: queries, keys and values are divided by the width, too. Of grouped
// convolutions there are the first groups, whole ones. The error names a layer for
// which a width is not defined: heads that do not divide the channels, channels that
// are no whole groups, sums of channels that would lose different ones.
func (m *Model) Narrow(width float64) (*Model, error) {
	if !(width > 0 && width <= 1) {
		return nil, fmt.Errorf("model %s: width %v; it must be in (0, 1]", m.name, width)
	}
	layers, _, err := narrowed(m.layers, narrowing{width: width, channels: m.input.C, whole: true})
	if err == nil && width < 1 {
		err = blocksOf(m).clash
	}
	if err != nil {
		return nil, fmt.Errorf("model %s: %w", m.name, err)
	}
	narrow, err := NewModel(m.name, m.input, m.classes, layers...)
	if err != nil {
		return nil, err
	}
	narrow.loss, narrow.trainable = m.loss, m.trainable
	narrow.freeze()
	return narrow.WithPrecision(m.precision), nil
}

// narrowing says how layers are cut.
type narrowing struct {
	width    float64
	channels int  // of their input
	cut      bool // their input has lost channels
	whole    bool // they are a whole network: the last dense layer gives its outputs
}

// narrowed cuts layers, and returns how many channels they give.
func narrowed(layers []Layer, n narrowing) ([]Layer, int, error) {
	width, in, cut, whole := n.width, n.channels, n.cut, n.whole
	channels := func(n int) int { return int(math.Ceil(width * float64(n))) }
	last := -1
	for i, l := range layers {
		switch unnamed(l).(type) {
		case Dense:
			last = i
		case Tied: // gives the outputs itself
			last = -1
		}
	}
	if !whole {
		last = -1
	}
	var out []Layer
	// A scale is due behind the layers that commute with it; root says that it is that
	// of a layer whose input is cut.
	scale, root := false, false
	scaleBefore := func(next Layer) {
		switch next.(type) {
		case GroupNorm, LayerNorm, RMSNorm:
			if scale {
				out = append(out, Scale{Factor: float32(1 / width)})
			}
		default:
			if scale && root {
				out = append(out, Scale{Factor: float32(1 / math.Sqrt(width))})
			}
		}
		scale = false
	}
	for i, l := range layers {
		name, _ := l.(Named)
		l = unnamed(l)
		switch l.(type) {
		case ReLU, MaxPool, AvgPool, Flatten, Sequence, Positions, Steps:
		default:
			scaleBefore(l)
		}
		due := func() { scale, root, cut = width < 1, cut, true }
		switch now := l.(type) {
		case Conv2D:
			now.Filters = channels(now.Filters)
			l, in = now, now.Filters
			due()
		case GroupedConv2D:
			if now.Groups > 1 {
				groups := width * float64(now.Groups)
				if groups != math.Trunc(groups) || groups < 1 {
					return nil, 0, fmt.Errorf("layer %d (%s): a share of %v of %d groups are no whole groups", i+1, now.Kind(), width, now.Groups)
				}
				now.Filters = now.Filters / now.Groups * int(groups)
				now.Groups = int(groups)
			} else {
				now.Filters = channels(now.Filters)
			}
			l, in = now, now.Filters
			due()
		case Attention:
			if in%max(now.Heads, 1) != 0 {
				return nil, 0, fmt.Errorf("layer %d (%s): %d heads of %d channels at width %v; the heads must divide the channels", i+1, now.Kind(), now.Heads, in, width)
			}
			now.factor = float32(1 / width)
			l = now
			due()
		case GroupNorm:
			if width < 1 {
				now.Groups = gcd(now.Groups, in)
			}
			l = now
		case SqueezeExcitation:
			now.Units = channels(now.Units)
			l = now
		case Dense:
			if i != last {
				now.Units = channels(now.Units)
				l = now
				due()
			}
		case Embedding:
			now.Dim = channels(now.Dim)
			l, in = now, now.Dim
			due()
		case GRU:
			now.Hidden = channels(now.Hidden)
			l, in = now, now.Hidden
			due()
		case LSTM:
			now.Hidden = channels(now.Hidden)
			l, in = now, now.Hidden
			due()
		case Graph:
			if whole && i > last {
				return nil, 0, fmt.Errorf("layer %d (graph): the outputs of the network are not cut; a dense layer must come last", i+1)
			}
			var err error
			if now.Branches, in, err = narrowedBranches(now.Branches, narrowing{width: width, channels: in, cut: cut}); err != nil {
				return nil, 0, fmt.Errorf("layer %d (%s): %w", i+1, now.Kind(), err)
			}
			l, cut = now, true
		case Residual:
			var err error
			branch := narrowing{width: width, channels: in, cut: cut}
			if now.Shortcut, _, err = narrowed(now.Shortcut, branch); err == nil {
				now.Body, in, err = narrowed(now.Body, branch)
			}
			if err != nil {
				return nil, 0, fmt.Errorf("layer %d (%s): %w", i+1, now.Kind(), err)
			}
			l, cut = now, true
		case DepthwiseConv2D, LayerNorm, RMSNorm, ReLU, GELU, SiLU, HardSwish, HardSigmoid, Logistic, Tanh, MaxPool, AvgPool, Flatten, Dropout, LRN, Scale, Sequence, Positions, Steps, Tied:
		default:
			return nil, 0, fmt.Errorf("layer %d (%s): widths are not defined for a layer of this type", i+1, l.Kind())
		}
		if name.Layer != nil {
			name.Layer = l
			l = name
		}
		out = append(out, l)
	}
	scaleBefore(nil)
	return out, in, nil
}

// narrowedBranches cuts the branches of a graph behind so many channels, and returns how
// many the last one gives.
func narrowedBranches(branches []Branch, n narrowing) ([]Branch, int, error) {
	given := map[int]int{GraphInput: n.channels}
	branches = slices.Clone(branches)
	for k := range branches {
		br, at := &branches[k], narrowing{width: n.width, cut: n.cut}
		for _, from := range br.From {
			if br.Join == Concat {
				at.channels += given[from]
			} else {
				at.channels = given[from]
			}
			at.cut = at.cut || from != GraphInput
		}
		var err error
		if br.Layers, given[k], err = narrowed(br.Layers, at); err != nil {
			return nil, 0, err
		}
	}
	return branches, given[len(branches)-1], nil
}

// gcd returns the largest number that divides both.
func gcd(a, b int) int {
	for b > 0 {
		a, b = b, a%b
	}
	return a
}
