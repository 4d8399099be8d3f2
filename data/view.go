package data

import "github.com/fedfast/fedfast/internal/list"

// Augment keys the random changes of one client's local training: all reads of an
// example with the same Key give the same pixels.
type Augment struct {
	Key uint64
}

// source holds examples in memory. It is read by several goroutines at once
// and does not change.
type source interface {
	// read writes example at into x (images, vectors) or tokens and returns
	// its label. aug is nil for the plain example.
	read(at int32, x []float32, tokens []int32, aug *Augment) int32
	// label returns the label of example at.
	label(at int32) int32
	// size returns the floats and tokens of one example.
	size() (floats, tokens int)
}

// stepSource is a source whose examples have a label at each of their tokens. Its
// read and label return that at the first token.
type stepSource interface {
	source
	// steps writes the labels of example at, one a token, -1 where none is.
	steps(at int32, labels []int32)
}

// lazySource is a source that has its examples read from a file when they are
// asked for.
type lazySource interface {
	source
	// open returns the source with its examples in memory, or a *ReadError.
	open() (source, error)
}

// opened returns src with its examples in memory, or a *ReadError.
func opened(src source) (source, error) {
	switch s := src.(type) {
	case lazySource:
		return s.open()
	case *masked:
		return s.opened()
	}
	return src, nil
}

// View is a list of examples that live elsewhere: a span of a source or chosen
// places of it. Copying a View copies no example. The zero View is empty.
type View struct {
	src     source
	index   []int32 // places in src; nil means first, first+1, ...
	first   int32
	n       int
	augment bool // whether Fill heeds aug
}

// span returns the view of n examples of src from first on.
func span(src source, first, n int) View { return View{src: src, first: int32(first), n: n} }

// chosen returns the view of the given places of src; it keeps index.
func chosen(src source, index []int32) View { return View{src: src, index: index, n: len(index)} }

// Len returns the number of examples.
func (v View) Len() int { return v.n }

// at returns the place of example i in the source.
func (v View) at(i int) int32 {
	if v.index != nil {
		return v.index[i]
	}
	return v.first + int32(i)
}

// cut returns examples lo to hi-1 of v.
func (v View) cut(lo, hi int) View {
	if v.index != nil {
		v.index = v.index[lo:hi:hi]
	} else {
		v.first += int32(lo)
	}
	v.n = hi - lo
	return v
}

// join returns the examples of v, then those of w, which must be of the same
// source if neither is empty. It is a span if the two adjoin.
func (v View) join(w View) View {
	switch {
	case v.n == 0:
		return w
	case w.n == 0:
		return v
	case v.index == nil && w.index == nil && v.first+int32(v.n) == w.first:
		v.n += w.n
		return v
	}
	return chosen(v.src, append(v.places(), w.places()...))
}

// places returns a fresh list of the places of v.
func (v View) places() []int32 { return list.Made(v.n, v.at) }

// labels returns the label of each example of v, the first one of those at its
// tokens.
func (v View) labels() []int32 {
	labels := list.Made(v.n, func(i int) int32 { return v.src.label(v.at(i)) })
	return labels
}

// Fill reads the examples at positions pos, each in [0, Len()), in that order.
// x gets len(pos) rows of H*W*C floats with channels last (images, vectors),
// tokens len(pos) rows of SeqLen ids (token sequences), labels one label an
// example, or len(pos) rows of SeqLen labels (-1: none at this token) if the
// federation's are EveryStep; what the kind of the federation lacks may be nil.
// aug is nil for the plain examples; it changes nothing in a test view or in a
// federation without augmentation. Fill allocates nothing but for a Lazy
// federation, where it returns a *ReadError if the file cannot be read; no other
// federation gives an error.
func (v View) Fill(pos []int32, x []float32, tokens, labels []int32, aug *Augment) error {
	if len(pos) == 0 {
		return nil
	}
	if !v.augment {
		aug = nil
	}
	src, err := opened(v.src)
	if err != nil {
		return err
	}
	floats, ids := src.size()
	each := 1 // labels of an example
	every, everyStep := src.(stepSource)
	if everyStep {
		each = ids
	}
	if len(x) < len(pos)*floats || len(tokens) < len(pos)*ids || len(labels) < len(pos)*each {
		panic("data: Fill into a buffer shorter than its samples")
	}
	for i, p := range pos {
		if uint(p) >= uint(v.n) {
			panic("data: Fill of a position outside of the view")
		}
		at := v.at(int(p))
		label := src.read(at, x[i*floats:(i+1)*floats], tokens[i*ids:(i+1)*ids], aug)
		if everyStep {
			every.steps(at, labels[i*each:(i+1)*each])
		} else {
			labels[i] = label
		}
	}
	return nil
}

// ClassCounts returns how many labels of each of the classes v holds: one an
// example, or those at all tokens of a federation whose labels are EveryStep, or all
// of each example, or none where there are numbers to predict. The error is as in
// Fill.
func (v View) ClassCounts(classes int) ([]int, error) {
	counts := make([]int, classes)
	if v.n == 0 {
		return counts, nil
	}
	src, err := opened(v.src)
	if err != nil {
		return nil, err
	}
	if t, ok := src.(targetSource); ok {
		v.countTargets(t, counts)
		return counts, nil
	}
	if every, ok := src.(stepSource); ok {
		_, ids := every.size()
		labels := make([]int32, ids)
		for i := range v.n {
			every.steps(v.at(i), labels)
			for _, l := range labels {
				if l >= 0 {
					counts[l]++
				}
			}
		}
		return counts, nil
	}
	for i := range v.n {
		counts[src.label(v.at(i))]++
	}
	return counts, nil
}
