package nn

import (
	"fmt"
	"slices"
	"strings"
)

// WithTrainable returns the model with all parameters frozen but those whose names a
// pattern matches, in which a * stands for any characters, dots included: "dense2.*",
// "*.bias". The last head layers with parameters, see Head, are also called "head."
// and their name, the others "body." and theirs. Steps leave frozen parameters as they
// are, to the bit, their gradient is 0, and nothing is computed for layers below the
// first one with a trainable parameter. No patterns train all. The error names a
// pattern that matches nothing.
func (m *Model) WithTrainable(patterns []string, head int) (*Model, error) {
	c := *m
	c.trainable, c.frozen = nil, nil
	if len(patterns) == 0 {
		return &c, nil
	}
	from := m.Head(head).Lo
	matched := make([]bool, len(patterns))
	m.each(func(_ int, name string, p Param, offset int) {
		name = p.inFiles(name).Name
		part := "body."
		if offset >= from {
			part = "head."
		}
		any := false
		for i, p := range patterns {
			if matches(p, name) || matches(p, part+name) {
				matched[i], any = true, true
			}
		}
		c.trainable = append(c.trainable, any || p.Buffer)
	})
	if i := slices.Index(matched, false); i >= 0 {
		return nil, fmt.Errorf("%q matches no parameter of model %s; the parameters are %s, which are head.* (the last layers) and body.* too", patterns[i], m.name, m.someNames())
	}
	c.freeze()
	return &c, nil
}

// freeze computes where the parameters lie that are not trainable.
func (m *Model) freeze() {
	m.frozen = nil
	if m.trainable == nil {
		return
	}
	m.each(func(i int, _ string, p Param, offset int) {
		if m.trainable[i] || p.Size == 0 || p.Buffer {
			return
		}
		if n := len(m.frozen); n > 0 && m.frozen[n-1].Hi == offset {
			m.frozen[n-1].Hi += p.Size
			return
		}
		m.frozen = append(m.frozen, Span{offset, offset + p.Size})
	})
}

// Frozen returns where the parameters lie that WithTrainable froze, in ascending
// order; read-only.
func (m *Model) Frozen() []Span { return m.frozen }

// holding returns where parameters are frozen when others are, too.
func (m *Model) holding(others []Span) []Span {
	switch {
	case len(others) == 0:
		return m.frozen
	case m.frozen == nil:
		return others
	}
	all := slices.Concat(m.frozen, others)
	slices.SortFunc(all, func(a, b Span) int { return a.Lo - b.Lo })
	return all
}

// NumTrainable returns the number of parameters without padding that are not frozen.
func (m *Model) NumTrainable() int {
	n := 0
	m.each(func(i int, _ string, p Param, _ int) {
		if !p.Buffer && (m.trainable == nil || m.trainable[i]) {
			n += p.Len()
		}
	})
	return n
}

// Trains reports whether a parameter within a span is trainable.
func (m *Model) Trains(s Span) bool {
	at := s.Lo
	for _, f := range m.frozen {
		if f.Lo > at {
			break
		}
		at = max(at, f.Hi)
	}
	return at < s.Hi
}

// lowest returns the first layer with a trainable parameter in a span, which is the
// whole vector when it is empty: the passes below it need not be made.
func (m *Model) lowest(s Span) int {
	if s.empty() {
		if m.frozen == nil {
			return 0
		}
		s = Span{0, m.Size()}
	}
	for i, nd := range m.nodes {
		if part := (Span{max(s.Lo, nd.offset), min(s.Hi, nd.offset+nd.size())}); !part.empty() && m.Trains(part) {
			return i
		}
	}
	return len(m.nodes)
}

// Hold makes the frozen parameters of w those of another vector; of nil, zeros.
func (m *Model) Hold(w, of []float32) {
	for _, f := range m.frozen {
		if of == nil {
			clear(w[f.Lo:f.Hi])
		} else {
			copy(w[f.Lo:f.Hi], of[f.Lo:f.Hi])
		}
	}
}

// someNames lists names of parameters for an error, not all of a large network.
func (m *Model) someNames() string {
	const most = 4
	var names []string
	m.each(func(_ int, name string, p Param, _ int) { names = append(names, p.inFiles(name).Name) })
	if n := len(names); n > most+1 {
		names = append(names[:most:most], "...", names[n-1])
	}
	return strings.Join(names, ", ")
}

// matches reports whether a name is what a pattern says, in which * stands for any
// characters.
func matches(pattern, name string) bool {
	parts := strings.Split(pattern, "*")
	if len(parts) == 1 {
		return pattern == name
	}
	first, last := parts[0], parts[len(parts)-1]
	if !strings.HasPrefix(name, first) {
		return false
	}
	name = name[len(first):]
	for _, p := range parts[1 : len(parts)-1] {
		_, rest, ok := strings.Cut(name, p)
		if !ok {
			return false
		}
		name = rest
	}
	return strings.HasSuffix(name, last)
}
