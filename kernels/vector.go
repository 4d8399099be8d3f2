package kernels

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
