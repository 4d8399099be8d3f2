package kernels

// bf16Table holds the products of pairs of bf16 and the packing for them of one
// level. See gemmTable for the products.
type bf16Table struct {
	nn, nnFloats func(g *NN)

	tn   func(t *TN)
	nt   func(g *NT)
	step func(t *TNStep)

	nnBlocks func(g *NN) // sums in blocks
	tnBlocks func(t *TN)

	// pair rounds rows of groups of 16 floats of two sources, the second other bytes
	// after the first, to pairs of a float of each. The rows are step bytes apart,
	// those of dst dstStep. join leaves 16 floats of the first before 16 of the
	// second instead. Everything is at least 1.
	pair, join func(dst, src *float32, other, step, dstStep, rows, groups int)

	// round rounds groups of 16 floats and leaves them floats.
	round func(dst, src *float32, groups int)

	peak      func(n int) // n rounds of independent additions of two products on registers
	peakFLOPs int
}

var bf16s bf16Table

// PairRows makes pairs of rows of floats for products with NN.BF16 and TN.BF16:
//
//	Dst[i*Ld + j] = pair of Src[i*Step + j] and Src[i*Step + Other + j]   for i < Rows, j < N
//
// each rounded to bf16. In the last row the second number is zero with Single. Dst
// must not overlap Src.
type PairRows struct {
	Rows, N     int
	Src         []float32
	Step, Other int
	Single      bool
	Dst         []float32
	Ld          int
}

const msgPairs = "kernels: pairs with a negative size or a slice too short"

// pairCall is the most groups of 16 pairs of one call of assembly, about 100 us.
const pairCall = 1 << 14

// Run makes the pairs.
func (p *PairRows) Run() {
	if p.Rows <= 0 || p.N <= 0 {
		return
	}
	whole := p.Rows
	if p.Single {
		whole--
	}
	last := (p.Rows-1)*p.Step + p.N
	if whole == p.Rows {
		last += p.Other
	} else if whole > 0 {
		last = max(last, (whole-1)*p.Step+p.Other+p.N)
	}
	if p.Step < 0 || p.Other < 0 || p.Ld < 0 || len(p.Src) < last || len(p.Dst) < (p.Rows-1)*p.Ld+p.N {
		panic(msgPairs)
	}
	raceRead(p.Src[:last])
	raceWrite(p.Dst[:(p.Rows-1)*p.Ld+p.N])
	groups := p.N / Width
	switch rest := p.N % Width; {
	case groups == 0:
		for i := range whole {
			src, dst := p.Src[i*p.Step:], p.Dst[i*p.Ld:]
			for j := range p.N {
				dst[j] = pairOf(src[j], src[j+p.Other])
			}
		}
	case rest > 0:
		p.columns(p.N-Width, whole, 1) // with some once more
		fallthrough
	default:
		p.columns(0, whole, groups)
	}
	if p.Single {
		p.single(p.Src[whole*p.Step:][:p.N], p.Dst[whole*p.Ld:])
	}
}

// columns makes the pairs of groups of 16 columns from column j on, in the first rows.
func (p *PairRows) columns(j, rows, groups int) {
	most := max(pairCall/groups, 1)
	for i := 0; i < rows; i += most {
		runPair(bf16s.pair, &p.Dst[i*p.Ld+j], &p.Src[i*p.Step+j], 4*p.Other, 4*p.Step, 4*p.Ld, min(most, rows-i), groups)
	}
}

// single pairs a row with zeros.
func (p *PairRows) single(src, dst []float32) {
	for len(src) >= Width {
		n := min(len(src), len(noNumbers)) / Width * Width
		runPair(bf16s.pair, &dst[0], &src[0], distance(src, noNumbers[:]), 4, 4, 1, n/Width)
		src, dst = src[n:], dst[n:]
	}
	for j, x := range src {
		dst[j] = pairOf(x, 0)
	}
}

// RoundPairs makes pairs of neighbours: dst[i] of src[2*i] and src[2*i+1], each
// rounded to bf16; an odd last one gets a zero. dst has (len(src)+1)/2 floats or
// more and must not overlap src.
func RoundPairs(dst, src []float32) {
	if len(dst) < (len(src)+1)/2 {
		panic(msgPairs)
	}
	raceRead(src)
	raceWrite(dst[:(len(src)+1)/2])
	rows := len(src) / (2 * Width)
	for i := 0; i < rows; i += pairCall {
		runPair(bf16s.join, &dst[i*Width], &src[2*i*Width], 4*Width, 8*Width, 4*Width, min(pairCall, rows-i), 1)
	}
	rest := 2 * rows * Width
	if last := len(src) &^ 1; rows > 0 && rest < last { // with some once more
		runPair(bf16s.join, &dst[last/2-Width], &src[last-2*Width], 4*Width, 8*Width, 4*Width, 1, 1)
		rest = last
	}
	for i := rest; i < len(src); i += 2 {
		high := float32(0)
		if i+1 < len(src) {
			high = src[i+1]
		}
		dst[i/2] = pairOf(src[i], high)
	}
}

// JoinPanels makes pairs of neighbouring columns of two packed panels: for every
// row, of 16 floats, the 8 pairs of a and then the 8 of b, each number rounded to
// bf16. dst must not overlap them.
func JoinPanels(dst, a, b []float32, rows int) {
	if rows < 0 || len(a) < rows*Width || len(b) < rows*Width || len(dst) < rows*Width {
		panic(msgPairs)
	}
	raceRead(a[:rows*Width])
	raceRead(b[:rows*Width])
	raceWrite(dst[:rows*Width])
	for i := 0; i < rows; i += pairCall {
		runPair(bf16s.join, &dst[i*Width], &a[i*Width], distance(a, b), 4*Width, 4*Width, min(pairCall, rows-i), 1)
	}
}

// noNumbers are the zeros that stand for a missing row.
var noNumbers [1 << 12]float32

// RoundBF16 writes the numbers of src rounded to bf16 to dst, as floats. They may be
// the same slice.
func RoundBF16(dst, src []float32) {
	if len(dst) != len(src) {
		panic(msgLengths)
	}
	raceRead(src)
	raceWrite(dst)
	groups := len(src) / Width
	for i := 0; i < groups; i += pairCall {
		runRound(bf16s.round, &dst[i*Width], &src[i*Width], min(pairCall, groups-i))
	}
	for i := groups * Width; i < len(src); i++ {
		dst[i] = rounded(src[i])
	}
}

// PeakBF16 is [PeakProbe] for products of bf16: a product and its addition are two
// operations.
func PeakBF16(n int) int64 {
	for left := n; left > 0; left -= peakCall {
		runPeak(bf16s.peak, min(left, peakCall))
	}
	return int64(max(n, 0)) * int64(bf16s.peakFLOPs)
}

// PeakBlocks is [PeakBF16] for sums in blocks, of tiles in a first-level cache.
func PeakBlocks(n int) int64 {
	const rows, cols, pairs = 16, 64, 64
	var a, b, c [cols * pairs]float32
	g := NN{M: rows, N: cols, K: pairs, A: a[:], Lda: pairs, B: b[:], C: c[:], Ldc: cols, BF16: true, Blocks: true}
	for range n / pairs {
		GemmNN(&g)
	}
	return int64(n / pairs * 4 * rows * cols * pairs)
}

// runPair is a Go function of its own so that the runtime can interrupt a loop of
// calls.
//
//go:noinline
func runPair(f func(dst, src *float32, other, step, dstStep, rows, groups int), dst, src *float32, other, step, dstStep, rows, groups int) {
	f(dst, src, other, step, dstStep, rows, groups)
}

// runRound is runPair for rounding.
//
//go:noinline
func runRound(f func(dst, src *float32, groups int), dst, src *float32, groups int) {
	f(dst, src, groups)
}
