package kernels

import "math"

// reduceTable holds the reductions of one level: at most reduceBlock elements a
// call, dot with equal lengths.
type reduceTable struct {
	dot    func(x, y []float32) float32
	colSum func(dst, src []float32, m, ld int)
	away   func(w, g, anchor []float32) (gg, gd, dd float32)  // d = anchor - w
	dots   func(to *[4]float32, x []float32, ys *[4]*float32) // nil without
}

var reduces reduceTable

// reduceBlock is the number of elements that are summed in float32 before they are
// added to a float64. It is a part of the result.
const reduceBlock = 4096

const msgColSum = "kernels: ColSum with a negative size, a row length below n or a slice that is too short"

// Dot returns the sum of x[i]*y[i]. Blocks of 4096 elements are summed in float32,
// where element i belongs to lane i%16 and the 16 lanes are added in one fixed
// tree, and the blocks are added in float64, so every assembly level returns the
// same bits. A product that overflows float32 gives Inf or NaN. The lengths must be
// equal.
func Dot(x, y []float32) float64 {
	if len(x) != len(y) {
		panic(msgLengths)
	}
	raceRead(x)
	raceRead(y)
	var total float64
	for len(x) > reduceBlock {
		total += float64(callDot(x[:reduceBlock], y[:reduceBlock]))
		x, y = x[reduceBlock:], y[reduceBlock:]
	}
	if len(x) > 0 {
		total += float64(callDot(x, y))
	}
	return total
}

//go:noinline
func callDot(x, y []float32) float32 { return reduces.dot(x, y) }

// Dots stores in to[k] the product of x and ys[k], as [Dot] gives it. There must be a number
// for each of ys, which are as long as x.
func Dots(to []float64, x []float32, ys [][]float32) {
	if len(to) != len(ys) {
		panic(msgLengths)
	}
	if reduces.dots == nil || len(x) == 0 || len(x) > reduceBlock {
		for k, y := range ys {
			to[k] = Dot(x, y)
		}
		return
	}
	raceRead(x)
	for len(ys) > 0 {
		var from [4]*float32
		for k := range from { // what is too much repeats the last one
			y := ys[min(k, len(ys)-1)]
			if len(y) != len(x) {
				panic(msgLengths)
			}
			raceRead(y)
			from[k] = &y[0]
		}
		sums := callDots(x, noescape(&from))
		n := min(len(ys), len(from))
		for k, s := range sums[:n] {
			to[k] = float64(s)
		}
		to, ys = to[n:], ys[n:]
	}
}

//go:noinline
func callDots(x []float32, ys *[4]*float32) (sums [4]float32) {
	reduces.dots(noescape(&sums), x, ys)
	return sums
}

// Away returns the products, each as [Dot] gives it, of the vector g and of the
// displacement d = anchor - w, in one pass: g*g, g*d and d*d. The lengths must be
// equal.
func Away(w, g, anchor []float32) (gg, gd, dd float64) {
	if len(w) != len(g) || len(w) != len(anchor) {
		panic(msgLengths)
	}
	raceRead(w)
	raceRead(g)
	raceRead(anchor)
	for len(w) > 0 {
		n := min(len(w), reduceBlock)
		x, y, z := callAway(w[:n], g[:n], anchor[:n])
		gg, gd, dd = gg+float64(x), gd+float64(y), dd+float64(z)
		w, g, anchor = w[n:], g[n:], anchor[n:]
	}
	return gg, gd, dd
}

//go:noinline
func callAway(w, g, anchor []float32) (gg, gd, dd float32) { return reduces.away(w, g, anchor) }

// Norm returns the Euclidean length of x, the square root of Dot(x, x).
func Norm(x []float32) float64 { return math.Sqrt(Dot(x, x)) }

// ColSum adds to dst[j], j < n, the sum over i < m of src[i*ld+j], one addition
// after the other in the order of the rows. dst and src must not overlap.
func ColSum(dst, src []float32, m, n, ld int) {
	if m < 0 || n < 0 || ld < n || len(dst) < n || m > 0 && len(src) < (m-1)*ld+n {
		panic(msgColSum)
	}
	if m == 0 || n == 0 {
		return
	}
	dst = dst[:n]
	raceWrite(dst)
	rows := max(1, mapBlock/n)
	for i := 0; i < m; i += rows {
		r := min(rows, m-i)
		block := src[i*ld:][:(r-1)*ld+n]
		raceRead(block)
		callColSum(dst, block, r, ld)
	}
}

//go:noinline
func callColSum(dst, src []float32, m, ld int) { reduces.colSum(dst, src, m, ld) }
