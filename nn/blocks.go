package nn

import (
	"fmt"
	"slices"
)

// blocks are the channels of the layers of a model: a sub-network that has fewer of
// them has a part of each block.
type blocks struct {
	// of tells, for the first two dimensions of a parameter by name, the sizes of the
	// blocks that it consists of, in channels; nil is one block. The gates of recurrent
	// layers are some, and so are the inputs of a join of channels.
	of map[string][2][]int
	// clash names a sum of inputs that consist of different blocks, or groups of
	// channels of several.
	clash error
	// still names a layer whose channels cannot begin elsewhere; empty for none.
	still string
}

// blocksOf walks a model's layers.
func blocksOf(m *Model) *blocks {
	b := &blocks{of: map[string][2][]int{}}
	b.chain(m.Stages(), []int{m.input.C})
	return b
}

// chain walks layers and returns the blocks of what the last one gives.
func (b *blocks) chain(stages []Stage, in []int) []int {
	for i, s := range stages {
		switch l := s.Layer.(type) {
		case Conv2D, Dense:
			b.of[s.Name+".weight"] = [2][]int{nil, in}
			in = nil
		case GroupedConv2D:
			switch {
			case l.Groups <= 1:
				b.of[s.Name+".weight"] = [2][]int{nil, in}
				in = nil
			case l.Groups == s.In.C && l.Filters == s.In.C: // depthwise
				b.of[s.Name+".weight"] = [2][]int{in, nil}
				b.of[s.Name+".bias"] = [2][]int{in, nil}
			default:
				b.groups(i, s, l, in)
				in = nil
			}
		case Attention: // in_proj makes queries, keys and values, by heads
			heads := slices.Repeat([]int{s.In.C / l.Heads}, 3*l.Heads)
			b.of[s.Name+".in_proj_weight"] = [2][]int{heads, in}
			b.of[s.Name+".in_proj_bias"] = [2][]int{heads, nil}
			b.of[s.Name+".out_proj.weight"] = [2][]int{nil, heads[:l.Heads]}
			in = nil
		case Positions:
			b.of[s.Name+".weight"] = [2][]int{nil, in}
		case Sequence:
			b.of[s.Name+".class_token"] = [2][]int{in, nil}
		case GRU:
			b.gates(s.Name, 3, l.Hidden, 1, in)
			in = nil
		case LSTM:
			b.gates(s.Name, 4, l.Hidden, max(l.Layers, 1), in)
			in = nil
		case GroupNorm, LayerNorm, RMSNorm, DepthwiseConv2D:
			b.of[s.Name+".weight"] = [2][]int{in, nil}
			b.of[s.Name+".bias"] = [2][]int{in, nil}
		case SqueezeExcitation:
			b.of[s.Name+".fc1.weight"] = [2][]int{nil, in}
			b.of[s.Name+".fc2.weight"] = [2][]int{in, nil}
			b.of[s.Name+".fc2.bias"] = [2][]int{in, nil}
		case Residual:
			in = b.sum(i, s, b.chain(s.Body, in), b.chain(s.Shortcut, in))
		case Graph:
			in = b.graph(i, s, l, in)
		default:
			if s.Out.C != s.In.C {
				in = nil
			}
		}
		if in == nil {
			in = []int{s.Out.C}
		}
	}
	return in
}

// groups notes a convolution whose groups of filters read groups of channels each: what
// a filter reads is told by its place.
func (b *blocks) groups(at int, s Stage, l GroupedConv2D, in []int) {
	b.still = s.Name
	if len(in) > 1 && b.clash == nil {
		b.clash = fmt.Errorf("layer %d (%s): its %d groups read channels of %v, of which sub-networks have other groups", at+1, l.Kind(), l.Groups, in)
	}
}

// gates notes the blocks of a recurrent layer's parameters.
func (b *blocks) gates(name string, n, hidden, layers int, in []int) {
	rows := slices.Repeat([]int{hidden}, n)
	for i := range layers {
		b.of[fmt.Sprintf("%s.weight_ih_l%d", name, i)] = [2][]int{rows, in}
		b.of[fmt.Sprintf("%s.weight_hh_l%d", name, i)] = [2][]int{rows, nil}
		b.of[fmt.Sprintf("%s.bias_ih_l%d", name, i)] = [2][]int{rows, nil}
		b.of[fmt.Sprintf("%s.bias_hh_l%d", name, i)] = [2][]int{rows, nil}
		in = nil
	}
}

// graph walks the branches of a graph.
func (b *blocks) graph(at int, s Stage, g Graph, in []int) []int {
	given := map[int][]int{GraphInput: in}
	for i, br := range g.Branches {
		flow := given[br.From[0]]
		for _, from := range br.From[1:] {
			if br.Join == Concat {
				flow = slices.Concat(flow, given[from])
			} else {
				flow = b.sum(at, s, flow, given[from])
			}
		}
		given[i] = b.chain(s.Branches[i], flow)
	}
	return given[len(g.Branches)-1]
}

// sum returns the blocks of a sum.
func (b *blocks) sum(at int, s Stage, x, y []int) []int {
	if slices.Equal(x, y) {
		return x
	}
	if b.clash == nil {
		b.clash = fmt.Errorf("layer %d (%s): it adds channels of %v and of %v, which sub-networks have different ones of", at+1, s.Layer.Kind(), x, y)
	}
	return []int{s.Out.C}
}
