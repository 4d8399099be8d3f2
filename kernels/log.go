package kernels

import "math"

// log returns the natural logarithm of a normal x > 0 within 2 ulp, by the same operations on every machine (package math has
// assembly for some). With x = 2^e m and sqrt(1/2) <= m < sqrt(2), log m = 2 artanh s for s = (m-1)/(m+1), |s| < 0.1716.
// It returns NaN for NaN and +Inf for +Inf; x must not be 0, negative or subnormal.
func log(x float64) float64 {
	const (
		sqrtHalf = 0x3fe6a09e667f3bcd // bits of sqrt(1/2)
		one      = 0x3ff << 52
		hi       = 0x1.62e42fep-1 // ln 2 = hi + lo; hi has 28 bits, so that e*hi is exact
		lo       = 0x1.f473de6af278fp-30
	)
	if !(x <= math.MaxFloat64) {
		return x
	}
	b := math.Float64bits(x)
	e := (int64(b) - sqrtHalf) >> 52
	m := math.Float64frombits(b - uint64(e<<52))
	s := (m - 1) / (m + 1)
	z := float64(s * s)
	w := float64(z * z)
	// Two halves of z/3 + z²/5 + z³/7 + ..., which the processor works on side by side.
	odd, even := 1./15+float64(w*(1./19)), 1./17+float64(w*(1./21))
	odd, even = 1./11+float64(w*odd), 1./13+float64(w*even)
	odd, even = 1./7+float64(w*odd), 1./9+float64(w*even)
	odd, even = 1./3+float64(w*odd), 1./5+float64(w*even)
	p := float64(z*odd) + float64(w*even)
	// log m = 2s + 2s*p
	t := float64(2 * s)
	r := float64(float64(e)*lo) + float64(t*p)
	return float64(float64(e)*hi) + (t + r)
}
