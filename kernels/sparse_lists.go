package kernels

// SparsePixels lists the values that are not zero in the gradient of a
// convolution's output, pixel after pixel. The entries of pixel x are Start[x] to
// Start[x+1], in the order of their filters; a filter has one entry in a pixel at
// most. [ListMaxima] and [ListNonZero] make the lists.
type SparsePixels struct {
	N      int       // filters, a multiple of Width
	Start  []int32   // one for each pixel, and the end
	Value  []float32 // of every entry; Width floats must follow the last
	Filter []uint32  // of every entry, below N; as long as Value
}

// SparseFilters holds the same entries filter after filter, each with the place of
// the pixel's window in the convolution's input. The entries of filter f are f*Room
// to Tail[f]. [AppendByFilter] makes the lists.
type SparseFilters struct {
	Room   int       // entries that a filter has room for, at least 1
	Tail   []int32   // the ends of N lists
	Value  []float32 // N x Room
	At     []uint32  // N x Room: where the window starts in the input, in floats
	Sum    []float32 // N: AppendByFilter adds the values of each filter to it
	pixels int       // appended since Reset
	reach  int       // no window starts after it
}

// ListMaxima appends one row of pixels to the lists: those of row 0 or 1 of the
// windows of a max-pool with windows of 2 x 2 pixels, two apart. grad is the
// gradient of the maxima, windows x N, and idx their places, as [MaxPool] left
// them. at is the number of the row's first pixel, whose Start must be set; those
// of the pixels that follow, two for each window, will be.
func ListMaxima(l *SparsePixels, at int, grad []float32, idx []uint8, row int) {
	if l.N < Width || l.N%Width != 0 || len(grad)%l.N != 0 || len(idx) != len(grad) || row&^1 != 0 || at < 0 {
		panic(msgSparse)
	}
	windows := len(grad) / l.N
	if windows == 0 {
		return
	}
	start := l.Start[at:][:2*windows+1]
	if from := int(start[0]); from < 0 || len(l.Value) < from+len(grad)+Width || len(l.Filter) < len(l.Value) {
		panic(msgSparse)
	}
	raceRead(grad)
	raceRead(idx)
	a := maximaArgs{
		grad: &grad[0], idx: &idx[0], start: &start[0], value: &l.Value[0], filter: &l.Filter[0],
		windows: windows, groups: l.N / Width, position: 2 * row,
	}
	callMaxima(sparses.maxima, noescape(&a))
	raceWrite(l.Value[start[0]:start[2*windows]])
}

// ListNonZero appends the pixels of a whole gradient, pixels x N, to the lists. at
// is the number of the first one, whose Start must be set; those of the pixels that
// follow will be.
func ListNonZero(l *SparsePixels, at int, grad []float32) {
	if l.N < Width || l.N%Width != 0 || len(grad)%l.N != 0 || at < 0 {
		panic(msgSparse)
	}
	pixels := len(grad) / l.N
	if pixels == 0 {
		return
	}
	start := l.Start[at:][:pixels+1]
	if from := int(start[0]); from < 0 || len(l.Value) < from+len(grad)+Width || len(l.Filter) < len(l.Value) {
		panic(msgSparse)
	}
	raceRead(grad)
	a := maximaArgs{grad: &grad[0], start: &start[0], value: &l.Value[0], filter: &l.Filter[0], windows: pixels, groups: l.N / Width}
	callMaxima(sparses.nonZero, noescape(&a))
	raceWrite(l.Value[start[0]:start[pixels]])
}

//go:noinline
func callMaxima(f func(a *maximaArgs), a *maximaArgs) { f(a) }

// Reset empties the lists. It leaves Sum alone.
func (l *SparseFilters) Reset() {
	for f := range l.Tail {
		l.Tail[f] = int32(f * l.Room)
	}
	l.pixels, l.reach = 0, 0
}

// AppendByFilter appends the entries of the pixels [first, first+n) of p to the
// lists of their filters. The window of pixel first+x starts at float at + x*step
// of the input. The pixels appended since Reset must not be more than Room.
func AppendByFilter(l *SparseFilters, p *SparsePixels, first, n, at, step int) {
	if n < 0 || first < 0 || at < 0 || step < 0 || len(p.Start) < first+n+1 || len(l.Value) < p.N*l.Room || len(l.At) < p.N*l.Room || len(l.Sum) < p.N {
		panic(msgSparse)
	}
	if len(l.Tail) != p.N {
		panic(msgSparseLists)
	}
	if l.pixels += n; l.pixels > l.Room {
		panic(msgSparseRoom)
	}
	if n == 0 {
		return
	}
	l.reach = max(l.reach, at+(n-1)*step)
	if end := int(p.Start[first+n]); end > len(p.Value) || end > len(p.Filter) || p.Start[first] < 0 {
		panic(msgSparse)
	}
	raceWrite(l.Tail) // stands for the lists
	raceWrite(l.Sum)
	a := appendArgs{
		start: &p.Start[first], pixels: n, value: &p.Value[0], filter: &p.Filter[0],
		tail: &l.Tail[0], listValue: &l.Value[0], listAt: &l.At[0], sum: &l.Sum[0], at: at, step: step,
	}
	callAppend(noescape(&a))
}

//go:noinline
func callAppend(a *appendArgs) { sparses.append(a) }
