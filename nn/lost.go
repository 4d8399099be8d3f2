package nn

import "slices"

// Lost says that no step of SGD or Adam from weights w brings back a number: the biases of
// the last layer, which is dense, are NaN. Its outputs are NaN then whatever its inputs
// are, hence every loss, and a bias that has NaN stays that. It does not tell of weights
// that are lost otherwise.
func (m *Model) Lost(w []float32) bool {
	last := m.nodes[len(m.nodes)-1]
	dense, ok := last.Bound.(*boundDense)
	if !ok || dense.relu || dense.l.NoBias {
		return false
	}
	biases := dense.biases(w, last.offset+dense.t.K*dense.t.N)[:dense.l.Units]
	return !slices.ContainsFunc(biases, func(b float32) bool { return b == b })
}
