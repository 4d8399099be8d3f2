package data

// ImageView returns examples that the caller holds: pixels has len(labels)
// images of h x w x c bytes, row, column, channel, each byte k standing for
// k/255. It keeps both slices, which must not change.
func ImageView(h, w, c int, pixels []byte, labels []int32) View {
	if len(pixels) != len(labels)*h*w*c {
		panic("data: ImageView has not one image a label")
	}
	return span(newImages(h, w, c, pixels, labels), 0, len(labels))
}

// VectorView returns examples that the caller holds: values has len(labels)
// vectors of n floats. It keeps both slices, which must not change.
func VectorView(n int, values []float32, labels []int32) View {
	if len(values) != len(labels)*n {
		panic("data: VectorView has not one vector a label")
	}
	return span(&vectors{n: n, values: values, labels: labels}, 0, len(labels))
}

// TextView returns the windows of a text of token ids: example i is the seq ids
// from i on, its label the id after them. A text of seq ids or less has none.
// It keeps the text, which must not change.
func TextView(seq int, text []byte) View {
	return span(&windows{seq: seq, text: text}, 0, max(0, len(text)-seq))
}

// StepView returns examples with a label at every token: rows holds rows of
// seq+1 token ids, of which the first seq are an example and the label at each
// is the id after it; id 0 pads and is no label. It keeps rows, which must not
// change. A federation of such examples is EveryStep.
func StepView(seq int, rows []byte) View {
	if len(rows)%(seq+1) != 0 {
		panic("data: StepView has not whole rows")
	}
	return span(&sequences{seq: seq, rows: rows}, 0, len(rows)/(seq+1))
}

// Part returns examples lo to hi-1 of v.
func (v View) Part(lo, hi int) View {
	if lo < 0 || lo > hi || hi > v.n {
		panic("data: Part is not within its view")
	}
	return v.cut(lo, hi)
}
