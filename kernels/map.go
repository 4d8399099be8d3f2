package kernels

// mapBlock is the most elements that one call of an element-wise kernel gets:
// assembly cannot be interrupted for garbage collection, and the slowest of these
// kernels needs about 1 ns an element.
const mapBlock = 1 << 16

const msgLengths = "kernels: slices of different lengths"

// mapUnary calls f on blocks of dst and src.
func mapUnary(f func(dst, src []float32), dst, src []float32) {
	if len(dst) != len(src) {
		panic(msgLengths)
	}
	raceRead(src)
	raceWrite(dst)
	for len(src) > mapBlock {
		callUnary(f, dst[:mapBlock], src[:mapBlock])
		dst, src = dst[mapBlock:], src[mapBlock:]
	}
	if len(src) > 0 {
		callUnary(f, dst, src)
	}
}

// callUnary is not inlined, like all functions called call...: entering it is the
// point where a loop over assembly can be interrupted.
//
//go:noinline
func callUnary(f func(dst, src []float32), dst, src []float32) { f(dst, src) }

// mapBinary calls f on blocks of dst, a and b.
func mapBinary(f func(dst, a, b []float32), dst, a, b []float32) {
	if len(dst) != len(a) || len(dst) != len(b) {
		panic(msgLengths)
	}
	raceRead(a)
	raceRead(b)
	raceWrite(dst)
	for len(dst) > mapBlock {
		callBinary(f, dst[:mapBlock], a[:mapBlock], b[:mapBlock])
		dst, a, b = dst[mapBlock:], a[mapBlock:], b[mapBlock:]
	}
	if len(dst) > 0 {
		callBinary(f, dst, a, b)
	}
}

//go:noinline
func callBinary(f func(dst, a, b []float32), dst, a, b []float32) { f(dst, a, b) }

// mapScaled calls f, which also takes a number, on blocks of dst and src.
func mapScaled(f func(dst, src []float32, alpha float32), dst, src []float32, alpha float32) {
	if len(dst) != len(src) {
		panic(msgLengths)
	}
	raceRead(src)
	raceWrite(dst)
	for len(src) > mapBlock {
		callScaled(f, dst[:mapBlock], src[:mapBlock], alpha)
		dst, src = dst[mapBlock:], src[mapBlock:]
	}
	if len(src) > 0 {
		callScaled(f, dst, src, alpha)
	}
}

//go:noinline
func callScaled(f func(dst, src []float32, alpha float32), dst, src []float32, alpha float32) {
	f(dst, src, alpha)
}

// vectorTable holds the vector arithmetic of one level. The slices of a call have
// equal, positive lengths.
type vectorTable struct {
	axpy     func(y, x []float32, alpha float32)
	scale    func(dst, src []float32, alpha float32)
	add, sub func(dst, a, b []float32)
	blend    func(y []float32, alphas *float32, xs *[]float32, inputs int) // nil without
}

var vectors vectorTable

// Axpy adds alpha*x[i] to y[i], by one fused multiply-add on assembly levels. The
// lengths must be equal; x may be y itself.
func Axpy(y []float32, alpha float32, x []float32) { mapScaled(vectors.axpy, y, x, alpha) }

// Scale multiplies every x[i] by alpha.
func Scale(x []float32, alpha float32) { mapScaled(vectors.scale, x, x, alpha) }

// ScaleTo stores alpha*x[i] in dst[i]. The lengths must be equal.
func ScaleTo(dst []float32, alpha float32, x []float32) { mapScaled(vectors.scale, dst, x, alpha) }

// Blend stores in y[i] the sum of alphas[k]*xs[k][i], as [ScaleTo] and then [Axpy] for every
// other k do. There must be an alpha for each of xs, which are at least one, as long as y and
// not y itself.
func Blend(y, alphas []float32, xs [][]float32) {
	if len(xs) == 0 || len(alphas) != len(xs) {
		panic(msgLengths)
	}
	for _, x := range xs {
		if len(x) != len(y) {
			panic(msgLengths)
		}
		raceRead(x)
	}
	if vectors.blend != nil && len(y) > 0 && len(y)*len(xs) <= mapBlock {
		raceWrite(y)
		callBlend(y, alphas, xs)
		return
	}
	ScaleTo(y, alphas[0], xs[0])
	for k, x := range xs[1:] {
		Axpy(y, alphas[k+1], x)
	}
}

//go:noinline
func callBlend(y, alphas []float32, xs [][]float32) { vectors.blend(y, &alphas[0], &xs[0], len(xs)) }

// Add stores a[i]+b[i] in dst[i]. The lengths must be equal; dst may be a or b
// itself.
func Add(dst, a, b []float32) { mapBinary(vectors.add, dst, a, b) }

// Sub stores a[i]-b[i] in dst[i]. The lengths must be equal; dst may be a or b
// itself.
func Sub(dst, a, b []float32) { mapBinary(vectors.sub, dst, a, b) }

// actTable holds the activations of one level. The slices of a call have equal,
// positive lengths.
type actTable struct {
	exp, sigmoid, tanh func(dst, src []float32)
	reluBackward       func(dx, dy, y []float32)
	reluAdd            func(dx, dy, y *float32, n, rows, dxRow, dyRow, yRow int) // distances in bytes; nil without
}

var acts actTable

// Exp stores e^src[i] in dst[i], within 1.5 ulp; results below 2^-126 are rounded
// twice (2 ulp of a subnormal number). Above 88.73 it returns +Inf, below -104 it
// returns 0, and NaN stays NaN. dst must be as long as src and may be src itself.
func Exp(dst, src []float32) { mapUnary(acts.exp, dst, src) }

// Sigmoid stores 1/(1+e^-src[i]) in dst[i], within 2.5 ulp for src[i] >= -87. Below
// -88.25 it stays at 4.7e-39; NaN stays NaN. dst must be as long as src and may be
// src itself.
func Sigmoid(dst, src []float32) { mapUnary(acts.sigmoid, dst, src) }

// Tanh stores the hyperbolic tangent of src[i] in dst[i], within 2.6 ulp
// everywhere, also next to 0 where tanh x is x; it is odd to the bit and never
// exceeds 1. NaN stays NaN. dst must be as long as src and may be src itself.
func Tanh(dst, src []float32) { mapUnary(acts.tanh, dst, src) }

// ReLUBackward stores dy[i] in dx[i] where y[i] > 0 and 0 elsewhere (also where
// y[i] is NaN); y is the output of the rectifier. The lengths must be equal; dx may
// be dy or y itself.
func ReLUBackward(dx, dy, y []float32) { mapBinary(acts.reluBackward, dx, dy, y) }

// ReLUBackwardAdd adds dy to dx where y > 0, and 0 elsewhere, as [ReLUBackward] and then [Add]
// do, in rows of n floats, a multiple of [Width], that lie dxRow, dyRow and yRow floats apart.
// dy may change where y is not above 0.
func ReLUBackwardAdd(dx, dy, y []float32, n, rows, dxRow, dyRow, yRow int) {
	if n < 0 || n%Width != 0 || rows < 0 || min(dxRow, dyRow, yRow) < n {
		panic(msgReLURows)
	}
	if n == 0 || rows == 0 {
		return
	}
	if last := rows - 1; len(dx) < last*dxRow+n || len(dy) < last*dyRow+n || len(y) < last*yRow+n {
		panic(msgReLURows)
	}
	most := rows
	if raceEnabled || acts.reluAdd == nil {
		most = 1
	} else if most*n > mapBlock {
		most = max(mapBlock/n, 1)
	}
	for at := 0; at < rows; at += most {
		dx, dy, y := dx[at*dxRow:], dy[at*dyRow:], y[at*yRow:]
		if most == 1 {
			ReLUBackward(dy[:n], dy[:n], y[:n])
			Add(dx[:n], dx[:n], dy[:n])
			continue
		}
		callReLUAdd(&dx[0], &dy[0], &y[0], n, min(most, rows-at), 4*dxRow, 4*dyRow, 4*yRow)
	}
}

const msgReLURows = "kernels: rows of a number of floats that is no multiple of Width, or a slice too short"

//go:noinline
func callReLUAdd(dx, dy, y *float32, n, rows, dxRow, dyRow, yRow int) {
	acts.reluAdd(dx, dy, y, n, rows, dxRow, dyRow, yRow)
}
