package draw

import "math"

// ln2 in two parts: the product of the upper one and an exponent is exact.
const (
	ln2Hi = 6.93147180369123816490e-01
	ln2Lo = 1.90821492927058770002e-10
)

// Log returns the natural logarithm of x > 0, within 2 ulp: with x = 2^k m and
// m in [sqrt(1/2), sqrt(2)), log m = 2 atanh((m-1)/(m+1)) by its series.
func Log(x float64) float64 {
	m, k := math.Frexp(x)
	if m < math.Sqrt2/2 {
		m *= 2
		k--
	}
	t := (m - 1) / (m + 1)
	q := float64(t * t)
	series := 0.0
	for n := 21; n >= 3; n -= 2 { // |t| < 0.172: the next term is below 2^-61 of the sum
		series = float64(series*q) + 1/float64(n)
	}
	series = float64(float64(2*t) * float64(q*series))
	e := float64(k)
	return float64(e*ln2Hi) + (float64(2*t) + (series + float64(e*ln2Lo)))
}

// Exp returns e^x within 2 ulp; 0 below -745 and +Inf above 709.8. With
// x = k log 2 + r and |r| <= log(2)/2, e^r comes of its Taylor series.
func Exp(x float64) float64 {
	switch {
	case x < -745.2:
		return 0
	case x > 709.8:
		return math.Inf(1)
	}
	k := math.Floor(float64(x*math.Log2E) + 0.5)
	r := (x - float64(k*ln2Hi)) - float64(k*ln2Lo)
	y := 1.0
	for n := 14; n >= 1; n-- {
		y = 1 + float64(float64(y*r)/float64(n))
	}
	return math.Ldexp(y, int(k))
}
