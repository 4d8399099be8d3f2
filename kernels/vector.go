package kernels

// vectorTable holds the vector arithmetic of one level. The slices of a call have
// equal, positive lengths.
type vectorTable struct {
	axpy     func(y, x []float32, alpha float32)
	scale    func(dst, src []float32, alpha float32)
	add, sub func(dst, a, b []float32)
}

var vectors vectorTable

// Axpy adds alpha*x[i] to y[i], by one fused multiply-add on assembly levels. The
// lengths must be equal; x may be y itself.
func Axpy(y []float32, alpha float32, x []float32) { mapScaled(vectors.axpy, y, x, alpha) }

// Scale multiplies every x[i] by alpha.
func Scale(x []float32, alpha float32) { mapScaled(vectors.scale, x, x, alpha) }

// Add stores a[i]+b[i] in dst[i]. The lengths must be equal; dst may be a or b
// itself.
func Add(dst, a, b []float32) { mapBinary(vectors.add, dst, a, b) }

// Sub stores a[i]-b[i] in dst[i]. The lengths must be equal; dst may be a or b
// itself.
func Sub(dst, a, b []float32) { mapBinary(vectors.sub, dst, a, b) }
