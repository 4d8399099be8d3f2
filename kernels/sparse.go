package kernels

// SparseWeights describes the gradient of the weights for filters whose values are
// listed, for Rows x Cols pixels of the kernel and Groups*16 channels:
//
//	Sums[f][ky][kx][c] += sum over the entries of filter f of Value * X[At + ky*XRow + kx*Pixel + c]
//
// On assembly levels an element is one chain of fused multiply-adds in the order of
// the entries. A value that is zero would change a chain only if the input is not
// finite (or to turn -0 into 0), so the result is the result of [GemmTN] on the whole
// gradient.
type SparseWeights struct {
	Rows, Cols, Groups int
	Lists              *SparseFilters
	X                  []float32
	XRow, Pixel        int       // floats from a row of X, or a pixel, to the next
	Sums               []float32 // N x Rows x Cols x Groups*16
}

// SparseInput describes the gradient of the input from one row of listed pixels,
// [First, First+Pixels), for one row of the kernel and Groups*16 channels:
//
//	DX[(x+kx)*Pixel + c] += sum over the entries of pixel First+x of Value * W[Filter][kx][c]
//
// On assembly levels an element is one chain of fused multiply-adds in the order of
// the entries, so that the rows of the kernel taken from the last to the first give
// what [GemmNN] with the kernel turned gives on the whole gradient.
type SparseInput struct {
	Cols, Groups  int
	Lists         *SparsePixels
	First, Pixels int
	W             []float32 // N x Cols x Groups*16
	DX            []float32
	Pixel         int  // floats from a pixel of DX to the next
	Fresh         bool // DX counts as zero before
}

// maximaArgs, appendArgs, sparseWeightsArgs and sparseInputArgs are what assembly
// reads; their offsets are known to _asm/sparse. Distances are in bytes.
type maximaArgs struct {
	grad     *float32
	idx      *uint8
	start    *int32 // of the first pixel
	value    *float32
	filter   *uint32
	windows  int // at least 1
	groups   int // of 16 filters, at least 1
	position int // of the left pixel in the windows
}

type appendArgs struct {
	start     *int32 // of the first pixel
	pixels    int    // at least 1
	value     *float32
	filter    *uint32
	tail      *int32
	listValue *float32
	listAt    *uint32
	sum       *float32
	at, step  int
}

type sparseWeightsArgs struct {
	x           *float32
	xRow, pixel int
	value       *float32
	at          *uint32
	tail        *int32 // of the first filter
	first       int    // entry of the first filter
	room        int
	filters     int // at least 1
	sums        *float32
}

type sparseInputArgs struct {
	dx     *float32
	pixel  int
	w      *float32
	value  *float32
	filter *uint32
	start  *int32 // of the first pixel
	pixels int    // at least 1
	fresh  int
}

// sparseTable holds the functions of one level, those of tiles at the places that sparseTile gives.
type sparseTable struct {
	maxima  func(a *maximaArgs)
	nonZero func(a *maximaArgs) // windows counts pixels; there is no idx
	append  func(a *appendArgs)
	weights [3]func(a *sparseWeightsArgs) // of one row of the kernel
	whole   [3]func(a *sparseWeightsArgs) // of as many rows as columns; nil without
	input   [3]func(a *sparseInputArgs)
}

// sparseTile returns the place of a tile: of 3 columns and 1 group, of 3 and 2, of 5 and 1.
func sparseTile(cols, groups int) int { return cols/5*2 + groups - 1 }

var sparses sparseTable

const (
	msgSparse      = "kernels: sparse gradient with a negative size, N that is no multiple of Width, or a slice too short"
	msgSparseTile  = "kernels: sparse gradient with a tile that no level has"
	msgSparseRoom  = "kernels: sparse gradient with more pixels than its lists have room for"
	msgSparseLists = "kernels: sparse gradient with different numbers of filters"
)

// SparseGroups returns how many groups of 16 channels one call of SparseWeightsAdd
// or SparseInputAdd may take for kernels of that many columns; fewer are fine too.
// It returns 0 if that number of columns is not supported.
func SparseGroups(cols int) int {
	switch cols {
	case 3:
		return 2
	case 5:
		return 1
	}
	return 0
}

// SparseRows returns how many rows of a kernel of rows x cols one call of
// SparseWeightsAdd takes on the level in use.
func SparseRows(rows, cols int) int {
	if sparses.whole[0] != nil && rows == cols {
		return rows
	}
	return 1
}

// SparseWeightsAdd computes s. It panics if a slice is too short for the entries.
func SparseWeightsAdd(s *SparseWeights) {
	l, tile := s.Lists, s.Rows*s.Cols*s.Groups*Width
	if s.Rows < 1 || s.Groups < 1 || s.Groups > SparseGroups(s.Cols) || s.Rows != 1 && s.Rows != SparseRows(s.Rows, s.Cols) {
		panic(msgSparseTile)
	}
	n := len(l.Tail)
	if n == 0 || l.pixels == 0 {
		return
	}
	if s.XRow < 0 || s.Pixel < 0 || len(s.Sums) < n*tile || len(s.X) < l.reach+(s.Rows-1)*s.XRow+(s.Cols-1)*s.Pixel+s.Groups*Width {
		panic(msgSparse)
	}
	raceRead(s.X)
	raceWrite(s.Sums)
	add := sparses.weights[sparseTile(s.Cols, s.Groups)]
	if s.Rows > 1 {
		add = sparses.whole[sparseTile(s.Cols, s.Groups)]
	}
	step := max(1, maxFLOPs/(2*tile*l.Room))
	a := sparseWeightsArgs{x: &s.X[0], xRow: 4 * s.XRow, pixel: 4 * s.Pixel, value: &l.Value[0], at: &l.At[0], room: l.Room}
	for f := 0; f < n; f += step {
		a.tail, a.first, a.filters, a.sums = &l.Tail[f], f*l.Room, min(step, n-f), &s.Sums[f*tile]
		callSparseWeights(add, noescape(&a))
	}
}

//go:noinline
func callSparseWeights(add func(*sparseWeightsArgs), a *sparseWeightsArgs) { add(a) }

// SparseInputAdd computes s. It panics if a slice is too short for the entries.
func SparseInputAdd(s *SparseInput) {
	l, tile := s.Lists, s.Cols*s.Groups*Width
	if s.Groups < 1 || s.Groups > SparseGroups(s.Cols) {
		panic(msgSparseTile)
	}
	if s.First < 0 || s.Pixels < 0 || s.Pixel < s.Groups*Width || len(l.Start) < s.First+s.Pixels+1 || len(s.W) < l.N*tile {
		panic(msgSparse)
	}
	if s.Pixels == 0 {
		return
	}
	if len(s.DX) < (s.Pixels+s.Cols-2)*s.Pixel+s.Groups*Width {
		panic(msgSparse)
	}
	if end := int(l.Start[s.First+s.Pixels]); end > len(l.Value) || end > len(l.Filter) || l.Start[s.First] < 0 {
		panic(msgSparse)
	}
	raceRead(s.W)
	raceWrite(s.DX)
	add, step := sparses.input[sparseTile(s.Cols, s.Groups)], max(1, maxFLOPs/(2*tile*l.N))
	a := sparseInputArgs{pixel: 4 * s.Pixel, w: &s.W[0], value: &l.Value[0], filter: &l.Filter[0]}
	for x := 0; x < s.Pixels; x += step {
		a.dx, a.start, a.pixels = &s.DX[x*s.Pixel], &l.Start[s.First+x], min(step, s.Pixels-x)
		if a.fresh = 0; s.Fresh {
			a.fresh = 1
			if x > 0 { // the columns that the last call has begun
				clearColumns(s, x+s.Cols-1, min(x+step+s.Cols-1, s.Pixels+s.Cols-1))
				a.fresh = 0
			}
		}
		callSparseInput(add, noescape(&a))
	}
}

// clearColumns sets the pixels [lo, hi) of DX to zero.
func clearColumns(s *SparseInput, lo, hi int) {
	for x := lo; x < hi; x++ {
		clear(s.DX[x*s.Pixel:][:s.Groups*Width])
	}
}

//go:noinline
func callSparseInput(add func(*sparseInputArgs), a *sparseInputArgs) { add(a) }
