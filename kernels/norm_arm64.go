//go:build !purego

package kernels

// What these functions do is said at normTable.

//go:noescape
func normSumsNEON(sum, inner *float64, a, b *float32, channels, rows, pixels, aNext, bNext int)

//go:noescape
func normForwardNEON(y, x, value, shift *float32, channels, pixels, relu int)

//go:noescape
func normBackwardNEON(dx, dy, x, grad, value, shift *float32, channels, pixels int)
