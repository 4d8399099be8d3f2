package nn

import (
	"cmp"
	"fmt"
)

// Stage is a layer in its place in a model, for those who write the model down for
// other programs.
type Stage struct {
	// Name is what the names of the layer's parameters begin with, without the dot:
	// "conv1", "residual2.shortcut.conv1", or the name that it was given.
	Name string
	// Files are the files of Named.
	Files map[string]Tensor
	// Layer is the layer as it was described, without Named.
	Layer Layer
	// In and Out are what it reads and gives. A layer that computes nothing gives
	// what it reads.
	In, Out Flow
	// Body and Shortcut are as in a Residual.
	Body, Shortcut []Stage
	// Branches are the chains of layers of a Graph, one a Branch.
	Branches [][]Stage

	params int // packed floats
}

// Stages returns the model's layers in their places.
func (m *Model) Stages() []Stage {
	flow, _ := m.input.flow()
	return stages(m.layers, flow, "", map[string]int{})
}

// Outputs returns how many values all layers give for a sample: what a step of training
// keeps between its forward and its backward pass where no layers are fused.
func (m *Model) Outputs() int { return given(m.Stages()) }

func given(all []Stage) (n int) {
	for i := range all {
		s := &all[i]
		if s.Name != "" {
			n += s.Out.Rows(1) * max(1, s.Out.H) * max(1, s.Out.W) * s.Out.C
		}
		n += given(s.Body) + given(s.Shortcut)
		for _, b := range s.Branches {
			n += given(b)
		}
	}
	return n
}

// stages walks layers as bindChain does, but fuses none.
func stages(layers []Layer, in Flow, prefix string, count map[string]int) []Stage {
	var all []Stage
	flow := in
	for _, l := range layers {
		n, ok := l.(Named)
		if ok {
			l = n.Layer
		}
		s := Stage{Layer: l, In: flow, Out: flow, Files: n.Files}
		if a := l.Abilities(); a.tied != nil {
			l = a.tied(in.Vocab, layers[0])
		}
		b, err := l.Bind(flow)
		if err != nil {
			panic("nn: a layer was bound once and is not again: " + err.Error())
		}
		g, graph := l.(Graph)
		if b != nil {
			s.Out, s.params = b.Out(), sizeOf(b.Params(), false)
			if !graph {
				count[l.Kind()]++
				s.Name = prefix + cmp.Or(n.Name, fmt.Sprintf("%s%d", l.Kind(), count[l.Kind()]))
			}
		}
		if r, ok := l.(Residual); ok {
			s.Body = stages(r.Body, flow, s.Name+".", map[string]int{})
			s.Shortcut = stages(r.Shortcut, flow, s.Name+".shortcut.", map[string]int{})
		}
		if graph {
			for i, p := range b.(*boundGraph).parts {
				s.Branches = append(s.Branches, stages(g.Branches[i].Layers, p.in, prefix, count))
			}
		}
		all = append(all, s)
		flow = s.Out
	}
	return all
}
