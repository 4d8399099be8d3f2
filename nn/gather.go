package nn

import "slices"

// gatherer is a state that must have seen all samples of a batch before it takes the first
// one on, in training and where statistics move. So that each sample is seen while it is in
// a near cache, the layers before it take a group of samples after the other through, and
// it gathers from each what it needs; likewise in the backward pass.
type gatherer interface {
	State
	// gathers reports whether it does so; else Forward and Backward get all samples.
	gathers() bool
	// gather looks at the samples [lo, hi) of what Forward will get, from sample 0 to the
	// last in turn, and gatherBack of what Backward will, which it may change.
	gather(r *Run, x Act, lo, hi int)
	gatherBack(r *Run, dy Act, lo, hi int)
}

// gathering returns a state that gathers in a run, else nil.
func gathering(s State, r *Run) gatherer {
	if !r.whole() {
		return nil
	}
	if s, ok := s.(gatherer); ok && s.gathers() {
		return s
	}
	return nil
}

// ends returns where the states of a branch begin and end that take a group through together
// with what is around the branch: its first ones are [0, lowest), the last [highest, end).
func ends(states []State, r *Run) (lowest, highest int) {
	lowest = len(states)
	for i, s := range slices.Backward(states) {
		if gathering(s, r) != nil {
			lowest, highest = i+1, max(highest, i)
		}
	}
	return lowest, highest
}

// gathers reports whether layer i gathers.
func (c chain) gathers(i int) bool { return i < len(c) && c[i].Traits().gathers }

// gather reports whether any layer gathers.
func (c chain) gather() bool {
	return slices.ContainsFunc(c, func(nd node) bool { return nd.Traits().gathers })
}

// gives reports whether the gradient that layer i returns may be in the memory that a layer
// below gathers from: layers without parameters may hand on what they got.
func (c chain) gives(i int) bool {
	for i--; i >= 0; i-- {
		if c.gathers(i) || c[i].size() > 0 {
			return c.gathers(i)
		}
	}
	return false
}
