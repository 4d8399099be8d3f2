package nn

import (
	"cmp"
	"slices"

	"github.com/fedfast/fedfast/kernels"
)

// graphState is a graph in one workspace.
type graphState struct {
	b     *boundGraph
	at    int // offset of the parameters
	index int // of the layer
	parts []partState
	x, dx Act               // the input and its gradient
	begun bool              // dx has the gradient of a reader
	relus map[int]*reluOnce // by the part that they read
	used  []bool            // whether what each part gives reaches the output, in a run that draws
}

// partState is a part of it.
type partState struct {
	states []State
	joined Act // what is read, if it is a join
	mix    *mixState
	times  *product // of a Product
	y      Act      // what the part gave
	grad   Act      // its gradient, the sum over its readers; empty if none is needed
	needs  bool     // whether it is
	begun  bool
	lent   bool // grad is the gradient of the sum that is the only reader
	// mixedBy, unless 0, is the part of a mix that is the only reader, and gives grad only when
	// this part is worked on.
	mixedBy int
	norm    *groupNormState // the last layer then, if it can take its share by itself; or nil
	place   int             // among the mix's inputs
	early   bool            // the mix can take the inputs before it before it
	// Others use the memory of joined if it passes, and that of what the chain gives, which its
	// last layer then makes again for the backward pass, unless output is nil.
	passes bool
	relu   *reluState // that the chain begins with, if its output is shared; or nil
	output *sharedMemory
}

func (b *boundGraph) NewState(e *Env) State {
	s := &graphState{b: b, at: e.Offset, index: e.Index, parts: make([]partState, len(b.parts)), used: make([]bool, len(b.parts))}
	s.dx = e.Gradient()
	only, free := b.onlyReaders(), passing{map[Flow][]Act{}, map[Flow][]*sharedMemory{}}
	for i, p := range b.parts {
		ps, reader := &s.parts[i], only[i]
		lends := reader >= 0 && b.group > 0 && b.border(i) == (Border{})
		ps.mix = p.mix.newState(e, e.Offset+p.offset, max(b.group, 1))
		if p.join == joinMultiply {
			ps.times = &product{whole: p.in, space: e.Arena.Alloc(p.in.Ld())}
		}
		need := p.mix != nil // the gradient of what the part reads
		for _, from := range p.from {
			need = need || from == graphInput && e.NeedDX || from >= 0 && s.parts[from].needs
		}
		switch last := i+1 == len(b.parts); {
		case last:
			ps.joined = e.Output()
		case p.join != "":
			border := b.border(i)
			if len(p.chain) > 0 {
				border = p.chain[0].Traits().InBorder
			}
			own := func() Act { return newAct(e.Arena, p.in, e.Samples, border, 0) }
			if ps.passes = lends && len(p.chain) == 0 && b.joins(reader, joinAdd); ps.passes {
				ps.joined = pop(free.joined, p.in, own)
			} else {
				ps.joined = own()
			}
		}
		if n := len(p.chain); n > 0 && lends && b.joins(reader, joinMix) && p.chain[n-1].Traits().remakes {
			ps.output = pop(free.outputs, p.out(), e.scratch.pool)
		}
		ps.needs = need || p.size() > 0
		ps.states = p.states(place{
			arena: e.Arena, samples: e.Samples, offset: e.Offset + p.offset + p.mix.size(), buffers: e.Buffers + p.buffer, groups: p.groups, needDX: need, whole: b.group == 0,
			scratch: e.scratch, outBorder: b.border(i), output: ps.output, outputs: b.group,
			// No layer of a model or of a residual block has such a number.
			index: func(k int) int { return ((e.Index+1)<<14+i+1)<<10 + k },
			relu:  s.relu(p),
		})
		if len(ps.states) > 0 {
			if relu, ok := ps.states[0].(*reluState); ok && relu.once != nil {
				ps.relu = relu
			}
		}
		for _, from := range p.from {
			switch {
			case from < 0 || only[from] != i:
			case s.parts[from].passes:
				free.joined[b.parts[from].in] = append(free.joined[b.parts[from].in], s.parts[from].joined)
			case s.parts[from].output != nil:
				f := b.parts[from].out()
				free.outputs[f] = append(free.outputs[f], s.parts[from].output)
			}
		}
	}
	s.layGradients(e, only)
	for i := range b.parts {
		if ps := &s.parts[i]; ps.mixedBy > 0 && b.group > 0 && len(ps.states) > 0 {
			if norm, ok := ps.states[len(ps.states)-1].(*groupNormState); ok && norm.shares() {
				ps.norm = norm
				ps.place = slices.Index(b.parts[ps.mixedBy].from, i)
				ps.early = b.early(i, ps.mixedBy, ps.place)
			}
		}
	}
	return s
}

// relu returns what all parts that begin with a ReLU of the same input share, nil for a part
// that does not.
func (s *graphState) relu(p part) *reluOnce {
	if len(p.chain) == 0 || p.join != "" || s.b.group == 0 {
		return nil
	}
	if _, ok := p.chain[0].Bound.(*boundReLU); !ok {
		return nil
	}
	from := p.from[0]
	if s.relus == nil {
		s.relus = map[int]*reluOnce{}
	}
	if s.relus[from] == nil {
		once := &reluOnce{}
		s.b.readers(from, func(q part) {
			if len(q.chain) > 1 && q.join == "" {
				once.border = once.border.wider(q.chain[1].Traits().InBorder)
			}
		})
		s.relus[from] = once
	}
	return s.relus[from]
}

func (s *graphState) Forward(r *Run, x Act, lo, hi int) Act {
	s.x = x
	for _, ps := range s.parts {
		if ps.mix != nil {
			ps.mix.begin(r)
		}
	}
	s.reach(r)
	for g := cmp.Or(s.b.group, r.N); lo < hi; lo += g {
		end := min(lo+g, hi)
		for _, once := range s.relus {
			once.made = false
		}
		for i := range s.parts {
			if m := s.parts[i].mix; m != nil {
				m.next = 0
			}
		}
		for i := range s.parts {
			if !s.used[i] {
				continue
			}
			p, ps := &s.b.parts[i], &s.parts[i]
			if norm := s.shares(r, i); norm != nil && ps.early {
				s.addShare(r, p, ps, lo, end)
				continue
			}
			ps.y = s.read(r, p, ps, lo, end)
			ps.y = p.groups.forward(ps.states, r, ps.y, lo, end)
		}
	}
	return s.parts[len(s.parts)-1].y
}

// reach finds the parts that the output is made of: all, unless what mixtures give was
// drawn.
func (s *graphState) reach(r *Run) {
	for i := range s.used {
		s.used[i] = !r.drawn
	}
	s.used[len(s.used)-1] = true
	for i := len(s.used) - 1; i >= 0 && r.drawn; i-- {
		for k, from := range s.b.parts[i].from {
			if m := s.parts[i].mix; s.used[i] && from >= 0 && (m == nil || m.reads(k)) {
				s.used[from] = true
			}
		}
	}
}

// value returns what part i gave, or the input.
func (s *graphState) value(i int) Act {
	if i == graphInput {
		return s.x
	}
	return s.parts[i].y
}

// read returns what a part reads of the samples [lo, hi).
func (s *graphState) read(r *Run, p *part, ps *partState, lo, hi int) Act {
	if p.join == "" {
		return s.value(p.from[0])
	}
	if ps.mix != nil && ps.mix.drawn >= 0 {
		var drawn Act
		if k := ps.mix.drawn - ps.mix.of(0); k >= 0 {
			drawn = s.value(p.from[k])
		}
		take(r, ps.joined, drawn, p.in, lo, hi)
		return ps.joined
	}
	if ps.times != nil {
		a, b := p.from[0], p.from[1]
		ps.times.add(ps.joined, s.value(a), s.value(b), p.in, s.flow(a), s.flow(b), lo, hi, false)
		return ps.joined
	}
	if ps.mix != nil {
		ps.mix.sum(r, ps.joined, func(k int) Act { return s.value(p.from[k]) }, p.in, lo, hi)
		return ps.joined
	}
	at := 0
	for k, from := range p.from {
		v, f := s.value(from), s.flow(from)
		switch {
		case p.join == joinConcat:
			moveChannels(ps.joined, v, lo, hi, f, at, 0, false, false)
			at += f.C
		case k == 0:
			copyImages(ps.joined, v, lo, hi, f)
		default:
			addImages(ps.joined, v, lo, hi, f)
		}
	}
	return ps.joined
}

// flow returns that of what part i gives, or of the input.
func (s *graphState) flow(i int) Flow {
	if i == graphInput {
		return s.b.in
	}
	return s.b.parts[i].out()
}

func (s *graphState) Backward(r *Run, dy Act, lo, hi int) Act {
	for g := cmp.Or(s.b.group, r.N); lo < hi; lo += g {
		s.backward(r, dy, lo, min(lo+g, hi))
	}
	if r.update != nil && s.b.group == 0 {
		for i, p := range s.b.parts {
			if n := p.mix.size(); n > 0 {
				r.update.apply(r.W, r.G[s.at+p.offset:][:n], s.at+p.offset)
			}
			if at := s.at + p.offset + p.mix.size(); !s.used[i] {
				r.update.drift(r.W, at, at+p.chain.size())
				continue
			}
			p.update(r, s.at+p.offset+p.mix.size())
		}
	}
	return s.dx
}

// backward takes the gradients of the samples [lo, hi) back through all parts.
func (s *graphState) backward(r *Run, dy Act, lo, hi int) {
	s.begun = false
	for i := range s.parts {
		s.parts[i].begun = false
		if m := s.parts[i].mix; m != nil {
			m.measured = false
		}
	}
	for i := len(s.parts) - 1; i >= 0; i-- {
		p, ps := &s.b.parts[i], &s.parts[i]
		d := ps.grad
		if i+1 == len(s.parts) {
			d = dy
		}
		if !s.used[i] {
			s.rest(r, p, ps.mix, lo)
			continue
		}
		if d.Data == nil || p.mix == nil && s.below(r, i) {
			continue
		}
		states := ps.states
		switch norm := s.shares(r, i); {
		case norm != nil:
			last := len(states) - 1
			states = states[:last]
			remake(states, r, lo, hi)
			r.timed(norm, true, func() { d = s.shareNorm(r, i, norm, lo, hi) })
		case ps.mixedBy > 0:
			s.share(r, i, lo, hi)
		}
		lowest := 0
		if ps.relu != nil {
			lowest = 1
		}
		if d = p.groups.backward(states, lowest, r, d, lo, hi); d.Data == nil {
			continue
		}
		if lowest > 0 {
			r.timed(ps.relu, true, func() { s.pass(p.from[0], ps.relu, d, lo, hi) })
			continue
		}
		if ps.mix != nil {
			s.unmix(r, p, ps.mix, d, lo, hi)
			continue
		}
		if ps.times != nil {
			for k, from := range p.from {
				other := p.from[1-k]
				if to, begun := s.sum(from); to.Data != nil {
					ps.times.add(*to, d, s.value(other), s.flow(from), p.in, s.flow(other), lo, hi, *begun)
					*begun = true
				}
			}
			continue
		}
		at := 0
		for _, from := range p.from {
			s.give(from, d, lo, hi, at, p.join != joinConcat)
			if p.join == joinConcat {
				at += s.flow(from).C
			}
		}
	}
	if s.b.group > 0 {
		s.slopes(r, lo, hi)
	}
	if r.drawn && !s.begun && s.dx.Data != nil {
		take(r, s.dx, Act{}, s.b.in, lo, hi)
	}
}

// rest makes the gradient zero of a part that the output is not made of.
func (s *graphState) rest(r *Run, p *part, m *mixState, lo int) {
	if !r.Starts(lo) {
		return
	}
	at := s.at + p.offset
	clear(r.G[at+p.mix.size():][:p.chain.size()])
	if m != nil && m.last {
		clear(r.G[m.at:][:kernels.Pad(m.n)])
	}
}

// below reports whether the gradient of part i, or of the input, is of no use: the pass
// is for the weights of mixed operations, and there are none further down.
func (s *graphState) below(r *Run, i int) bool {
	if !r.mixing || r.lowest != s.index {
		return false
	}
	return i == graphInput || !s.b.parts[i].above && s.b.parts[i].mix == nil
}

// slopes adds to the gradients of all weights of mixed operations, sample after sample for
// any number of them at a time.
func (s *graphState) slopes(r *Run, lo, hi int) {
	for i := lo; i < hi; i++ {
		for k := range slices.Backward(s.parts) {
			if m := s.parts[k].mix; m != nil && m.measured {
				m.slope(r, m.inner[i-lo], i)
			}
		}
	}
}

// pass takes the gradient d back through a ReLU and adds it to that of what part i gave, or of
// the input, in one pass.
func (s *graphState) pass(i int, relu *reluState, d Act, lo, hi int) {
	to, begun := s.sum(i)
	if to.Data == nil {
		return
	}
	if f := relu.in; *begun {
		for k := lo; k < hi; k++ {
			kernels.ReLUBackwardAdd(to.At(k, 0, 0), d.At(k, 0, 0), relu.y.At(k, 0, 0), f.W*f.Ld(), f.H, to.Row, d.Row, relu.y.Row)
		}
		return
	}
	for k := lo; k < hi; k++ {
		maskRows(d, relu.y, k, relu.in.H, relu.in.W)
	}
	s.give(i, d, lo, hi, 0, true)
}

// give adds the gradient d, from channel at on or whole, to that of what part i gave, or of
// the input.
func (s *graphState) give(i int, d Act, lo, hi, at int, whole bool) {
	to, begun := s.sum(i)
	if to.Data == nil || i >= 0 && s.parts[i].lent {
		return
	}
	moveChannels(*to, d, lo, hi, s.flow(i), 0, at, *begun, whole)
	*begun = true
}

// sum returns the gradient of what part i gave, or of the input, and whether a reader
// has given its part of it.
func (s *graphState) sum(i int) (to *Act, begun *bool) {
	if i == graphInput {
		return &s.dx, &s.begun
	}
	return &s.parts[i].grad, &s.parts[i].begun
}

// moveChannels copies the samples from lo up to hi, of the size of f, from channel
// from of src to channel to of dst, or adds them. Both have these
// channels alone if whole.
func moveChannels(dst, src Act, lo, hi int, f Flow, to, from int, add, whole bool) {
	pixels, rows, n := f.W, f.H, f.C
	if all := f.W * dst.Pixel; whole && dst.Row == all && src.Row == all { // a sample at a time
		pixels, rows, n = 1, 1, f.H*all
	} else if whole && dst.Pixel == src.Pixel || dst.Pixel == n && src.Pixel == n { // a row at a time
		pixels, n = 1, f.W*dst.Pixel
	}
	for i := f.Rows(lo); i < f.Rows(hi); i++ {
		for y := range rows {
			d, s := dst.At(i, y, 0)[to:], src.At(i, y, 0)[from:]
			for range pixels {
				switch {
				case !add:
					copy(d[:n], s)
				case n < kernels.Width:
					for c, v := range s[:n] {
						d[c] += v
					}
				default:
					kernels.Add(d[:n], d[:n], s[:n])
				}
				d, s = d[min(dst.Pixel, len(d)):], s[min(src.Pixel, len(s)):]
			}
		}
	}
}
