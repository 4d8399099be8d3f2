package kernels_test

import (
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"github.com/fedfast/fedfast/internal/test/kernelstest"
	"github.com/fedfast/fedfast/kernels"
)

// forBF16 runs f on every level, in both ways where there are two.
func forBF16(t *testing.T, f func(t *testing.T)) {
	t.Helper()
	kernelstest.ForEachLevel(t, func(t *testing.T) {
		f(t)
		if kernels.Current() == kernels.AVX512 && kernels.OtherBF16 != nil {
			defer kernels.OtherBF16()()
			t.Run("other", f)
		}
	})
}

func bits(x uint32) float32 { return math.Float32frombits(x) }

// sameNumber fails unless two numbers have the same bits, or are NaN at a level without the instruction.
func sameNumber(t *testing.T, got, want float32, format string, args ...any) {
	t.Helper()
	anyNaN := got != got && want != want && (kernels.Current() == kernels.AVX2 || kernels.Current() == kernels.NEON)
	if math.Float32bits(got) != math.Float32bits(want) && !anyNaN {
		t.Fatalf("%s: %08x, want %08x", fmt.Sprintf(format, args...), math.Float32bits(got), math.Float32bits(want))
	}
}

// TestBF16Edges holds what Dot2's comment says by hand-computed cases.
func TestBF16Edges(t *testing.T) {
	const one, inf, nan = 0x3f80, 0x7f80, 0x7fa1
	for _, c := range []struct{ acc, x, y, want uint32 }{
		{0x3f800000, one<<16 | one, one<<16 | one, 0x40400000},          // 1 + 1 + 1
		{0x4b800000, one<<16 | one, one<<16 | one, 0x4b800000},          // 2^24 + 1 is rounded before the next 1
		{0x4b800001, one << 16, one << 16, 0x4b800002},                  // halfway to even, up
		{0x00800000, 0x8000 | (127-75)<<7, (127 - 75) << 7, 0},          // 2^-126 - 2^-150 is below the normal numbers
		{0x00800000, 0x8000 | (127-75)<<7, (127 - 76) << 7, 0x00800000}, // 2^-126 - 2^-151 is rounded up to them
		{0x007fffff, 0, 0, 0},                               // the sum before is flushed
		{0x80000001, 0x80008000, one<<16 | one, 0x80000000}, // to a zero of its sign
		{0, 0x0001 << 16, inf << 16, 0xffc00000},            // a factor is flushed, and 0 times infinity is no number
		{0x80000000, 0, 0, 0},
		{0, 0x7f7f, 0x7f7f, 0x7f800000},
		{0xff800000, inf << 16, one << 16, 0xffc00000},
		{0x7fa30000, nan << 16, 0x7fb2 << 16, 0x7fe10000}, // x first
		{0x7fa30000, one << 16, 0x7fb2 << 16, 0x7ff20000}, // then y
		{0x7fa30000, inf << 16, 0, 0x7fe30000},
		{0, nan<<16 | 0x7fb2, one<<16 | one, 0x7ff20000}, // the low step takes the sum last
	} {
		sameNumber(t, kernels.Dot2(bits(c.acc), bits(c.x), bits(c.y)), bits(c.want), "%08x + %08x . %08x", c.acc, c.x, c.y)
	}
}

// TestBF16Exact compares Dot2 with arithmetic of 600 bits where all is normal.
func TestBF16Exact(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	fma := func(acc, x, y float32) float32 {
		var p, a big.Float
		p.SetPrec(600).SetFloat64(float64(x) * float64(y))
		s, _ := p.Add(&p, a.SetFloat64(float64(acc))).Float32()
		return s
	}
	for range 200_000 {
		number := func() uint32 { return r.Uint32()&0x807f | uint32(110+r.IntN(30))<<7 }
		x1, x0, y1, y0 := number(), number(), number(), number()
		acc := bits(r.Uint32()&0x807fffff | uint32(100+r.IntN(50))<<23)
		want := fma(fma(acc, bits(x1<<16), bits(y1<<16)), bits(x0<<16), bits(y0<<16))
		sameNumber(t, kernels.Dot2(acc, bits(x1<<16|x0), bits(y1<<16|y0)), want, "%x %x %x %x %x", acc, x1, x0, y1, y0)
	}
}

// anyHalf returns the bits of a number of bf16: any, special, or such that products
// fall around the least normal numbers.
func anyHalf(r *rand.Rand, small bool) uint32 {
	v := r.Uint32() & 0xffff
	switch {
	case small:
		return v&0x807f | uint32(40+r.IntN(30))<<7
	case r.IntN(3) == 0:
		special := []uint32{0, 0x7f80, 0x7f7f, 0x7fa5, 0x7fff, 0x0080, 0x007f, 0x0001, 0x3f80}
		return v&0x8000 | special[r.IntN(len(special))]
	}
	return v
}

// TestBF16Bits compares the instructions with Dot2 on bit patterns of all kinds.
func TestBF16Bits(t *testing.T) {
	forBF16(t, func(t *testing.T) {
		rounds := 20_000
		switch {
		case kernels.Current() == kernels.Generic:
			rounds = 200
		case kernelstest.Small():
			rounds = 5000
		}
		r := rand.New(rand.NewPCG(1, 2))
		const n = 4 * kernels.Width
		a, b, c, old := make([]float32, 1), make([]float32, n), make([]float32, n), make([]float32, n)
		for round := range rounds {
			small := round%2 == 0
			pair := func() float32 { return bits(anyHalf(r, small)<<16 | anyHalf(r, small)) }
			a[0] = pair()
			for j := range n {
				b[j] = pair()
				c[j] = bits(anyHalf(r, false)<<16 | r.Uint32()&0xffff)
				if small {
					c[j] = bits(r.Uint32()&0x807fffff | uint32(r.IntN(30))<<23)
				}
			}
			copy(old, c)
			kernels.GemmNN(&kernels.NN{M: 1, N: n, K: 1, A: a, Lda: 1, B: b, BRows: 1, C: c, Ldc: n, Accumulate: true, BF16: true})
			for j := range n {
				sameNumber(t, c[j], kernels.Dot2(old[j], a[0], b[j]), "%08x + %08x . %08x", math.Float32bits(old[j]), math.Float32bits(a[0]), math.Float32bits(b[j]))
			}
		}
	})
}

// randomPairs returns n pairs of normal numbers between guard words.
func randomPairs(r *rand.Rand, n, offset int) *kernelstest.Slice {
	s := kernelstest.NewSlice(n, offset)
	for i := range s.Data {
		s.Data[i] = roundedPair(float32(r.NormFloat64()), float32(r.NormFloat64()))
	}
	return s
}

// A source makes what products read, between guard words: pairs of bf16, floats that are rounded to it, and what sums
// start from.
type source struct {
	pairs, floats, starts func(r *rand.Rand, n, offset int) *kernelstest.Slice
}

var (
	ordinary = source{randomPairs, anyFloats, kernelstest.Random}
	least    = source{
		func(r *rand.Rand, n, offset int) *kernelstest.Slice {
			return filled(n, offset, func() uint32 { return leastHalf(r) | leastHalf(r)<<16 })
		},
		func(r *rand.Rand, n, offset int) *kernelstest.Slice {
			return filled(n, offset, func() uint32 { return leastHalf(r) << 16 })
		},
		func(r *rand.Rand, n, offset int) *kernelstest.Slice {
			few := []uint32{0, 1, 0x007fffff, 0x00800001}
			return filled(n, offset, func() uint32 {
				if r.IntN(4) == 0 {
					return r.Uint32()&0x80000000 | few[r.IntN(len(few))]
				}
				return r.Uint32()&0x80000000 | 0x00800000
			})
		},
	}
)

func filled(n, offset int, next func() uint32) *kernelstest.Slice {
	s := kernelstest.NewSlice(n, offset)
	for i := range s.Data {
		s.Data[i] = bits(next())
	}
	return s
}

// leastHalf returns the bits of a number of bf16 such that sums of products often are the least normal number and
// pass it by less than half a unit: a zero, 2^-63 or less than 2^-74, and rarely any but a NaN.
func leastHalf(r *rand.Rand) uint32 {
	v := r.Uint32()
	switch n := r.IntN(60); {
	case n == 0 && v&0x7f80 < 0x7f80:
		return v & 0xffff
	case n == 1:
		return v & 0x807f
	case n == 2:
		return v&0x8000 | 0x7f80
	case n < 25:
		return v & 0x8000
	case n < 45:
		return v&0x8000 | (127-63)<<7
	}
	return v&0x807f | uint32(30+r.IntN(23))<<7
}

// roundedPair is a pair of two numbers, each rounded by arithmetic.
func roundedPair(low, high float32) float32 {
	return bits(roundedHalf(low) | roundedHalf(high)<<16)
}

// roundedHalf rounds by arithmetic: adding and taking away 2^16 times the number
// leaves the upper half of its bits.
func roundedHalf(x float32) uint32 {
	b := math.Float32bits(x)
	switch {
	case x != x:
		return b>>16 | 0x40
	case b&0x7f800000 == 0:
		return b >> 16 & 0x8000
	case b&0x7f800000 == 0x7f800000:
		return b >> 16
	}
	mantissa, exponent := math.Frexp(float64(x))
	y := math.Ldexp(math.RoundToEven(mantissa*256)/256, exponent)
	return math.Float32bits(float32(y)) >> 16
}

// sweepBF16 calls f with sizes from 0 to 130, few of them on the plain Go level.
func sweepBF16(f func(n int)) {
	step := 1
	if kernels.Current() == kernels.Generic || kernelstest.Small() {
		step = 37
	}
	for n := 0; n <= 130; n += step {
		f(n)
	}
}

// TestBF16NN compares with chains of Dot2: every height of tiles and number of
// panels, every length up to 130, in all modes, unaligned.
func TestBF16NN(t *testing.T) {
	forBF16(t, func(t *testing.T) {
		r := rand.New(rand.NewPCG(3, 4))
		step := 1
		if kernelstest.Small() {
			step = 5
		}
		sweepBF16(func(n int) {
			for _, c := range []nnCase{
				{m: n, n: 1 + n%7, k: 3, segs: 1, lda: 5, offset: n % 16},
				{m: 1 + n%17, n: 1 + n%6, k: n, segs: 1, lda: n + n%3, offset: n % 16, bias: true, relu: n%2 == 0},
				{m: 1 + n%15, n: n % 11, k: 1 + n%5, segs: 1 + n%4, lda: 2, segStride: n % 23, moreRows: n % 3, moreCols: n % 9, acc: true, relu: n%3 == 0},
			} {
				c.runBF16(t, r, ordinary, false)
			}
			for _, c := range []nnCase{
				{m: n, n: 1 + n%7, k: 1 + n%5, segs: 1, lda: 5, offset: n % 16, relu: n%2 == 0},
				{m: 1 + n%17, n: 1 + n%6, k: n, segs: 1, lda: n + n%3, offset: n % 16, moreRows: n % 3, bias: true},
				{m: 1 + n%15, n: n % 11, k: 1 + n%9, segs: 1, lda: 5, moreCols: n % 9, acc: true},
			} {
				c.runBF16(t, r, ordinary, true)
			}
		})
		if !kernelstest.Small() { // long sums, in runs
			long := nnCase{m: 15, n: 1, k: 4501, segs: 1, lda: 1, bias: true, relu: true}
			long.runBF16(t, r, ordinary, true)
			long.runBF16(t, r, ordinary, false)
		}
		if kernels.Current() != kernels.Generic {
			large := []nnCase{ // more than a plane of halves has room for
				{m: 20, n: 1, k: 100, segs: 3, lda: 900, segStride: 111, acc: true},
				{m: 1, n: 1, k: 11_000, segs: 3, lda: 7, segStride: 300, bias: true, relu: true},
				{m: 2, n: 1, k: 40_000, segs: 1, lda: 1, relu: true},
				{m: 40, n: 1, k: 2000, segs: 1, lda: 2003, bias: true},
				{m: 2, n: 3, k: 33_000, segs: 2, lda: 7, segStride: 300, acc: true},
			}
			if kernelstest.Emulated() {
				large = large[:2]
			}
			for _, c := range large {
				c.runBF16(t, r, ordinary, false)
			}
			if kernelstest.Emulated() {
				return
			}
			long := nnCase{m: 130, n: 1, k: 601, segs: 1, lda: 310, bias: true, relu: true}
			long.runBF16(t, r, ordinary, true)
			// Pairs that are kept for further blocks of rows.
			for m := 15; m <= 30; m += step {
				kept := nnCase{m: m, n: 1 + m%4, k: 1024 + m%3*512 + m/2%2, segs: 1, lda: 780, moreRows: m % 3, bias: m%2 == 0, acc: m%4 == 1, relu: m%3 == 0, offset: m % 16}
				kept.n += 32768 / kept.k / kernels.Width
				kept.runBF16(t, r, ordinary, true)
			}
		}
	})
}

func (c nnCase) runBF16(t *testing.T, r *rand.Rand, from source, floats bool) {
	t.Helper()
	g := kernels.NN{
		M: c.m, N: c.n * kernels.Width, K: c.k, Segs: c.segs, Lda: c.lda, SegStride: c.segStride,
		BRows: c.segs*c.k + c.moreRows, Ldc: c.n*kernels.Width + c.moreCols, Accumulate: c.acc, ReLU: c.relu, BF16: true, Floats: floats,
	}
	a := from.pairs(r, max(0, (c.m-1)*c.lda+(c.segs-1)*c.segStride+c.k), c.offset)
	b := from.pairs(r, g.N*g.BRows, c.offset/2)
	pairs := func(row, col int) float32 { return b.Data[(col/16*g.BRows+row)*16+col%16] }
	terms := c.k
	if floats {
		b, terms = from.floats(r, g.N*g.BRows, c.offset/2), (c.k+1)/2
		of := pairs
		pairs = func(row, col int) float32 {
			high := float32(0)
			if 2*row+1 < c.k {
				high = of(2*row+1, col)
			}
			return roundedPair(of(2*row, col), high)
		}
	}
	bias, out := from.starts(r, g.N, c.offset), from.starts(r, g.M*g.Ldc, 15-c.offset)
	g.A, g.B, g.C = a.Data, b.Data, out.Data
	if c.bias {
		g.Bias = bias.Data
	}
	old := append([]float32(nil), out.Data...)
	kernels.GemmNN(&g)
	for _, s := range []*kernelstest.Slice{a, b, bias, out} {
		s.Check(t, fmt.Sprintf("%+v", c))
	}
	blocks := append([]float32(nil), old...)
	if g.C = blocks; !floats {
		g.Blocks = true
		kernels.GemmNN(&g)
	}
	for i := range g.M {
		for j := range g.N {
			want := float32(0)
			switch {
			case c.bias:
				want = bias.Data[j]
			case c.acc:
				want = old[i*g.Ldc+j]
			}
			inBlocks := want
			for s := range c.segs {
				at := func(k int) (x, y float32) { return a.Data[i*c.lda+s*c.segStride+k], pairs(s*c.k+k, j) }
				for k := range terms {
					x, y := at(k)
					want = dot2(want, x, y)
				}
				if !floats {
					inBlocks = addBlocks(inBlocks, terms, at)
				}
			}
			if c.relu && want < 0 {
				want = 0
			}
			sameNumber(t, out.Data[i*g.Ldc+j], want, "%+v: row %d, column %d", c, i, j)
			if c.relu && inBlocks < 0 {
				inBlocks = 0
			}
			if got := blocks[i*g.Ldc+j]; !floats && !equal(got, inBlocks) {
				t.Fatalf("%+v: row %d, column %d in blocks: %v, want %v", c, i, j, got, inBlocks)
			}
		}
	}
}

// roundedUp counts the steps whose exact result is below 2^-126, the least normal number, and is rounded up to it.
var roundedUp int

// dot2 is kernels.Dot2 in two steps.
func dot2(acc, x, y float32) float32 {
	a, b := math.Float32bits(x), math.Float32bits(y)
	return addProduct(addProduct(acc, a, b), a<<16, b<<16)
}

// addProduct is the step of kernels.Dot2 with the high halves of x and y. What it adds for the low ones, -0, changes
// nothing.
func addProduct(acc float32, x, y uint32) float32 {
	x, y = x&0xffff0000, y&0xffff0000
	p := float64(bits(x)) * float64(bits(y))
	if math.Abs(float64(acc)) == 0x1p-126 && p != 0 && math.Abs(p) <= 0x1p-151 && (acc > 0) != (p > 0) {
		roundedUp++
	}
	return kernels.Dot2(acc, bits(x|0x8000), bits(y))
}

// addBlocks adds to acc the products of n pairs, in blocks of 16.
func addBlocks(acc float32, n int, at func(k int) (x, y float32)) float32 {
	normal := func(x float32) float32 {
		if math.Abs(float64(x)) < 0x1p-126 {
			return float32(math.Copysign(0, float64(x)))
		}
		return x
	}
	for from := 0; from < n; from += 16 {
		var sums [2]float32
		for k := from; k < min(from+16, n); k++ {
			x, y := at(k)
			for half := range sums {
				left := 16 - 16*half
				sums[half] = addProduct(sums[half], math.Float32bits(x)<<left, math.Float32bits(y)<<left)
			}
		}
		acc = normal(normal(acc) + normal(sums[0]+sums[1]))
	}
	return acc
}

// TestBF16TN does so for weight gradients.
func TestBF16TN(t *testing.T) {
	forBF16(t, func(t *testing.T) {
		r := rand.New(rand.NewPCG(5, 6))
		sweepBF16(func(n int) {
			cases := []kernels.TN{
				{M: n, K: 1 + n%31, N: 16 * (1 + n%5), Segs: 1},
				{M: 1 + n%9, K: n, N: 16 * (n % 7), Segs: 1 + n%3, Accumulate: true},
				{M: 16, K: 56, N: 256 + 16*(n%3), Segs: 1 + n%2}, // rows of G that are copied together
			}
			switch {
			case n == 37 && kernels.Current() != kernels.Generic && kernelstest.Emulated():
				cases = append(cases, kernels.TN{M: 520, K: 64, N: 16, Segs: 1}) // more than a plane of halves has room for
			case n == 37 && kernels.Current() != kernels.Generic:
				cases = append(cases, kernels.TN{M: 600, K: 70, N: 16, Segs: 2}, kernels.TN{M: 40, K: 900, N: 16, Segs: 2})
			case n%19 > 0:
				cases = cases[:2]
			}
			for _, c := range cases {
				runTN(t, r, c, n, ordinary)
			}
		})
	})
}

// runTN runs a case, of which n makes the distances.
func runTN(t *testing.T, r *rand.Rand, c kernels.TN, n int, from source) {
	t.Helper()
	c.Lda, c.Ldg, c.CRows = c.K+n%3, c.N+16*(n%2), c.K+n%4
	c.ASeg, c.GSeg = c.M*c.Lda, c.M*c.Ldg
	a, g := from.pairs(r, c.Segs*c.M*c.Lda+c.K, n%16), from.pairs(r, c.Segs*c.M*c.Ldg+c.N, 3)
	out := from.starts(r, c.CRows*c.N, n%5)
	c.A, c.G, c.C, c.BF16 = a.Data, g.Data, out.Data, true
	old := append([]float32(nil), out.Data...)
	kernels.GemmTN(&c)
	for _, s := range []*kernelstest.Slice{a, g, out} {
		s.Check(t, "TN")
	}
	blocks := append([]float32(nil), old...)
	c.C, c.Blocks = blocks, true
	kernels.GemmTN(&c)
	for k := range c.K {
		for j := range c.N {
			at, want := j/16*c.CRows*16+k*16+j%16, float32(0)
			if c.Accumulate {
				want = old[at]
			}
			inBlocks := want
			for s := range c.Segs {
				pairs := func(m int) (x, y float32) { return a.Data[s*c.ASeg+m*c.Lda+k], g.Data[s*c.GSeg+m*c.Ldg+j] }
				for m := range c.M {
					x, y := pairs(m)
					want = dot2(want, x, y)
				}
				inBlocks = addBlocks(inBlocks, c.M, pairs)
			}
			sameNumber(t, out.Data[at], want, "M %d K %d N %d: row %d, column %d", c.M, c.K, c.N, k, j)
			if !equal(blocks[at], inBlocks) {
				t.Fatalf("M %d K %d N %d in blocks: row %d, column %d: %v, want %v", c.M, c.K, c.N, k, j, blocks[at], inBlocks)
			}
		}
	}
}

// TestBF16NT does so for the lanes of input gradients.
func TestBF16NT(t *testing.T) {
	forBF16(t, func(t *testing.T) {
		r := rand.New(rand.NewPCG(7, 8))
		sweepBF16(func(n int) {
			for _, c := range []kernels.NT{
				{M: n, K: 1 + n%9, N: 16 * (n % 4)},
				{M: 1 + n%13, K: n, N: 16 * (1 + n%5), Accumulate: true},
				{M: n, K: 5 + n%7, N: 16 * 71, Accumulate: n%2 == 0},
			} {
				if c.N == 16*71 && n > 40 && kernelstest.Emulated() {
					continue
				}
				runNT(t, r, c, n, ordinary)
			}
		})
	})
}

// runNT does so.
func runNT(t *testing.T, r *rand.Rand, c kernels.NT, n int, from source) {
	t.Helper()
	row := (c.N/16 + 1) / 2 * 16
	c.Lda, c.BRows, c.LRows = row+n%3, c.K+n%2, c.K+n%3
	a, b := from.pairs(r, c.M*c.Lda+row, n%16), from.floats(r, c.N*c.BRows+c.K*16, 5)
	out := from.starts(r, (c.M*c.LRows+c.K)*16, n%3)
	c.A, c.B, c.L, c.BF16 = a.Data, b.Data, out.Data, true
	if n%2 == 0 {
		c.Next = b.Data
	}
	old := append([]float32(nil), out.Data...)
	kernels.GemmNT(&c)
	out.Check(t, "NT")
	for i := range c.M {
		for k := range c.K {
			for l := range 16 {
				at, want := (i*c.LRows+k)*16+l, float32(0)
				if c.Accumulate {
					want = old[at]
				}
				for p := 0; p < c.N/16; p += 2 {
					panel, y := p+l/8, float32(0)
					if panel < c.N/16 {
						row := b.Data[(panel*c.BRows+k)*16+2*l%16:]
						y = roundedPair(row[0], row[1])
					}
					want = dot2(want, a.Data[i*c.Lda+p/2*16+l], y)
				}
				sameNumber(t, out.Data[at], want, "M %d K %d N %d: row %d, row %d, lane %d", c.M, c.K, c.N, i, k, l)
			}
		}
	}
}

// TestBF16Least compares sums near the least normal number. Some must be rounded up to it, which a processor that
// flushes numbers before it rounds them does not do by itself. No product may leave the processor in such a mode.
func TestBF16Least(t *testing.T) {
	tiny, one := bits(1), float32(1)
	forBF16(t, func(t *testing.T) {
		var r *rand.Rand
		for what, run := range map[string]func(m, k int){
			"NN": func(m, k int) {
				for _, floats := range []bool{false, true} {
					c := nnCase{
						m: m, n: 1 + k%3, k: k, segs: 1 + m%2, lda: k, segStride: 1, bias: k%2 == 0, acc: k%2 > 0,
						relu: k%3 == 0,
					}
					if floats {
						c.segs = 1
					}
					c.runBF16(t, r, least, floats)
				}
			},
			"TN": func(m, k int) {
				runTN(t, r, kernels.TN{M: k, K: m, N: 16 * (1 + k%3), Segs: 1 + m%2, Accumulate: k%3 > 0}, k, least)
			},
			"NT": func(m, k int) {
				runNT(t, r, kernels.NT{M: m, K: 3, N: 16 * k, Accumulate: k%3 > 0}, k, least)
			},
		} {
			r, roundedUp = rand.New(rand.NewPCG(11, 12)), 0
			for m := 1; m <= 15; m++ {
				for _, k := range []int{1 + m%3, 5 + m%4, 16, 17 + m%5} {
					run(m, k)
				}
			}
			if roundedUp < 100 {
				t.Errorf("%s: %d sums were rounded up, too few to tell", what, roundedUp)
			}
			if tiny*one != tiny {
				t.Errorf("%s leaves the processor flushing", what)
			}
		}
	})
}

// TestBF16TNStep does so for steps on weight gradients.
func TestBF16TNStep(t *testing.T) {
	forBF16(t, func(t *testing.T) {
		r := newRand(28)
		sweepBF16(func(n int) {
			p := n%5 + 1
			for _, c := range []stepCase{
				{m: 5, k: n, n: p, lda: n + 1, ldg: p * 16, momentum: p%2 == 0, offset: n % 16, ahead: true},
				{m: n, k: 1 + n%15, n: p, lda: 17, ldg: p*16 + 3, moreRows: n % 3, momentum: n%2 == 0, anchor: n%3 == 0, offset: n % 16},
				{m: 4, k: min(n, kernels.MeasuredRows), n: p, lda: n + 1, ldg: p * 16, measured: true, offset: n % 16, ahead: true},
				{m: 1 + n%7, k: 1 + n%30, n: n % 71, lda: 31, ldg: 71 * 16, first: n%2 == 0, momentum: n%3 == 0, ahead: true},
			} {
				c.bf16 = true
				c.run(t, r)
			}
		})
		for _, c := range []stepCase{ // more than a plane of halves has room for
			{m: 40, k: 1000, n: 2, lda: 1001, ldg: 32, momentum: true, anchor: true, moreRows: 3},
			{m: 300, k: kernels.MeasuredRows, n: 2, lda: 128, ldg: 32, measured: true},
			{m: 600, k: 100, n: 2, lda: 100, ldg: 32},
		} {
			c.bf16 = true
			c.run(t, r)
		}
	})
}

// TestBF16Panics holds that misuse panics instead of reading past a slice.
func TestBF16Panics(t *testing.T) {
	x := make([]float32, 1000)
	nn := kernels.NN{M: 4, N: 16, K: 8, A: x, Lda: 4, B: x, C: x, Ldc: 16, BF16: true, Floats: true}
	nt := kernels.NT{M: 4, N: 48, K: 2, A: x, Lda: 32, B: x, L: x, BF16: true}
	for name, f := range map[string]func(){
		"floats of float32": func() { g := nn; g.BF16 = false; kernels.GemmNN(&g) },
		"segments":          func() { g := nn; g.Segs = 2; kernels.GemmNN(&g) },
		"pairs":             func() { g := nn; g.A = x[:15]; kernels.GemmNN(&g) },
		"rows":              func() { g := nn; g.B = x[:127]; kernels.GemmNN(&g) },
		"an odd panel":      func() { g := nt; g.A = x[:127]; kernels.GemmNT(&g) },
		"lanes":             func() { g := nt; g.L = x[:127]; kernels.GemmNT(&g) },
		"panels":            func() { kernels.JoinPanels(x, x, x[:31], 2) },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: no panic", name)
				}
			}()
			f()
		}()
	}
}

// anyFloats returns n floats of all bit patterns, halfway ones between two numbers
// of bf16 among them.
func anyFloats(r *rand.Rand, n, offset int) *kernelstest.Slice {
	s := kernelstest.NewSlice(n, offset)
	for i := range s.Data {
		v := r.Uint32()
		switch r.IntN(4) {
		case 0:
			v = v&0xffff0000 | 0x8000
		case 1:
			v = anyHalf(r, false)<<16 | v&0xffff
		}
		s.Data[i] = bits(v)
	}
	return s
}

// TestBF16Rounding compares all that rounds with arithmetic.
func TestBF16Rounding(t *testing.T) {
	forBF16(t, func(t *testing.T) {
		r := rand.New(rand.NewPCG(9, 10))
		sweepBF16(func(n int) {
			src := anyFloats(r, 8*n+200, n%16)
			check := func(what string, dst *kernelstest.Slice, at int, want float32) {
				t.Helper()
				dst.Check(t, what)
				sameNumber(t, dst.Data[at], want, "%s: size %d, value %d", what, n, at)
			}
			x := src.Data[:n]
			pairs := kernelstest.NewSlice((n+1)/2, n%5)
			kernels.RoundPairs(pairs.Data, x)
			for i := range pairs.Data {
				high := float32(0)
				if 2*i+1 < n {
					high = x[2*i+1]
				}
				check("RoundPairs", pairs, i, roundedPair(x[2*i], high))
			}
			floats := kernelstest.NewSlice(n, n%3)
			kernels.RoundBF16(floats.Data, x)
			for i, v := range x {
				check("RoundBF16", floats, i, bits(roundedHalf(v)<<16))
			}
			for _, single := range []bool{false, true} {
				p := kernels.PairRows{Rows: 1 + n%5, N: n, Src: src.Data, Step: n + 3, Other: n % 37, Single: single, Ld: n + 2}
				rows := kernelstest.NewSlice(p.Rows*p.Ld, n%7)
				p.Dst = rows.Data
				p.Run()
				for i := range p.Rows {
					for j := range n {
						high := src.Data[i*p.Step+p.Other+j]
						if single && i == p.Rows-1 {
							high = 0
						}
						check("PairRows", rows, i*p.Ld+j, roundedPair(src.Data[i*p.Step+j], high))
					}
				}
			}
			count := n / 5
			joined := kernelstest.NewSlice(16*count, n%11)
			kernels.JoinPanels(joined.Data, src.Data, src.Data[2*n:], count)
			for i := range joined.Data {
				from := src.Data
				if i%16 >= 8 {
					from = from[2*n:]
				}
				at := i/16*16 + 2*i%16
				check("JoinPanels", joined, i, roundedPair(from[at], from[at+1]))
			}
		})
	})
}

// BenchmarkBF16 measures products against those of float32 on one core.
func BenchmarkBF16(b *testing.B) {
	if kernels.Current() == kernels.Generic {
		b.Skip("no assembly")
	}
	r := rand.New(rand.NewPCG(1, 2))
	b.Run("peak", func(b *testing.B) {
		flops := int64(0)
		for b.Loop() {
			flops = kernels.PeakBF16(1000)
		}
		b.ReportMetric(float64(flops)*float64(b.N)/float64(b.Elapsed().Nanoseconds()), "GFLOPS")
	})
	for _, s := range []struct{ m, n, k int }{{8, 1024, 256}, {10, 1024, 256}, {16, 1024, 256}, {128, 1024, 256}, {10, 256, 1024}, {800, 64, 288}, {64, 2048, 3136}} {
		x, y := randomPairs(r, s.m*max(s.k, s.n), 0), randomPairs(r, max(s.k, s.m)*s.n, 0)
		c := make([]float32, max(s.m, s.k)*s.n)
		for _, bf16 := range []bool{false, true} {
			run := func(name string, f func()) {
				b.Run(fmt.Sprintf("%s/%dx%dx%d/bf16=%v", name, s.m, s.n, s.k, bf16), func(b *testing.B) {
					for b.Loop() {
						f()
					}
					b.ReportMetric(2*float64(s.m*s.n*s.k)*float64(b.N)/float64(b.Elapsed().Nanoseconds()), "GFLOPS")
				})
			}
			d := 1
			if bf16 {
				d = 2
			}
			run("nn", func() {
				kernels.GemmNN(&kernels.NN{M: s.m, N: s.n, K: s.k / d, A: x.Data, Lda: s.k / d, B: y.Data, C: c, Ldc: s.n, BF16: bf16})
			})
			run("tn", func() {
				kernels.GemmTN(&kernels.TN{M: s.m / d, N: s.n, K: s.k, A: x.Data, Lda: s.k, G: y.Data, Ldg: s.n, C: c, BF16: bf16})
			})
		}
	}
}
