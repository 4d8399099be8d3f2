package nn

// remaker is a state that can make its output again from its input, of samples that it took
// forward. Where few samples share the memory of the output, which stays in a near cache,
// that takes less time than to write all of it to memory and to read it.
type remaker interface {
	State
	// lost reports whether the memory of the output has other samples than [lo, hi).
	lost(lo, hi int) bool
	remake(r *Run, lo, hi int)
}

// held is the range of samples that the memory of an output has, for a remaker.
type held struct {
	y      *Act
	pool   *sharedMemory // nil unless others write there
	lo, hi int
}

// hold notes that the samples [lo, hi) were made, one after the other.
func (h *held) hold(lo, hi int) {
	h.lo, h.hi = lo, hi
	if h.pool != nil {
		h.pool.by = h
	}
}

func (h *held) lost(lo, hi int) bool {
	return h.y.Fold != 0 && (lo < h.lo || hi > h.hi || h.pool != nil && h.pool.by != h)
}

// remake makes the outputs of the last states again that the next one reads in its backward
// pass of the samples [lo, hi).
func remake(states []State, r *Run, lo, hi int) {
	first := len(states)
	for first > 0 {
		m, ok := states[first-1].(remaker)
		if !ok || !m.lost(lo, hi) {
			break
		}
		first--
	}
	for _, s := range states[first:] {
		r.again(s.(remaker), lo, hi)
	}
}
