package nn

import (
	"errors"
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
// comes next, as in the authors' networks, which have one after each layer. Elsewhere
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
	layers, _, err := narrowed(m.layers, Narrowing{Width: width, Channels: m.input.C, whole: true})
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
	narrow.loss, narrow.lossType, narrow.trainable = m.loss, m.lossType, m.trainable
	narrow.freeze()
	return narrow.WithPrecision(m.precision), nil
}

// inner is how the layers within a layer are cut.
func (n Narrowing) inner() Narrowing {
	n.whole, n.Outputs = false, false
	return n
}

// narrowed cuts layers, and returns how many channels they give.
func narrowed(layers []Layer, n Narrowing) ([]Layer, int, error) {
	outputs := -1 // the layer that gives them
	for i, l := range layers {
		switch a := l.Abilities(); {
		case a.Outputs:
			outputs = i
		case a.tied != nil: // gives them itself, and is not cut
			outputs = -1
		}
	}
	if !n.whole {
		outputs = -1
	}
	var out []Layer
	// A scale is due after the layers that pass multiples on; root says that it belongs to
	// a layer whose input is cut.
	scale, root := false, false
	scaleBefore := func(next Abilities) {
		switch {
		case next.Homogeneous:
			return
		case scale && next.Normalizes:
			out = append(out, Scale{Factor: float32(1 / n.Width)})
		case scale && root:
			out = append(out, Scale{Factor: float32(1 / math.Sqrt(n.Width))})
		}
		scale = false
	}
	for i, l := range layers {
		a := l.Abilities()
		scaleBefore(a)
		if a.Narrow == nil {
			return nil, 0, fmt.Errorf("layer %d (%s): widths are not defined for a layer of this type", i+1, l.Kind())
		}
		n.Outputs, n.last = i == outputs, i > outputs
		now, err := a.Narrow(n)
		if err != nil {
			return nil, 0, fmt.Errorf("layer %d (%s): %w", i+1, l.Kind(), err)
		}
		if now.Scaled {
			scale, root = true, n.Cut
		}
		n.Channels, n.Cut = now.Channels, now.Cut
		if now.Layer != nil {
			l = renamed(l, now.Layer)
		}
		out = append(out, l)
	}
	scaleBefore(Abilities{})
	return out, n.Channels, nil
}

// narrow cuts the branches.
func (l Graph) narrow(n Narrowing) (Narrowed, error) {
	if n.whole && n.last {
		return Narrowed{}, errors.New("the outputs of the network cannot be narrowed; the last layer must be dense")
	}
	given := map[int]int{graphInput: n.Channels}
	l.Branches = slices.Clone(l.Branches)
	for k := range l.Branches {
		br, at := &l.Branches[k], n.inner()
		at.Channels = 0
		for _, from := range br.From {
			if br.Join == joinConcat {
				at.Channels += given[from]
			} else {
				at.Channels = given[from]
			}
			at.Cut = at.Cut || from != graphInput
		}
		var err error
		if br.Layers, given[k], err = narrowed(br.Layers, at); err != nil {
			return Narrowed{}, err
		}
	}
	return Narrowed{Layer: l, Channels: given[len(l.Branches)-1], Cut: true}, nil
}
