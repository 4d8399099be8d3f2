package kernels

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
