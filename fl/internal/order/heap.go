package order

// Push adds x to a heap whose first element is before all others.
func Push[T any](h []T, x T, before func(a, b *T) bool) []T {
	h = append(h, x)
	for i := len(h) - 1; i > 0; {
		up := (i - 1) / 2
		if !before(&h[i], &h[up]) {
			break
		}
		h[i], h[up] = h[up], h[i]
		i = up
	}
	return h
}

// Pop takes the first element from a heap.
func Pop[T any](h []T, before func(a, b *T) bool) (T, []T) {
	first, n := h[0], len(h)-1
	last := &h[n]
	i := 0
	for {
		down := 2*i + 1
		if down >= n {
			break
		}
		if down+1 < n && before(&h[down+1], &h[down]) {
			down++
		}
		if !before(&h[down], last) {
			break
		}
		h[i] = h[down]
		i = down
	}
	h[i] = *last
	return first, h[:n]
}
