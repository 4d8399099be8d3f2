package data

import "github.com/fedfast/fedfast/internal/list"

// ImageView returns examples that the caller holds: pixels has len(labels)
// images of h x w x c bytes, row, column, channel, each byte k standing for
// k/255. It keeps both slices, which must not change.
func ImageView(h, w, c int, pixels []byte, labels []int32) View {
	return PiecesView(h, w, c, [2][]byte{pixels}, labels, nil)
}

// PiecesView is ImageView of images in two pieces, of which the first holds whole
// images. It keeps held, too: what frees the memory of the pieces once nobody has
// it any more; nil if nothing does.
func PiecesView(h, w, c int, pieces [2][]byte, labels []int32, held any) View {
	first, rest := pieces[0], pieces[1]
	if len(first)+len(rest) != len(labels)*h*w*c || len(rest) > 0 && len(first)%(h*w*c) != 0 {
		panic("data: a view of images has not one image a label")
	}
	s := newImages(h, w, c, first, labels)
	s.held = held
	if len(rest) > 0 {
		s.more, s.moreFrom = rest, int32(len(first)/(h*w*c))
	}
	return span(s, 0, len(labels))
}

// ColourView returns square pictures of three colours that the caller holds, as
// data.augment says, and the side of its examples: pixels has len(labels) pictures
// as for ImageView, augment is one of SetInfo.Augments. It keeps both slices, which
// must not change.
func ColourView(side int, pixels []byte, labels []int32, augment string) (v View, of int) {
	if len(pixels) != len(labels)*side*side*3 {
		panic("data: ColourView has not one picture a label")
	}
	all := newImages(side, side, 3, pixels, labels)
	switch augment {
	case AugmentFedEx, AugmentFedExTrain:
		all.fedexCIFAR()
	case AugmentCrop:
		return span(&crops{all, cropSide}, 0, len(labels)), cropSide
	}
	return span(all, 0, len(labels)), side
}

// VectorView returns examples that the caller holds: values has len(labels)
// vectors of n floats. It keeps both slices, which must not change.
func VectorView(n int, values []float32, labels []int32) View {
	return VectorPiecesView(n, [2][]float32{values}, labels)
}

// VectorPiecesView is VectorView of two pieces of values, which are not copied together:
// the first examples, then the others, of which there may be none.
func VectorPiecesView(n int, pieces [2][]float32, labels []int32) View {
	first, rest := pieces[0], pieces[1]
	if len(first)+len(rest) != len(labels)*n || len(first)%n != 0 {
		panic("data: not one vector a label")
	}
	return span(&vectors{n: n, values: first, more: rest, moreFrom: int32(len(first) / n), labels: labels}, 0, len(labels))
}

// TextView returns the windows of a text of token ids: example i is the seq ids
// from i on, its label the id after them. A text of seq ids or less has none.
// It keeps the text, which must not change.
func TextView(seq int, text []byte) View {
	return span(&windows{seq: seq, text: text}, 0, max(0, len(text)-seq))
}

// TokenView returns examples of token ids with a class each: rows holds len(labels)
// rows of seq ids. It keeps both slices, which must not change.
func TokenView(seq int, rows []uint16, labels []int32) View {
	if len(rows) != len(labels)*seq {
		panic("data: TokenView has not one row a label")
	}
	return span(&labelledRows{seq: seq, rows: rows, labels: labels}, 0, len(labels))
}

// StepView returns examples with a label at every token: rows holds rows of
// seq+1 token ids, of which the first seq are an example and the label at each
// is the id after it; id 0 pads and is no label. It keeps rows, which must not
// change. A federation of such examples is EveryStep.
func StepView[T byte | uint16](seq int, rows []T) View {
	if len(rows)%(seq+1) != 0 {
		panic("data: StepView has not whole rows")
	}
	return span(&tokenRows[T]{seq: seq, rows: rows}, 0, len(rows)/(seq+1))
}

// Part returns examples lo to hi-1 of v.
func (v View) Part(lo, hi int) View {
	if lo < 0 || lo > hi || hi > v.n {
		panic("data: Part is not within its view")
	}
	return v.cut(lo, hi)
}

// Pick returns the examples of v at the given positions, in that order. It may keep
// the list, which must not change.
func (v View) Pick(positions []int32) View {
	for _, p := range positions {
		if uint(p) >= uint(v.n) {
			panic("data: Pick of a position outside of the view")
		}
	}
	if v.index == nil && v.first == 0 {
		return View{src: v.src, index: positions, n: len(positions), augment: v.augment}
	}
	places := list.Made(len(positions), func(i int) int32 { return v.at(int(positions[i])) })
	return View{src: v.src, index: places, n: len(places), augment: v.augment}
}
