package det

import "math"

const (
	ln2Hi = 0x1.62e42fefa38p-1 // ln 2 with the last 11 bits zero: k*ln2Hi is exact for |k| < 2048
	ln2Lo = 0x1.ef35793c7673p-45

	log10Of2Hi = 0x1.34413509f78p-2 // log10 2 with the last 11 bits zero
	log10Of2Lo = 0x1.fef311f12b358p-46
	log10OfE   = 0x1.bcb7b1526e50ep-2
)

// Log returns the natural logarithm: -Inf at 0, NaN below.
func Log(x float64) float64 {
	if !(x > 0 && x <= math.MaxFloat64) {
		return logSpecial(x)
	}
	f, k := reduce(x)
	h, t := logParts(f)
	return float64(k*ln2Hi) + (f - (h - (t + float64(k*ln2Lo))))
}

// Log10 returns the decimal logarithm: -Inf at 0, NaN below.
func Log10(x float64) float64 {
	if !(x > 0 && x <= math.MaxFloat64) {
		return logSpecial(x)
	}
	f, k := reduce(x)
	h, t := logParts(f)
	ln := f - (h - t)
	return float64(k*log10Of2Hi) + (float64(ln*log10OfE) + float64(k*log10Of2Lo))
}

// LogSumExp returns log(sum exp(z_i)), computed from the largest z; -Inf for none.
func LogSumExp(z []float64) float64 {
	top := math.Inf(-1)
	for _, x := range z {
		top = max(top, x)
	}
	if math.IsInf(top, 0) {
		return top
	}
	sum := 0.0
	for _, x := range z {
		sum += Exp(x - top)
	}
	return top + Log(sum)
}

// logSpecial answers the arguments that have no finite logarithm.
func logSpecial(x float64) float64 {
	switch {
	case x < 0:
		return math.NaN()
	case x == 0:
		return math.Inf(-1)
	}
	return x // NaN and +Inf
}

// reduce writes a positive, finite x as 2**k (1 + f) with 1 + f in [sqrt(1/2),
// sqrt(2)).
func reduce(x float64) (f, k float64) {
	const sqrtHalf = 0x3fe6a09e667f3bcd // bits of sqrt(1/2)
	var scaled int64
	if x < 0x1p-1022 { // subnormal
		x, scaled = float64(x*0x1p54), 54
	}
	b := math.Float64bits(x)
	e := (int64(b) - sqrtHalf) >> 52
	return math.Float64frombits(b-uint64(e<<52)) - 1, float64(e - scaled)
}

// logParts returns h and t with log(1 + f) = f - (h - t). With s = f/(2+f),
// log(1+f) = 2 atanh(s) = 2s + s R(s^2) for R(z) = 2z/3 + 2z^2/5 + ..., and 2s = f
// - s f = f - f^2/2 + s f^2/2: so h = f^2/2 and t = s (h + R), where only small
// numbers are rounded. s^2 <= 0.0295, so 11 terms of R reach 2^-58. (The same way
// as in FreeBSD's e_log.c, with the series' own coefficients.)
func logParts(f float64) (h, t float64) {
	s := f / (2 + f)
	z := float64(s * s)
	w := float64(z * z)
	// Two halves of R, which the processor works on side by side.
	odd, even := 2./19+float64(w*(2./23)), 2./17+float64(w*(2./21))
	odd, even = 2./15+float64(w*odd), 2./13+float64(w*even)
	odd, even = 2./11+float64(w*odd), 2./9+float64(w*even)
	odd, even = 2./7+float64(w*odd), 2./5+float64(w*even)
	odd = 2./3 + float64(w*odd)
	r := float64(z*odd) + float64(w*even)
	h = float64(0.5 * float64(f*f))
	return h, float64(s * (h + r))
}
