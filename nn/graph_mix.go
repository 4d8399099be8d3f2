package nn

import "slices"

// unmix gives each input of a mix its share of the gradient d, and the gradient of
// the shares its part.
func (s *graphState) unmix(r *Run, p *part, m *mixState, d Act, lo, hi int) {
	m.measured = true
	for k, from := range p.from {
		m.apart[k] = s.shares(r, from) != nil
		if from >= 0 && s.parts[from].output != nil && m.reads(k) && !m.apart[k] {
			remake(s.parts[from].states, r, lo, hi)
		}
	}
	for i := lo; i < hi; i++ {
		inner := m.inner[0]
		if s.b.group > 0 {
			inner = m.inner[i-lo]
		}
		m.measure(r, inner, d, p.in, i, func(k int) Act { return s.value(p.from[k]) })
		if s.b.group == 0 {
			m.slope(r, inner, i)
		}
	}
	for k, from := range p.from {
		if from >= 0 && s.parts[from].mixedBy > 0 {
			continue
		}
		if m.drawn >= 0 {
			if m.reads(k) && !s.below(r, from) {
				s.give(from, d, lo, hi, 0, true)
			}
			continue
		}
		if to, begun := s.sum(from); to.Data != nil && !s.below(r, from) {
			m.add(r, *to, d, p.in, k, lo, hi, *begun)
			*begun = true
		}
	}
}

// shares returns the norm at the end of part i if it takes its share of the gradient of the mix
// that alone reads it, and measures its product with that, in one pass; else nil.
func (s *graphState) shares(r *Run, i int) *groupNormState {
	if i < 0 || s.parts[i].norm == nil || r.mixing || r.drawn || !s.parts[i].norm.norm.TakesShares() {
		return nil
	}
	return s.parts[i].norm
}

// addShare takes the samples [lo, hi) forward through a part whose last layer adds its share to the
// sum of the mix that alone reads it.
func (s *graphState) addShare(r *Run, p *part, ps *partState, lo, hi int) {
	mix, by := &s.b.parts[ps.mixedBy], &s.parts[ps.mixedBy]
	m := by.mix
	x := p.groups.forward(ps.states[:len(ps.states)-1], r, s.read(r, p, ps, lo, hi), lo, hi)
	m.upTo(ps.place, r, by.joined, func(k int) Act { return s.value(mix.from[k]) }, mix.in, lo, hi)
	r.timed(ps.norm, false, func() {
		ps.norm.forwardShare(r, x, by.joined, float32(m.share[m.of(ps.place)]), m.next > 0, lo, hi)
	})
	m.next++
}

// shareNorm is the backward pass of that norm.
func (s *graphState) shareNorm(r *Run, i int, norm *groupNormState, lo, hi int) Act {
	by := &s.parts[s.parts[i].mixedBy]
	k := by.mix.of(s.parts[i].place)
	for at := lo; at < hi; at++ {
		by.mix.inner[at-lo][k] = norm.backwardShare(r, float32(by.mix.share[k]), by.grad, at)
	}
	return norm.dx
}

// share gives part i its share of the gradient of the mix that alone reads it.
func (s *graphState) share(r *Run, i, lo, hi int) {
	by, grad := s.parts[i].mixedBy, s.parts[i].grad
	p, d, m := &s.b.parts[by], s.parts[by].grad, s.parts[by].mix
	if m.drawn >= 0 {
		moveChannels(grad, d, lo, hi, p.in, 0, 0, false, true)
		return
	}
	m.add(r, grad, d, p.in, slices.Index(p.from, i), lo, hi, false)
}
