package nn

import (
	"fmt"
	"math"
	"slices"
)

// Narrow returns the sub-network with the first ceil(width C) of the C channels of
// every convolution, hidden dense or recurrent layer and embedding, width in (0, 1];
// the input and the outputs of the last layer are not cut (HeteroFL, Diao et al. 2021).
// In training what such a layer gives is divided by the width, but for what a
// recurrent layer gives itself. Parameters keep their names, and each is the part of the whole one with the lowest indices. Depthwise convolutions and
// normalisations follow the channels that they read, in as many groups as divide them
// and the whole one's; squeeze-and-excitation has as small a share of its units. The
// error names a layer for which widths are not defined.
func (m *Model) Narrow(width float64) (*Model, error) {
	if !(width > 0 && width <= 1) {
		return nil, fmt.Errorf("model %s: width %v; it must be in (0, 1]", m.name, width)
	}
	layers, _, err := narrowed(m.layers, width, m.input.C, true)
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

// narrowed cuts layers behind so many channels, and returns how many they give; the last
// dense one of a whole network is its output.
func narrowed(layers []Layer, width float64, in int, whole bool) ([]Layer, int, error) {
	channels := func(n int) int { return int(math.Ceil(width * float64(n))) }
	last := -1
	for i, l := range layers {
		if _, dense := unnamed(l).(Dense); dense && whole {
			last = i
		}
	}
	var out []Layer
	scale := false // a scale is due behind the layers that commute with it
	for i, l := range layers {
		name, _ := l.(Named)
		l = unnamed(l)
		switch l.(type) {
		case ReLU, MaxPool, AvgPool, Flatten, Sequence, Steps:
		default:
			if scale {
				out = append(out, Scale{Factor: float32(1 / width)})
			}
			scale = false
		}
		switch now := l.(type) {
		case Conv2D:
			now.Filters = channels(now.Filters)
			l, scale, in = now, width < 1, now.Filters
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
				l, scale = now, width < 1
			}
		case Embedding:
			now.Dim = channels(now.Dim)
			l, scale, in = now, width < 1, now.Dim
		case GRU:
			now.Hidden = channels(now.Hidden)
			l, scale, in = now, width < 1, now.Hidden
		case LSTM:
			now.Hidden = channels(now.Hidden)
			l, scale, in = now, width < 1, now.Hidden
		case Graph:
			if whole && i > last {
				return nil, 0, fmt.Errorf("layer %d (graph): the outputs of the network are not cut; a dense layer must come last", i+1)
			}
			var err error
			if now.Branches, in, err = narrowedBranches(now.Branches, width, in); err != nil {
				return nil, 0, err
			}
			l = now
		case Residual:
			var err error
			if now.Shortcut, _, err = narrowed(now.Shortcut, width, in, false); err != nil {
				return nil, 0, err
			}
			if now.Body, in, err = narrowed(now.Body, width, in, false); err != nil {
				return nil, 0, err
			}
			l = now
		case Sequence:
			if now.ClassToken {
				return nil, 0, fmt.Errorf("layer %d (sequence): widths are not defined for a class token", i+1)
			}
		case DepthwiseConv2D, ReLU, GELU, SiLU, HardSwish, HardSigmoid, Logistic, Tanh, MaxPool, AvgPool, Flatten, Dropout, LRN, Scale, Steps:
		default:
			return nil, 0, fmt.Errorf("layer %d (%s): widths are defined for convolutions, dense and recurrent layers and embeddings", i+1, l.Kind())
		}
		if name.Layer != nil {
			name.Layer = l
			l = name
		}
		out = append(out, l)
	}
	if scale {
		out = append(out, Scale{Factor: float32(1 / width)})
	}
	return out, in, nil
}

// narrowedBranches cuts the branches of a graph behind so many channels, and returns how
// many the last one gives.
func narrowedBranches(branches []Branch, width float64, in int) ([]Branch, int, error) {
	given := map[int]int{GraphInput: in}
	branches = slices.Clone(branches)
	for k := range branches {
		br, n := &branches[k], 0
		for _, from := range br.From {
			if br.Join == Concat {
				n += given[from]
			} else {
				n = given[from]
			}
		}
		var err error
		if br.Layers, given[k], err = narrowed(br.Layers, width, n, false); err != nil {
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
