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
		case Residual:
			in = b.sum(i, s, b.chain(s.Body, in), b.chain(s.Shortcut, in))
		case Graph:
			in = b.graph(i, s, l, in)
		default:
			in = b.layer(i, s, in)
		}
		if in == nil {
			in = []int{s.Out.C}
		}
	}
	return in
}

// layer notes what a layer says of its channels.
func (b *blocks) layer(at int, s Stage, in []int) []int {
	of := s.Layer.Abilities().Blocks
	if of == nil {
		if len(in) > 1 && s.params > 0 {
			b.refuse(at, s, fmt.Errorf("it has parameters but no Blocks, so it cannot be narrowed after channels of %v", in))
		}
		if s.Out.C != s.In.C {
			return nil
		}
		return in
	}
	own := of(s, in)
	for name, sizes := range own.Params {
		b.of[s.Name+"."+name] = sizes
	}
	if own.Fixed {
		b.still = s.Name
	}
	if own.Err != nil {
		b.refuse(at, s, own.Err)
	}
	return own.Out
}

// refuse keeps the first error.
func (b *blocks) refuse(at int, s Stage, err error) {
	if b.clash == nil {
		b.clash = fmt.Errorf("layer %d (%s): %w", at+1, s.Layer.Kind(), err)
	}
}

// graph walks the branches of a graph.
func (b *blocks) graph(at int, s Stage, g Graph, in []int) []int {
	given := map[int][]int{graphInput: in}
	for i, br := range g.Branches {
		flow := given[br.From[0]]
		for _, from := range br.From[1:] {
			if br.Join == joinConcat {
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
	b.refuse(at, s, fmt.Errorf("it adds channels of %v and %v, which are narrowed differently", x, y))
	return []int{s.Out.C}
}
