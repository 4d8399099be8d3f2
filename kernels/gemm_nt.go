package kernels

import "unsafe"

// NT describes the products of rows of A with rows of a packed B, lane by lane: for
// every i < M, k < K and l < 16
//
//	L[(i*LRows+k)*16 + l] = start + sum over p < N/16 of A[i*Lda + p*16 + l] * B[p*BRows*16 + k*16 + l]
//
// The start value is zero or (Accumulate) the old lane. On assembly levels a lane
// is one chain of fused multiply-adds in the order of p. [SumLanes] then makes C =
// A·Bᵀ of them: the gradient of a layer's input when A holds the gradients of its
// outputs and B its weights, without a transposed copy of the weights. L must not
// overlap A or B.
type NT struct {
	M, K, N int // rows of A; rows of B; columns of both, a multiple of Width

	A   []float32
	Lda int // distance between rows of A

	B     []float32 // packed panels; panel p starts at p*BRows*16
	BRows int       // rows that a panel has in memory; 0 means K

	L          []float32
	LRows      int  // groups of lanes that a row has in memory; 0 means K
	Accumulate bool // start from L

	// BF16 says that A holds pairs of bf16, of neighbouring columns, and that
	// numbers of B, which are float32, are rounded to such pairs on their way; a
	// step is the step of [Dot2]. Pairs of columns of two panels are 16 lanes: those of
	// the first panel come before those of the second, which are zeros after the
	// last one where panels are odd in number. A has as many floats in a row, half
	// of what N says.
	BF16 bool

	// Next starts at the part of B, or of another matrix of its layout, that is
	// needed next: it is fetched into a cache meanwhile, rows and columns as many
	// as B's. nil fetches nothing. It has no part in the result.
	Next []float32
}

// GemmNT computes g's lanes. It panics if a size is negative, N is not a multiple
// of Width or a slice is too short.
//
//go:noinline
func GemmNT(g *NT) {
	h := *g
	if h.BRows == 0 {
		h.BRows = h.K
	}
	if h.LRows == 0 {
		h.LRows = h.K
	}
	h.check()
	if h.M == 0 || h.K == 0 {
		return
	}
	if raceEnabled {
		h.race()
	}
	if h.BF16 {
		bf16s.nt(noescape(&h))
		return
	}
	gemms.nt(noescape(&h))
}

func (g *NT) check() {
	if g.M < 0 || g.N < 0 || g.K < 0 || g.Lda < 0 {
		panic(msgShape)
	}
	if g.N%Width != 0 {
		panic(msgWidth)
	}
	if g.BRows < g.K || g.LRows < g.K {
		panic(msgRows)
	}
	if g.M == 0 || g.K == 0 {
		return
	}
	if len(g.L) < ((g.M-1)*g.LRows+g.K)*Width {
		panic(msgShort)
	}
	if g.N > 0 && (len(g.A) < (g.M-1)*g.Lda+g.wide() || len(g.B) < ((g.N/Width-1)*g.BRows+g.K)*Width) {
		panic(msgShort)
	}
}

// wide returns the floats of a row of A.
func (g *NT) wide() int {
	if g.BF16 {
		return (g.N/Width + 1) / 2 * Width
	}
	return g.N
}

func (g *NT) race() {
	for i := range g.M {
		raceRead(g.A[i*g.Lda:][:g.wide()])
		raceWrite(g.L[i*g.LRows*Width:][:g.K*Width])
	}
	for p := range g.N / Width {
		raceRead(g.B[p*g.BRows*Width:][:g.K*Width])
	}
}

// SumLanes writes to every dst[i] the sum of its 16 lanes, lanes[16*i] to
// lanes[16*i+15], each half of them added to the other half until one number is
// left, as in [Dot]. The length of dst must be a multiple of Width. dst and lanes
// must not overlap.
func SumLanes(dst, lanes []float32) {
	if len(dst)%Width != 0 {
		panic(msgWidth)
	}
	if len(lanes) < len(dst)*Width {
		panic(msgShort)
	}
	raceWrite(dst)
	raceRead(lanes[:len(dst)*Width])
	for i := 0; i < len(dst); i += foldCall {
		runFold(&dst[i], &lanes[i*Width], min(foldCall, len(dst)-i)/8)
	}
}

// foldCall is the most sums of one call of assembly.
const foldCall = 8192

// runFold is a Go function of its own so that the runtime can interrupt a loop of
// calls.
//
//go:noinline
func runFold(dst, lanes *float32, groups int) { gemms.fold(dst, lanes, groups) }

// copyRows is how many rows of B copyB takes, and copyPanels of how many panels at
// once: half of a first-level cache.
const (
	copyRows   = 8
	copyPanels = 32
)

// multiplyNT is GemmNT: blocks of A's rows of nearly equal height pass over runs of
// B's rows, the first of them fetching what is ahead.
func (t *tiles) multiplyNT(g *NT) {
	if g.N == 0 {
		ntGeneric(g)
		return
	}
	args := ntArgs{lda: 4 * g.Lda, panel: 4 * Width * g.BRows, ldl: 4 * Width * g.LRows, panels: g.N / Width, ahead: distance(g.B, g.Next)}
	if g.Accumulate {
		args.accumulate = 1
	}
	k := 0
	if t.copyB != nil {
		k = g.K / copyRows * copyRows
		t.multiplyCopied(g, args, k)
	}
	run := max(t.flops/(2*g.N*len(t.nt))&^3, 4)
	for ; k < g.K; k += run {
		args.k = min(run, g.K-k)
		args.b = &g.B[k*Width]
		args.ahead = distance(g.B, g.Next)
		t.runNT(g, &args, 0, k)
	}
}

// multiplyCopied is multiplyNT for the first rows of B, a multiple of copyRows.
func (t *tiles) multiplyCopied(g *NT, args ntArgs, rows int) {
	var space [copyRows*Width*copyPanels + Width]float32
	b := aligned(noescape(&space)[:])
	ld, ahead := args.panel, args.ahead
	args.ahead, args.b, args.panel, args.k = 0, &b[0], 4*Width*copyRows, copyRows
	for k := 0; k < rows; k += copyRows {
		args.accumulate = 0
		for p := 0; p < g.N/Width; p += copyPanels {
			args.panels = min(copyPanels, g.N/Width-p)
			t.copyB(args.b, &g.B[(p*g.BRows+k)*Width], args.panels, ld, ahead)
			if g.Accumulate || p > 0 {
				args.accumulate = 1
			}
			t.runNT(g, &args, p, k)
		}
	}
}

// distance returns the bytes from the start of a to the start of b, 0 if either is
// empty.
func distance(a, b []float32) int {
	if len(a) == 0 || len(b) == 0 {
		return 0
	}
	return int(uintptr(unsafe.Pointer(&b[0])) - uintptr(unsafe.Pointer(&a[0])))
}

// runNT runs args over all rows of A from panel p on, and the lanes of the rows of
// B from k on.
func (t *tiles) runNT(g *NT, args *ntArgs, p, k int) {
	tall := len(t.nt)
	if 4*g.Lda%setBytes == 0 || args.ldl%setBytes == 0 {
		tall = min(tall, shortNT)
	}
	for i := 0; i < g.M; {
		n := nextNT(g.M-i, tall)
		args.a = &g.A[i*g.Lda+p*Width]
		args.l = &g.L[(i*g.LRows+k)*Width]
		runNT(t.nt[n-1], noescape(args))
		args.ahead = 0
		i += n
	}
}

// runNT is runNN for NT tiles.
//
//go:noinline
func runNT(f func(*ntArgs), args *ntArgs) { f(args) }

func ntGeneric(g *NT) {
	for i := range g.M {
		for k := range g.K {
			l := (*[Width]float32)(g.L[(i*g.LRows+k)*Width:])
			var acc [Width]float32
			if g.Accumulate {
				acc = *l
			}
			for p := range g.N / Width {
				x := (*[Width]float32)(g.A[i*g.Lda+p*Width:])
				for j, y := range (*[Width]float32)(g.B[(p*g.BRows+k)*Width:]) {
					acc[j] = mulAdd(x[j], y, acc[j])
				}
			}
			*l = acc
		}
	}
}
