package kernels

// NN describes C = epilogue(start + A·B): for every row i < M and column j < N
//
//	C[i*Ldc+j] = epilogue(start + sum over s < Segs, t < K of A[i*Lda + s*SegStride + t] * B[row s*K+t][j])
//
// The start value is zero, Bias[j], or (Accumulate) the old C[i*Ldc+j]. On assembly
// levels an element is one chain of fused multiply-adds in the order s, t. A is
// read in place and its rows may overlap (Lda < K): with Lda = stride*channels, K =
// kernel width*channels and one segment per kernel row, a row of a convolution is
// one call. C must not overlap A or B.
type NN struct {
	M, N, K int // rows; columns, a multiple of Width; length of one segment of the sum
	Segs    int // segments; 0 means 1

	A         []float32
	Lda       int // distance between rows of A
	SegStride int // distance between segments of A

	B     []float32 // packed panels; panel p starts at p*BRows*16
	BRows int       // rows that a panel has in memory; 0 means Segs*K

	// Cols says that B, Bias and, with Accumulate, C hold zeros in the columns from it on,
	// so that the product does, and a level may leave them out. 0 means N.
	Cols int

	Bias []float32 // start values, at least N; nil starts at zero

	C          []float32
	Ldc        int  // distance between rows of C, at least N
	Accumulate bool // start from C; Bias must be nil
	ReLU       bool // store 0 where the sum is below 0; NaN and -0 are stored as they are

	// BF16 says that A and B hold pairs of bf16, which K, Lda and the like count: a
	// step is the step of [Dot2], the sum still of float32. With Floats, B holds
	// float32, BRows of them in a panel, which are rounded to pairs of neighbouring
	// rows on their way: K counts its rows, a last one without a neighbour is
	// paired with zeros, and there is one segment.
	BF16, Floats bool

	// Blocks, with BF16 and without Floats, has the sum of each segment in blocks of 32
	// numbers: see blockPairs.
	Blocks bool

	Edges *Edges // of A, whose rows have zeros there; nil: none
}

// TN describes C = start + Aᵀ·G with C packed: for every k < K and j < N
//
//	C[(j/16)*CRows*16 + k*16 + j%16] = start + sum over s < Segs, m < M of A[s*ASeg + m*Lda + k] * G[s*GSeg + m*Ldg + j]
//
// The start value is zero or (Accumulate) the old C. On assembly levels an element
// is one chain of fused multiply-adds in the order s, m. This is the weight
// gradient of a layer: A holds its inputs, G the gradients of its outputs. C must
// not overlap A or G.
type TN struct {
	M, K, N int // length of one segment of the sum; rows of C; columns of C, a multiple of Width
	Segs    int // segments; 0 means 1

	ASeg, GSeg int // distances between segments of A and G

	A   []float32
	Lda int // distance between rows of A; below K they overlap
	G   []float32
	Ldg int // distance between rows of G

	C          []float32
	CRows      int  // rows that a panel of C has in memory; 0 means K
	Cols       int  // G and, with Accumulate, C hold zeros in the columns from it on, see NN; 0 means N
	Accumulate bool // start from C
	BF16       bool // A and G hold pairs of bf16, of two rows; see NN
	Blocks     bool // as in NN
}

// gemmTable holds the matrix products of one level. The functions get checked
// arguments with defaults filled in and M, N, K, Segs > 0, and split the work so
// that one call of assembly lasts at most about 100 microseconds.
type gemmTable struct {
	nn func(g *NN)
	tn func(t *TN)
	nt func(g *NT)

	step func(t *TNStep)

	// fold adds up 16 lanes for each of 8*groups floats of dst.
	fold func(dst, lanes *float32, groups int)

	peak      func(n int) // n rounds of independent fused multiply-adds on registers
	peakFLOPs int         // floating-point operations of one round

	read func(x *float32, lines int) // reads 2*lines lines of 64 bytes; lines is a positive multiple of 4

	// transpose transposes blocks of 16 x 16 floats that follow one another in src;
	// in dst they are dstStep bytes apart.
	transpose func(dst, src *float32, blocks, dstStep int)

	// copyRows copies rows of some lines of 16 floats, the rows dstStep and srcStep bytes
	// apart. Everything is at least 1.
	copyRows func(dst, src *float32, rows, dstStep, srcStep, lines int)
}

var gemms gemmTable

const (
	msgShape = "kernels: negative size, stride or distance"
	msgWidth = "kernels: N is not a multiple of Width"
	msgCols  = "kernels: Cols is not from 0 to N"
	msgLdc   = "kernels: Ldc is smaller than N"
	msgBias  = "kernels: Bias together with Accumulate"
	msgRows  = "kernels: fewer rows in memory than the product has"
	msgShort = "kernels: slice is too short for its shape"

	msgEdges  = "kernels: Edges of segments of another length"
	msgFloats = "kernels: Floats or Blocks without BF16, both, or Floats with several segments"
)

// GemmNN computes g's product. It panics if a size is negative, N is not a multiple
// of Width or a slice is too short.
//
//go:noinline
func GemmNN(g *NN) {
	h := *g
	if h.Segs == 0 {
		h.Segs = 1
	}
	if h.BRows == 0 {
		h.BRows = h.Segs * h.K
	}
	h.check()
	if h.M == 0 || h.N == 0 {
		return
	}
	if raceEnabled {
		h.race()
	}
	switch {
	case h.Floats:
		bf16s.nnFloats(noescape(&h))
	case h.Blocks:
		bf16s.nnBlocks(noescape(&h))
	case h.BF16:
		bf16s.nn(noescape(&h))
	default:
		gemms.nn(noescape(&h))
	}
}

func (g *NN) check() {
	if g.M < 0 || g.N < 0 || g.K < 0 || g.Segs < 0 || g.Lda < 0 || g.SegStride < 0 {
		panic(msgShape)
	}
	if g.N%Width != 0 {
		panic(msgWidth)
	}
	if g.Cols < 0 || g.Cols > g.N {
		panic(msgCols)
	}
	if g.Ldc < g.N {
		panic(msgLdc)
	}
	if g.Accumulate && g.Bias != nil {
		panic(msgBias)
	}
	if g.Floats && (!g.BF16 || g.Segs > 1) || g.Blocks && (!g.BF16 || g.Floats) {
		panic(msgFloats)
	}
	if g.Edges != nil && g.Edges.terms != g.K {
		panic(msgEdges)
	}
	if g.BRows < g.Segs*g.K {
		panic(msgRows)
	}
	if g.M == 0 || g.N == 0 {
		return
	}
	if len(g.C) < (g.M-1)*g.Ldc+g.N || g.Bias != nil && len(g.Bias) < g.N {
		panic(msgShort)
	}
	if g.K > 0 && (len(g.A) < (g.M-1)*g.Lda+(g.Segs-1)*g.SegStride+g.wide() || len(g.B) < (g.N/Width-1)*g.BRows*Width+g.Segs*g.K*Width) {
		panic(msgShort)
	}
}

// wide returns the floats of a segment of a row of A.
func (g *NN) wide() int {
	if g.Floats {
		return (g.K + 1) / 2
	}
	return g.K
}

func (g *NN) race() {
	for i := range g.M {
		raceWrite(g.C[i*g.Ldc:][:g.N])
		for s := range g.Segs {
			raceRead(g.A[i*g.Lda+s*g.SegStride:][:g.wide()])
		}
	}
	for p := range g.N / Width {
		raceRead(g.B[p*g.BRows*Width:][:g.Segs*g.K*Width])
	}
	raceRead(g.Bias)
}

// GemmTN computes t's product. It panics if a size is negative, N is not a multiple
// of Width or a slice is too short.
//
//go:noinline
func GemmTN(t *TN) {
	h := *t
	if h.Segs == 0 {
		h.Segs = 1
	}
	if h.CRows == 0 {
		h.CRows = h.K
	}
	h.check()
	if h.K == 0 || h.N == 0 {
		return
	}
	if raceEnabled {
		h.race()
	}
	switch {
	case h.Blocks:
		bf16s.tnBlocks(noescape(&h))
	case h.BF16:
		bf16s.tn(noescape(&h))
	default:
		gemms.tn(noescape(&h))
	}
}

func (t *TN) check() {
	if t.M < 0 || t.N < 0 || t.K < 0 || t.Segs < 0 || t.Lda < 0 || t.Ldg < 0 || t.ASeg < 0 || t.GSeg < 0 {
		panic(msgShape)
	}
	if t.N%Width != 0 {
		panic(msgWidth)
	}
	if t.Cols < 0 || t.Cols > t.N {
		panic(msgCols)
	}
	if t.CRows < t.K {
		panic(msgRows)
	}
	if t.K == 0 || t.N == 0 {
		return
	}
	if len(t.C) < (t.N/Width-1)*t.CRows*Width+t.K*Width {
		panic(msgShort)
	}
	if t.M > 0 && (len(t.A) < (t.Segs-1)*t.ASeg+(t.M-1)*t.Lda+t.K || len(t.G) < (t.Segs-1)*t.GSeg+(t.M-1)*t.Ldg+t.N) {
		panic(msgShort)
	}
}

func (t *TN) race() {
	for s := range t.Segs {
		for m := range t.M {
			raceRead(t.A[s*t.ASeg+m*t.Lda:][:t.K])
			raceRead(t.G[s*t.GSeg+m*t.Ldg:][:t.N])
		}
	}
	for p := range t.N / Width {
		raceWrite(t.C[p*t.CRows*Width:][:t.K*Width])
	}
}
