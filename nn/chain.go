package nn

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/fedfast/fedfast/tensor"
)

// chain is a sequence of layers, each bound to the output of the one before.
type chain []node

// node is a layer in its place.
type node struct {
	Bound
	kind   string
	prefix string // of its parameters' names, with its dot
	in     Flow
	index  int // of the layer for drawing keys
	offset int // of its parameters, from the chain's first
	buffer int // of its buffers, likewise
	params []Param
}

// size returns the packed floats of the layer's parameters, buffers those of its buffers.
func (n node) size() int    { return sizeOf(n.params, false) }
func (n node) buffers() int { return sizeOf(n.params, true) }

func sizeOf(params []Param, buffers bool) int {
	size := 0
	for _, p := range params {
		if p.Buffer == buffers {
			size += p.Size
		}
	}
	return size
}

// values returns how many of the layer's values are trained, without padding.
func (n node) values() int {
	sum := 0
	for _, p := range n.params {
		if !p.Buffer {
			sum += p.Len()
		}
	}
	return sum
}

// bindChain binds the layers one after the other to the flow in. It returns the
// flow that the last one gives. Errors name the layer, counted from 1.
func bindChain(layers []Layer, in Flow, to binding) (chain, Flow, error) {
	var c chain
	if to.count == nil {
		to.count = map[string]int{}
	}
	if to.mixed == nil {
		to.mixed = mixtures{}
	}
	flow, index, offset, buffer := in, 0, 0, 0
	for _, l := range fuse(layers, to) {
		if a := l.Abilities(); a.tied != nil {
			l.Layer = a.tied(in.Vocab, layers[0])
		}
		b, err := l.Bind(flow)
		_, graph := l.Layer.(Graph)
		switch {
		case err != nil && graph: // it names the layer
			return nil, flow, err
		case err != nil:
			return nil, flow, fmt.Errorf("layer %d (%s): %w", l.number, l.Kind(), err)
		case b == nil:
			continue
		}
		n := node{Bound: b, kind: l.Kind(), in: flow, index: index, offset: offset, buffer: buffer, params: b.Params()}
		if !graph {
			to.count[l.Kind()]++
			n.prefix = cmp.Or(l.name, fmt.Sprintf("%s%d", l.Kind(), to.count[l.Kind()])) + "."
		}
		for own, t := range l.files {
			i := slices.IndexFunc(n.params, func(p Param) bool { return p.Name == own })
			if i < 0 || t.Name == "" {
				return nil, flow, fmt.Errorf("layer %d (%s): tensors: %q is no parameter of the layer with a name; write PARAMETER = NAME, or PARAMETER = NAME 1x17x64", l.number, l.Kind(), own)
			}
			n.params[i].file = t
		}
		if index++; l.swish {
			index++
		}
		offset += n.size()
		buffer += n.buffers()
		c = append(c, n)
		flow = b.Out()
	}
	return c, flow, nil
}

// size returns the packed floats of all parameters.
func (c chain) size() int {
	if len(c) == 0 {
		return 0
	}
	last := c[len(c)-1]
	return last.offset + last.size()
}

// buffers returns the packed floats of all buffers.
func (c chain) buffers() int {
	if len(c) == 0 {
		return 0
	}
	last := c[len(c)-1]
	return last.buffer + last.buffers()
}

// parameters returns those of all layers, each after its layer's prefix.
func (c chain) parameters(prefix string) []Param {
	var ps []Param
	for _, nd := range c {
		for _, p := range nd.params {
			p.Name = prefix + nd.prefix + p.Name
			ps = append(ps, p)
		}
	}
	return ps
}

// groups says, for each layer of a chain and for what follows it, how many samples
// they take in a call; 0 means all of a chunk. Neighbours with the same number take
// a group through all of them before the next one, up to a layer that gathers.
type groups []int

// groups returns those of a model: as few samples as the layers on images want, for
// they stay in the cache, but never fewer than a layer before.
func (c chain) groups() groups {
	g := make(groups, len(c)+1)
	for i, n := 0, 1; i < len(c) && c[i].Traits().PerSample; i++ {
		n = max(n, c[i].Traits().Group)
		g[i] = n
	}
	return g
}

// end returns the layer after those that take a group through with layer i.
func (g groups) end(i int, states []State, r *Run) int {
	j := i + 1
	for j < len(states) && g[j] == g[i] && gathering(states[j], r) == nil {
		j++
	}
	return j
}

// start returns the first layer that takes a group back with layer i.
func (g groups) start(i int, states []State, r *Run) int {
	for i > 0 && g[i-1] == g[i] && gathering(states[i-1], r) == nil {
		i--
	}
	return i
}

// most returns the most samples of a group.
func (g groups) most() int {
	n := 1
	for _, m := range g {
		n = max(n, m)
	}
	return n
}

// shares returns how many samples' memory serves for what layer i passes to the
// next, when that is not kept: 0 means that there must be memory for all.
func (g groups) shares(i int) int {
	if g[i+1] == g[i] {
		return g[i]
	}
	return 0
}

// keeps reports whether the output of layer i must outlast the next layer's
// forward pass, all samples of a chunk at a time.
func (c chain) keeps(i int, g groups) bool {
	t := c[i].Traits()
	if g.shares(i) == 0 || t.ReadsOutput || c.gathers(i+1) {
		return true
	}
	if i+1 == len(c) {
		return false
	}
	next := c[i+1].Traits()
	return next.ReadsInput && (next.passesOn || !t.remakes)
}

// passes returns how many samples' memory serves for the output of layer i in
// evaluation, which keeps nothing: 0 means that there must be memory for all.
func (c chain) passes(i int, g groups) int {
	n := g.shares(i)
	for i++; n > 0 && i < len(c) && c[i].Traits().passesOn; i++ {
		n = g.shares(i)
	}
	return n
}

// floats counts what the layers keep of each sample for the backward pass.
func (c chain) floats(g groups) int {
	n := 0
	for i, nd := range c {
		if f := nd.Out(); c.keeps(i, g) {
			n += max(1, f.Seq) * f.H * f.W * f.Ld()
		}
		n += nd.Traits().Extra
	}
	return n
}

// place is where the states of a chain live.
type place struct {
	arena   *tensor.Arena
	samples int // most samples of a chunk
	offset  int // of the chain's first parameter
	buffers int // of its first buffer
	groups  groups
	scratch *scratch
	// needDX says that the first layer must return its input's gradient.
	needDX bool
	whole  bool // that gradient has memory for all samples of a chunk
	// outBorder is wished around the last layer's output.
	outBorder Border
	relu      *reluOnce     // of the first layer, if that is a ReLU whose output others share
	branch    int           // of a block, which the chain is
	output    *sharedMemory // of the last layer's output, of outputs samples, if that is a remaker's; or nil
	outputs   int
	index     func(i int) int // the number of layer i for drawing keys
}

// states makes the layers' states.
func (c chain) states(p place) []State {
	var states []State
	need, turn := p.needDX, 0
	p.scratch.level++
	defer func() { p.scratch.level-- }()
	for i, nd := range c {
		e := &Env{
			Arena: p.arena, Samples: p.samples, Offset: p.offset + nd.offset, Buffers: p.buffers + nd.buffer, Index: p.index(nd.index), NeedDX: need,
			in: nd.in, out: nd.Out(), shareGrad: p.groups[i], passes: c.passes(i, p.groups), scratch: p.scratch,
			turn: &turn, branch: p.branch, last: i+1 == len(c),
		}
		if !c.keeps(i, p.groups) {
			e.shareOut = p.groups[i]
		}
		switch {
		case i == 0 && p.whole, c.gives(i):
			// Between two layers that gather, one with parameters shares such memory: with two
			// that do, what the upper one gathered from would be written anew.
			e.shareGrad, e.gives = 0, c.gives(i) && nd.size() > 0
		case i > 0:
			e.shareGrad = p.groups.shares(i - 1)
		}
		if i == 0 {
			e.relu = p.relu
		}
		if i > 0 {
			e.before, e.first = states[i-1], states[0]
		}
		if nd.Traits().PerSample || nd.Traits().Whole {
			if i > 0 {
				e.gradBorder = c[i-1].Traits().GradBorder
			}
			if i+1 < len(c) {
				e.outBorder = c[i+1].Traits().InBorder
			} else {
				e.outBorder, e.output, e.outputs = p.outBorder, p.output, p.outputs
			}
		}
		outer, first := p.scratch.path, len(p.scratch.works)
		p.scratch.path = outer + nd.prefix
		s := nd.NewState(e)
		p.scratch.works = append(p.scratch.works, workOf(strings.TrimSuffix(p.scratch.path, "."), nd, s, e.NeedDX, p.scratch.works[first:]))
		p.scratch.path = outer
		states = append(states, s)
		need = need || nd.size() > 0
	}
	return states
}

// forward takes the samples [lo, hi) through layers, group after group.
func (g groups) forward(states []State, r *Run, x Act, lo, hi int) Act {
	return g.forwardTo(len(states), states, r, x, lo, hi)
}

// forwardTo takes them through the layers before one, which gathers if it does.
func (g groups) forwardTo(to int, states []State, r *Run, x Act, lo, hi int) Act {
	if len(states) > 0 {
		r.gather(states[0], x, lo, hi)
	}
	for i := 0; i < to; {
		end, n := g.end(i, states, r), cmp.Or(g[i], hi-lo)
		var y Act
		for at := lo; at < hi; at += n {
			y = x
			for _, s := range states[i:end] {
				y = r.forward(s, y, at, min(at+n, hi))
			}
			if end < len(states) {
				r.gather(states[end], y, at, min(at+n, hi))
			}
		}
		i, x = end, y
	}
	return x
}

// backward takes the gradients of the samples [lo, hi) back through layers down to
// the lowest, as far as a layer needs them.
func (g groups) backward(states []State, lowest int, r *Run, dy Act, lo, hi int) Act {
	if len(states) > 0 {
		r.gatherBack(states[len(states)-1], dy, lo, hi)
	}
	return g.backwardTo(lowest, lowest, states, r, dy, lo, hi)
}

// backwardTo is backward where the last layer has gathered. The one below the lowest gathers
// if it does, and is not below least.
func (g groups) backwardTo(lowest, least int, states []State, r *Run, dy Act, lo, hi int) Act {
	for end := len(states); end > lowest && dy.Data != nil; {
		i, n := max(g.start(end-1, states, r), lowest), cmp.Or(g[end-1], hi-lo)
		var d Act
		for at := lo; at < hi; at += n {
			d = dy
			for j := end - 1; j >= i && d.Data != nil; j-- {
				remake(states[:j], r, at, min(at+n, hi))
				d = r.backward(states[j], d, at, min(at+n, hi))
			}
			if i > least {
				r.gatherBack(states[i-1], d, at, min(at+n, hi))
			}
		}
		end, dy = i, d
	}
	return dy
}
