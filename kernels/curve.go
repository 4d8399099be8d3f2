package kernels

// Curve names a smooth activation.
type Curve uint8

// The activations of [Curves]: Gauss' error unit by the normal distribution and by
// its approximation with a hyperbolic tangent (Hendrycks and Gimpel 2016), x
// sigmoid(x), and the piecewise x min(max(x+3, 0), 6)/6 and min(max(x+3, 0), 6)/6
// (Howard et al. 2019).
const (
	CurveSigmoid Curve = iota
	CurveTanh
	CurveSiLU
	CurveGELU
	CurveGELUTanh
	CurveHardSwish
	CurveHardSigmoid

	NumCurves int = iota // their number
)

// curveTable holds the loops of one level over n > 0 blocks of 16 floats. The last
// ones get in slope: the sigmoid or tangent itself, that of geluArgument, or e to the
// power of normalArgument, and leave the slope there. Nothing is fused, so that every
// level gives the same bits.
type curveTable struct {
	multiply                     func(dst, a, b *float32, n int)
	geluArgument, normalArgument func(dst, src *float32, n int)

	sigmoidSlope, tanhSlope, silu, geluTanh, gelu, hardSwish, hardSigmoid func(y, slope, x *float32, n int)

	// geluWhole does in one pass what the exponential, normalArgument and gelu do, and
	// geluValue leaves out the slope; a level has either these two or those.
	geluWhole func(y, slope, x *float32, n int)
	geluValue func(y, x *float32, n int)
}

var curves curveTable

// curveBlock is how many floats go through all loops of an activation before the
// next ones, so that they stay in a first-level cache.
const curveBlock = 1024

// Mul stores a[i]*b[i] in dst[i]. The lengths must be equal; dst may be a or b
// itself.
func Mul(dst, a, b []float32) { mapBinary(multiply, dst, a, b) }

func multiply(dst, a, b []float32) {
	n := len(dst) / Width
	if n > 0 {
		curves.multiply(&dst[0], &a[0], &b[0], n)
	}
	for i := n * Width; i < len(dst); i++ {
		dst[i] = a[i] * b[i]
	}
}

// Curves stores the activation c of x[i] in y[i] and its derivative there in
// slope[i]. GELU is within 2e-7 of the larger of 1 and |x|, its derivative within
// 3e-7 of that; the others differ by some roundings. The lengths must be equal; y may
// be x itself.
func Curves(c Curve, y, slope, x []float32) {
	if len(y) != len(x) || len(slope) != len(x) {
		panic(msgLengths)
	}
	raceRead(x)
	raceWrite(y)
	raceWrite(slope)
	for len(x) > 0 {
		n := min(len(x), curveBlock)
		callCurve(c, y[:n], slope[:n], x[:n])
		y, slope, x = y[n:], slope[n:], x[n:]
	}
}

// GELU stores what [Curves] does of [CurveGELU] in y, without the slope. The lengths must
// be equal; y may be x itself.
func GELU(y, x []float32) {
	if len(y) != len(x) {
		panic(msgLengths)
	}
	raceRead(x)
	raceWrite(y)
	if curves.geluValue != nil {
		for len(x) >= Width {
			n := min(len(x), geluCall) &^ (Width - 1)
			callGELU(&y[0], &x[0], n/Width)
			y, x = y[n:], x[n:]
		}
	}
	if len(x) > 0 {
		geluApart(y, x)
	}
}

// geluCall is the most floats of one call of assembly, about 20 us.
const geluCall = 1 << 15

// geluApart is GELU where no loop does without the slope.
func geluApart(y, x []float32) {
	var space [curveBlock]float32
	slope := noescape(&space)
	for len(x) > 0 {
		n := min(len(x), curveBlock)
		callCurve(CurveGELU, y[:n], slope[:n], x[:n])
		y, x = y[n:], x[n:]
	}
}

//go:noinline
func callGELU(y, x *float32, n int) { curves.geluValue(y, x, n) }

//go:noinline
func callCurve(c Curve, y, slope, x []float32) {
	if n := len(x) &^ (Width - 1); c == CurveGELU && curves.geluWhole != nil && n > 0 {
		curves.geluWhole(&y[0], &slope[0], &x[0], n/Width)
		y, slope, x = y[n:], slope[n:], x[n:]
	}
	switch c {
	case CurveSigmoid, CurveSiLU:
		acts.sigmoid(slope, x)
	case CurveTanh:
		acts.tanh(slope, x)
	case CurveGELU:
		curveArgument(curves.normalArgument, curveGeneric.normalArgument, slope, x)
		acts.exp(slope, slope)
	case CurveGELUTanh:
		curveArgument(curves.geluArgument, curveGeneric.geluArgument, slope, x)
		acts.sigmoid(slope, slope)
	case CurveHardSwish, CurveHardSigmoid:
	}
	if n := len(x) / Width; n > 0 {
		curves.of(c)(&y[0], &slope[0], &x[0], n)
		y, slope, x = y[n*Width:], slope[n*Width:], x[n*Width:]
	}
	if len(x) > 0 {
		var space [2][Width]float32
		ends := noescape(&space)
		copy(ends[0][:], x)
		copy(ends[1][:], slope)
		curveGeneric.of(c)(&ends[0][0], &ends[1][0], &ends[0][0], 1)
		copy(y, ends[0][:])
		copy(slope, ends[1][:])
	}
}

// curveArgument applies f to whole blocks and the plain loop to the rest.
func curveArgument(f, plain func(dst, src *float32, n int), dst, src []float32) {
	if n := len(src) / Width; n > 0 {
		f(&dst[0], &src[0], n)
		dst, src = dst[n*Width:], src[n*Width:]
	}
	if len(src) > 0 {
		var space [Width]float32
		x := noescape(&space)
		copy(x[:], src)
		plain(&x[0], &x[0], 1)
		copy(dst, x[:])
	}
}

// of returns the last loop of an activation.
func (t *curveTable) of(c Curve) func(y, slope, x *float32, n int) {
	switch c {
	case CurveSigmoid:
		return t.sigmoidSlope
	case CurveTanh:
		return t.tanhSlope
	case CurveSiLU:
		return t.silu
	case CurveGELU:
		return t.gelu
	case CurveGELUTanh:
		return t.geluTanh
	case CurveHardSwish:
		return t.hardSwish
	case CurveHardSigmoid:
		return t.hardSigmoid
	}
	panic("kernels: unknown Curve")
}
