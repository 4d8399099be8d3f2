//go:build !purego

package kernels

// What these functions do is said at the tables that hold them: actTable,
// vectorTable and so on.

//go:noescape
func expNEON(dst, src []float32)

//go:noescape
func sigmoidNEON(dst, src []float32)

//go:noescape
func tanhNEON(dst, src []float32)

//go:noescape
func reluBackwardNEON(dx, dy, y []float32)

//go:noescape
func axpyNEON(y, x []float32, alpha float32)

//go:noescape
func scaleNEON(dst, src []float32, alpha float32)

//go:noescape
func addNEON(dst, a, b []float32)

//go:noescape
func subNEON(dst, a, b []float32)

//go:noescape
func dotNEON(x, y []float32) float32

//go:noescape
func colSumNEON(dst, src []float32, m, ld int)

//go:noescape
func sgdPlainNEON(w, g, anchor []float32, r sgdRates)

//go:noescape
func sgdMomentumNEON(w, g, v, anchor []float32, r sgdRates)

//go:noescape
func sgdVelocityNEON(w, g, v, anchor []float32, r sgdRates)

//go:noescape
func softmaxRowNEON(dst, src []float32, scale float32) (largest, sum float32)

//go:noescape
func lstmForwardNEON(gates, cPrev, c, tanhC, h []float32)

//go:noescape
func lstmBackwardNEON(dGates, gates, cPrev, tanhC, dh, dc []float32)

//go:noescape
func pool2x2NEON(dst []float32, idx []uint8, top, bottom []float32, c int)

//go:noescape
func pool2x2BackwardNEON(dst []float32, idx []uint8, top, bottom []float32, c int)

//go:noescape
func dropoutApplyNEON(dst, src []float32, d dropout)
