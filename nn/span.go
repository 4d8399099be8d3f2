package nn

import "slices"

// Span is a part of a packed parameter vector: the places [Lo, Hi). It holds whole
// layers.
type Span struct{ Lo, Hi int }

func (s Span) empty() bool { return s.Lo >= s.Hi }

// Len returns the number of packed floats.
func (s Span) Len() int { return s.Hi - s.Lo }

// Head returns the span of the last n layers with parameters, n >= 1; it is the
// whole vector when there are no more than n. A residual block counts as one.
func (m *Model) Head(n int) Span {
	s := Span{0, m.nodes.size()}
	for _, nd := range slices.Backward(m.nodes) {
		if nd.size() == 0 {
			continue
		}
		s.Lo = nd.offset
		if n--; n == 0 {
			break
		}
	}
	return s
}

// BuffersOf returns where the buffers of the layers lie whose parameters a span has.
func (m *Model) BuffersOf(s Span) Span {
	var of Span
	for _, nd := range m.nodes {
		if at := m.nodes.size() + nd.buffer; nd.buffers() > 0 && nd.offset >= s.Lo && nd.offset+nd.size() <= s.Hi {
			if of.empty() {
				of.Lo = at
			}
			of.Hi = at + nd.buffers()
		}
	}
	return of
}

// EndsDense reports whether the network ends in a dense layer, Head(1), so that its outputs
// are linear in that layer's parameters.
func (m *Model) EndsDense() bool {
	last, ok := m.nodes[len(m.nodes)-1].Bound.(*boundDense)
	return ok && !last.relu
}
