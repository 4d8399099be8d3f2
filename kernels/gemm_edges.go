package kernels

// Edges says where the rows of A in a product have zeros, as the windows of a
// convolution do that reach over the sides of an image. A level may leave out the
// products with them, which changes no bit of a sum of finite numbers that is not zero.
type Edges struct {
	terms       int      // of a segment
	whole       []nnTaps // of all rows in one tile
	first, last []nnTaps // of the first of several tiles and of the last
}

// edgeRows are the most rows of a tile that leave out something in a step.
const edgeRows = 2

// NewEdges returns the edges of a product whose K counts taps times step terms: row i has
// zeros in its first before - i taps and in its last after - (M-1-i), if that is more
// than 0.
func NewEdges(step, taps, before, after int) *Edges {
	return &Edges{step * taps, edges(step, taps, before, after), edges(step, taps, before, 0), edges(step, taps, 0, after)}
}

func edges(step, taps, before, after int) []nnTaps {
	var list []nnTaps
	for tap := range taps {
		left := min(max(before-tap, 0), edgeRows)
		if left == 0 {
			if left = min(max(after-(taps-1-tap), 0), edgeRows); left > 0 {
				left += edgeRows
			}
		}
		if last := len(list) - 1; last >= 0 && list[last].left == left {
			list[last].steps += step
		} else {
			list = append(list, nnTaps{step, left})
		}
	}
	return append(list, nnTaps{})
}

// taps returns those of a tile that is the first of a product, the last, or both.
func (e *Edges) taps(first, last bool) *nnTaps {
	switch {
	case first && last:
		return &e.whole[0]
	case first:
		return &e.first[0]
	case last:
		return &e.last[0]
	}
	return nil
}
