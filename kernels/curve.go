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
)

// NumCurves is their number.
const NumCurves = len(activations)

// activations has how each Curve is computed. Nothing is fused, so that every level gives
// the same bits.
var activations = [...]activation{
	CurveSigmoid:     {sigmoidBefore, func(_, s float32) (y, slope float32) { return s, s - float32(s*s) }},
	CurveTanh:        {tanhBefore, func(_, s float32) (y, slope float32) { return s, 1 - float32(s*s) }},
	CurveSiLU:        {sigmoidBefore, func(x, s float32) (y, slope float32) { y = x * s; return y, s + float32(y*(1-s)) }},
	CurveGELU:        {geluBefore, gelu32},
	CurveGELUTanh:    {geluTanhBefore, geluTanh32},
	CurveHardSwish:   {nil, hardSwish32},
	CurveHardSigmoid: {nil, hardSigmoid32},
}

// activation is an activation of one value x. Before, unless nil, stores in slope what last
// gets as s; last returns the activation and its derivative.
type activation struct {
	before func(slope, x []float32)
	last   func(x, s float32) (y, slope float32)
}

// curveTable holds the loops of one level over n > 0 blocks of 16 floats, nil where it
// has none. Those of last do what activation.last does, of which slope holds the s.
type curveTable struct {
	multiply     func(dst, a, b *float32, n int)
	geluArgument func(dst, src *float32, n int)

	last [NumCurves]func(y, slope, x *float32, n int)

	// geluWhole does all of CurveGELU in one pass, geluValue leaves out the slope.
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
	done := 0
	if n := len(dst) / Width; n > 0 && curves.multiply != nil {
		curves.multiply(&dst[0], &a[0], &b[0], n)
		done = n * Width
	}
	for i := done; i < len(dst); i++ {
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
	f := &activations[c]
	if f.before != nil {
		f.before(slope, x)
	}
	if n := len(x) / Width; n > 0 && curves.last[c] != nil {
		curves.last[c](&y[0], &slope[0], &x[0], n)
		y, slope, x = y[n*Width:], slope[n*Width:], x[n*Width:]
	}
	for i, v := range x {
		y[i], slope[i] = f.last(v, slope[i])
	}
}

func sigmoidBefore(slope, x []float32) { acts.sigmoid(slope, x) }
func tanhBefore(slope, x []float32)    { acts.tanh(slope, x) }

// geluBefore makes e^(-x²/2).
func geluBefore(slope, x []float32) {
	for i, v := range x {
		slope[i] = float32(v*v) * -0.5
	}
	acts.exp(slope, slope)
}

// geluTanhBefore makes the sigmoid of geluArgument32.
func geluTanhBefore(slope, x []float32) {
	done := 0
	if n := len(x) / Width; n > 0 && curves.geluArgument != nil {
		curves.geluArgument(&slope[0], &x[0], n)
		done = n * Width
	}
	for i := done; i < len(x); i++ {
		slope[i] = geluArgument32(x[i])
	}
	acts.sigmoid(slope, slope)
}
