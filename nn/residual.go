package nn

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
)

// Residual adds what two branches make of an image, a sequence or a vector: the layers
// of Body and those of Shortcut, which may be none (He et al. 2016). The parameters are named as in a
// model, those of the shortcut after "shortcut.": "residual1.conv2.weight",
// "residual1.shortcut.conv1.weight". A ReLU that follows is computed within the
// layer.
type Residual struct {
	Body, Shortcut []Layer

	to binding // of the branches
}

// Kind returns "residual".
func (Residual) Kind() string { return "residual" }

// Abilities returns what the layer can do.
func (l Residual) Abilities() Abilities {
	return Abilities{
		Init: func(i Init) Layer {
			l.Body, l.Shortcut = i.Of(l.Body), i.Of(l.Shortcut)
			return l
		},
		ReLU: func() Layer { return residualReLU{l} },
		Narrow: func(n Narrowing) (Narrowed, error) {
			var err error
			channels := n.Channels
			if l.Shortcut, _, err = narrowed(l.Shortcut, n.inner()); err == nil {
				l.Body, channels, err = narrowed(l.Body, n.inner())
			}
			return Narrowed{Layer: l, Channels: channels, Cut: true}, err
		},
		Tokens: anyOf(l.Body, readsTokens) || anyOf(l.Shortcut, readsTokens),
		within: func(to binding) Layer {
			to.count = nil
			l.to = to
			return l
		},
		few: anyOf(l.Body, onFew) || anyOf(l.Shortcut, onFew),
	}
}

// readsTokens and onFew tell whether a layer has one of these abilities.
func readsTokens(a Abilities) bool { return a.Tokens }
func onFew(a Abilities) bool       { return a.few }

// anyOf reports whether any of some layers has an ability.
func anyOf(layers []Layer, has func(Abilities) bool) bool {
	return slices.ContainsFunc(layers, func(l Layer) bool { return has(l.Abilities()) })
}

// Bind fixes the layer and those of its branches for their input.
func (l Residual) Bind(in Flow) (Bound, error) { return l.bind(in, false) }

// residualReLU is a residual block followed by a ReLU.
type residualReLU struct{ Residual }

func (l residualReLU) Bind(in Flow) (Bound, error) { return l.bind(in, true) }

func (l Residual) bind(in Flow, relu bool) (Bound, error) {
	if in.Vocab > 0 {
		return nil, errors.New("a residual block cannot read tokens; an embedding must come before")
	}
	if in.Seq > 0 {
		l.to.steps = true
	}
	body, out, err := bindBranch("body", l.Body, in, l.to)
	if err != nil {
		return nil, err
	}
	shortcut, other, err := bindBranch("shortcut", l.Shortcut, in, l.to)
	switch {
	case err != nil:
		return nil, err
	case len(body) == 0:
		return nil, errors.New("the body has no layers; it must have at least one")
	case out.H != other.H || out.W != other.W || out.C != other.C || out.Seq != other.Seq:
		return nil, fmt.Errorf("the output of the body is %v, of the shortcut %v; they must be equal", values(out), values(other))
	case other.Raw:
		return nil, errors.New("a residual block without a shortcut cannot be the first layer")
	}
	if out.Lead != other.Lead {
		out.Lead = -1 - out.Seq // of steps in two orders
	}
	b := &boundResidual{in: in, out: out, relu: relu}
	if body.perSample() && shortcut.perSample() {
		b.step = max(body.groups().most(), shortcut.groups().most())
		if !body.gather() && !shortcut.gather() {
			b.group = b.step
		}
	} else if kind := cmp.Or(body.whole(), shortcut.whole()); in.Image() && kind != "" {
		return nil, fmt.Errorf("a layer of type %s; a residual block of an image takes only layers on images", kind)
	}
	for _, nd := range slices.Concat(body, shortcut) {
		b.all, b.least = b.all || nd.Traits().Whole, max(b.least, nd.Traits().Least)
		if c := nd.Traits().Chunk; c > 0 && (b.chunk == 0 || c < b.chunk) {
			b.chunk = c
		}
	}
	b.body, b.shortcut = branch{body, b.groups(body)}, branch{shortcut, b.groups(shortcut)}
	return b, nil
}

// bindBranch binds the layers of a branch.
func bindBranch(name string, layers []Layer, in Flow, to binding) (chain, Flow, error) {
	c, out, err := bindChain(layers, in, to)
	if err != nil {
		return nil, out, fmt.Errorf("%s: %w", name, err)
	}
	return c, out, nil
}

// values describes what a branch gives.
func values(f Flow) string {
	if f.Seq > 0 {
		return fmt.Sprintf("%d steps of %d values", f.Seq, f.C)
	}
	return fmt.Sprintf("%v values", Shape{H: f.H, W: f.W, C: f.C})
}

// whole returns the kind of the first layer that neither treats each sample of an image
// alone nor all of a batch, "" when all do.
func (c chain) whole() string {
	for _, nd := range c {
		if t := nd.Traits(); !t.PerSample && !t.Whole {
			return nd.kind
		}
	}
	return ""
}

func (c chain) perSample() bool {
	return !slices.ContainsFunc(c, func(nd node) bool { return !nd.Traits().PerSample })
}

type boundResidual struct {
	in, out        Flow
	body, shortcut branch
	relu           bool
	all            bool // a layer wants all samples of a batch
	least          int  // samples that it must have
	chunk          int  // most samples of a chunk that a layer wants, 0 if none says
	group          int  // samples that go through the block at a time, 0 means all of a chunk
	step           int  // that go through the branches
}

func (b *boundResidual) Out() Flow { return b.out }

// branch is the layers of a branch.
type branch struct {
	chain
	groups groups
}

func (b branch) last() node { return b.chain[len(b.chain)-1] }

// groups returns those of a branch, the same for all its layers and for what adds
// the branches up.
func (b *boundResidual) groups(c chain) groups {
	g := make(groups, len(c)+1)
	for i := range g {
		g[i] = b.step
	}
	return g
}

func (b *boundResidual) Traits() Traits {
	t := Traits{
		PerSample: b.group > 0, ReadsInput: true, ReadsOutput: b.relu, updates: b.group == 0,
		InBorder:   b.body.chain[0].Traits().InBorder,
		GradBorder: b.body.last().Traits().GradBorder,
		Group:      b.group,
		Whole:      b.all,
		Least:      b.least,
		Chunk:      b.chunk,
		Extra:      b.body.floats(b.body.groups) + b.shortcut.floats(b.shortcut.groups),
	}
	if len(b.shortcut.chain) > 0 {
		s := b.shortcut.chain[0].Traits().InBorder
		t.InBorder = t.InBorder.wider(s)
	}
	return t
}

func (b *boundResidual) FLOPs() int64 {
	var n int64
	for _, c := range []chain{b.body.chain, b.shortcut.chain} {
		for _, nd := range c {
			n += nd.FLOPs()
		}
	}
	return n
}

func (b *boundResidual) Params() []Param {
	return append(b.body.parameters(""), b.shortcut.parameters("shortcut.")...)
}
