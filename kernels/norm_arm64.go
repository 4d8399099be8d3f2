//go:build !purego

package kernels

func normAt(l Level) normTable {
	if l == NEON {
		t := normGeneric
		t.sums, t.forward, t.backward = normSumsNEON, normForwardNEON, normBackwardNEON
		t.moments = func(sum, inner *float64, x *float32, channels, rows, pixels, next int) {
			normSumsNEON(sum, inner, x, x, channels, rows, pixels, next, next)
		}
		return t
	}
	return normGeneric
}

// What these functions do is said at normTable.

//go:noescape
func normSumsNEON(sum, inner *float64, a, b *float32, channels, rows, pixels, aNext, bNext int)

//go:noescape
func normForwardNEON(y, x, value, shift *float32, channels, pixels, relu int)

//go:noescape
func normBackwardNEON(dx, dy, x, grad, value, shift *float32, channels, pixels int)
