package nn

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Graph is a part of a network that is no chain: branches that read the graph's input
// or what earlier branches gave. The last branch joins others and gives the graph's
// output. Parameters are named as in the chain that the graph stands in.
type Graph struct {
	Branches []Branch

	to binding // of the branches
}

// Branch is a chain of layers of a Graph, after what it reads.
type Branch struct {
	// From numbers what is read: earlier branches, from 0 on, or -1, the input of the graph.
	From []int
	// Join says how several inputs become one: "add" and "concat" are the sum of inputs of one shape, and
	// their channels side by side in the order in which they are named. "mix" is the mixed operation of
	// DARTS (Liu et al. 2019), the sum of inputs of one shape weighted by a softmax of trained numbers,
	//
	//	y = sum_k softmax(alpha)_k x_k
	//
	// and "multiply" the product of two inputs of one shape, or of an image and a factor for each
	// channel, as squeeze-and-excitation has it.
	Join string
	// Weights is the name of a mix's weights: all of a network that have one name
	// share them, in the parameter NAME.alpha. Zero has it mix in zeros, too, by the
	// first of them.
	Weights string
	Zero    bool
	Layers  []Layer
	// Number is the number of the join in messages, from 1; 0 stands for the branch.
	Number int
}

// graphInput stands for the input of a graph in Branch.From.
const graphInput = -1

// The values of Branch.Join; "" is a branch of one input.
const (
	joinAdd      = "add"
	joinConcat   = "concat"
	joinMix      = "mix"
	joinMultiply = "multiply"
)

var joins = []string{"", joinAdd, joinConcat, joinMix, joinMultiply}

// Named is a layer with a name of its own, by which its parameters go in place of its
// kind and number: "stem.weight". Number, unless 0, is the layer's in messages. Files
// tells, by the names of the layer's own parameters, what they are in files of weights
// where that is something else: a whole name, and a shape of as many values, or nil.
type Named struct {
	Layer
	Name   string
	Number int
	Files  map[string]Tensor
}

// unnamed returns a layer without its name.
func unnamed(l Layer) Layer {
	if n, ok := l.(Named); ok {
		return n.Layer
	}
	return l
}

// renamed returns a layer with the name of another one, if that has one.
func renamed(of, l Layer) Layer {
	if n, ok := of.(Named); ok {
		n.Layer = l
		return n
	}
	return l
}

// Kind returns "graph".
func (Graph) Kind() string { return "graph" }

// Abilities returns what the layer can do.
func (l Graph) Abilities() Abilities {
	some := func(has func(Abilities) bool) bool {
		return slices.ContainsFunc(l.Branches, func(b Branch) bool { return anyOf(b.Layers, has) })
	}
	return Abilities{
		Init: func(i Init) Layer {
			l.Branches = slices.Clone(l.Branches)
			for b := range l.Branches {
				l.Branches[b].Layers = i.Of(l.Branches[b].Layers)
			}
			return l
		},
		Narrow: l.narrow,
		Tokens: some(readsTokens),
		within: func(to binding) Layer { l.to = to; return l },
		few:    some(onFew),
	}
}

// Bind fixes the layers of all branches for their input. Errors name the layer.
func (l Graph) Bind(in Flow) (Bound, error) {
	if in.Vocab > 0 {
		return nil, errors.New("a graph of layers cannot read tokens; an embedding must come before its branches")
	}
	if n := len(l.Branches); n < 2 || len(l.Branches[n-1].Layers) > 0 || l.Branches[n-1].Join == "" {
		return nil, errors.New("a graph must end with a join of branches")
	}
	l.to.steps = l.to.steps || in.Seq > 0
	if l.to.mixed == nil {
		l.to.mixed = mixtures{}
	}
	b := &boundGraph{in: in, group: 1}
	flows, offset, buffer := []Flow{}, 0, 0
	for i, br := range l.Branches {
		flow, err := br.input(i, in, flows)
		p := part{branch: branch{}, from: br.From, join: br.Join, in: flow, offset: offset, buffer: buffer}
		if err == nil && br.Join == joinMix {
			p.mix, err = l.to.mixed.add(br)
		}
		if err != nil {
			return nil, fmt.Errorf("layer %d (%s): %w", max(br.Number, 1), br.Join, err)
		}
		var out Flow
		if p.chain, out, err = bindChain(br.Layers, flow, l.to); err != nil {
			return nil, err
		}
		for _, from := range p.from {
			p.above = p.above || from >= 0 && (b.parts[from].mix != nil || b.parts[from].above)
		}
		offset += p.size()
		buffer += p.buffers()
		flows = append(flows, out)
		b.parts = append(b.parts, p)
	}
	b.out = flows[len(flows)-1]
	b.plan()
	return b, nil
}

// input returns the flow that branch i reads.
func (br Branch) input(i int, in Flow, before []Flow) (Flow, error) {
	var flows []Flow
	for _, from := range br.From {
		if from < graphInput || from >= i {
			return Flow{}, fmt.Errorf("it reads branch %d; there are %d before it", from, i)
		}
		if from == graphInput {
			flows = append(flows, in)
		} else {
			flows = append(flows, before[from])
		}
	}
	switch {
	case !slices.Contains(joins, br.Join):
		return Flow{}, fmt.Errorf("join %q; it must be one of %s", br.Join, strings.Join(joins[1:], ", "))
	case len(flows) == 0 || (len(flows) > 1) != (br.Join != "") || len(flows) > 2 && br.Join == joinMultiply:
		return Flow{}, fmt.Errorf("%d inputs: a join has at least 2, a product 2, a branch without a join has 1", len(flows))
	case (br.Join == joinMix) != (br.Weights != "") || br.Zero && br.Join != joinMix:
		return Flow{}, fmt.Errorf("weights %q: a mix must name its weights, and no other join has any", br.Weights)
	case len(flows) == 1:
		return flows[0], nil
	}
	out := flows[0]
	for k, f := range flows {
		if f.Lead != out.Lead {
			out.Lead = -1 - out.Seq // of steps in two orders
		}
		switch {
		case f.Raw:
			return Flow{}, errors.New("it reads the network's input as it is; a layer must come between")
		case k == 0:
		case br.Join == joinMultiply && f.spreads(out):
		case br.Join == joinMultiply && out.spreads(f):
			out = f
		case f.H != out.H || f.W != out.W || f.Seq != out.Seq || br.Join != joinConcat && f.C != out.C:
			what := map[string]string{
				joinAdd: "all must be the same", joinMix: "all must be the same",
				joinMultiply: "both must be the same, or one have one pixel",
				joinConcat:   "all must have the same height, width and steps",
			}
			return Flow{}, fmt.Errorf("input 1 has %s, input %d %s; %s", values(flows[0]), k+1, values(f), what[br.Join])
		case br.Join == joinConcat:
			out.C += f.C
		}
	}
	return out, nil
}

// part is a branch that is bound.
type part struct {
	branch
	from   []int
	join   string
	mix    *mixture // of a mix
	in     Flow     // of the chain, after the join
	offset int      // of its parameters, from the graph's first: the mixture's, then the chain's
	buffer int      // of its buffers, likewise
	above  bool     // a mix of the graph is among what it reads, near or far
}

// size returns the packed floats of the part's parameters.
func (p part) size() int { return p.mix.size() + p.chain.size() }

// out returns the flow that the part gives.
func (p part) out() Flow {
	if len(p.chain) == 0 {
		return p.in
	}
	return p.last().Out()
}

type boundGraph struct {
	in, out Flow
	parts   []part
	group   int // samples that go through all parts at a time, 0 means all of a chunk
}

// partFloats is how many floats of a sample one part gives at most where two samples go
// through a graph at a time: what a part reads then stays in a second-level cache.
const partFloats = 32 << 10

// plan decides how many samples go through the parts at a time. Parts on images alone
// take few of them at a time, else each part all of a chunk in the groups that its
// layers want. What a part gives is kept, since several others may read it.
func (b *boundGraph) plan() {
	most := 0 // floats that a part gives
	for _, p := range b.parts {
		if !p.perSample() || p.gather() || !p.in.Image() {
			b.group = 0
			break
		}
		b.group = max(b.group, p.chain.groups().most())
		out := p.out()
		most = max(most, out.H*out.W*out.Ld())
	}
	if b.group == 1 && most <= partFloats {
		b.group = 2
	}
	for i := range b.parts {
		p := &b.parts[i]
		p.groups = p.chain.groups()
		if b.group > 0 {
			p.groups = slices.Repeat(groups{b.group}, len(p.chain)+1)
			p.groups[len(p.chain)] = 0
		}
	}
}

func (b *boundGraph) Out() Flow { return b.out }

// readers calls f with every part that reads what part i gives, or the input.
func (b *boundGraph) readers(i int, f func(p part)) {
	for _, p := range b.parts {
		if slices.Contains(p.from, i) {
			f(p)
		}
	}
}

// border returns the widest border that is wished around what part i gives.
func (b *boundGraph) border(i int) Border {
	var w Border
	b.readers(i, func(p part) {
		if p.join == "" && len(p.chain) > 0 {
			w = w.wider(p.chain[0].Traits().InBorder)
		}
	})
	return w
}

func (b Border) wider(o Border) Border { return Border{max(b.Left, o.Left), max(b.Right, o.Right)} }

func (b *boundGraph) Traits() Traits {
	t := Traits{PerSample: b.group > 0, ReadsInput: true, updates: b.group == 0, InBorder: b.border(graphInput), Group: b.group}
	for _, p := range b.parts {
		t.Extra += p.floats(p.groups)
		if p.join != "" {
			t.Extra += max(1, p.in.Seq) * p.in.H * p.in.W * p.in.Ld()
		}
		for _, nd := range p.chain {
			traits := nd.Traits()
			t.Whole, t.Least = t.Whole || traits.Whole, max(t.Least, traits.Least)
			if c := traits.Chunk; c > 0 && (t.Chunk == 0 || c < t.Chunk) {
				t.Chunk = c
			}
		}
	}
	return t
}

func (b *boundGraph) FLOPs() int64 {
	var n int64
	for _, p := range b.parts {
		if p.mix != nil {
			n += 2 * int64(len(p.from)) * int64(max(1, p.in.Seq)*p.in.H*p.in.W*p.in.C)
		}
		for _, nd := range p.chain {
			n += nd.FLOPs()
		}
	}
	return n
}

func (b *boundGraph) Params() []Param {
	var ps []Param
	for _, p := range b.parts {
		ps = append(append(ps, p.mix.params()...), p.parameters("")...)
	}
	return ps
}
