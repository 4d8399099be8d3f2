// Package det holds the elementary functions of everything that decides a result: float64, plain Go, every rounding written out, so
// that each CPU gives the same bits. (Package math's Exp and Log are assembly on some processors, and a compiler may fuse x*y + z.)
//
// Results are within 2 units in the last place of the exact ones; Pow10 beyond 10**22 and below 10**-22 within 3.
package det

import (
	"math"
	"strconv"
)

const (
	ln2Hi = 0x1.62e42fefa38p-1 // ln 2 with the last 11 bits zero: k*ln2Hi is exact for |k| < 2048
	ln2Lo = 0x1.ef35793c7673p-45

	ln10Hi = 0x1.26bb1bbb55516p+1 // ln 10 rounded
	ln10Lo = -0x1.f48ad494ea3e9p-53

	log10Of2Hi = 0x1.34413509f78p-2 // log10 2 with the last 11 bits zero
	log10Of2Lo = 0x1.fef311f12b358p-46
	log10OfE   = 0x1.bcb7b1526e50ep-2
)

// Sqrt returns the correctly rounded square root, which IEEE 754 fixes for every CPU.
func Sqrt(x float64) float64 { return math.Sqrt(x) }

// Exp returns e**x: +Inf on overflow, 0 below the smallest number.
func Exp(x float64) float64 {
	switch {
	case math.IsNaN(x):
		return x
	case x > 709.79:
		return math.Inf(1)
	case x < -745.14:
		return 0
	}
	return expSum(x, 0)
}

// expSum returns e**(x + e) for a finite result and an e far below x's last place.
func expSum(x, e float64) float64 {
	// x = k ln 2 + hi - lo with |hi - lo| <= ln(2)/2.
	k := math.Floor(float64(x*math.Log2E) + 0.5)
	hi := x - float64(k*ln2Hi)
	lo := float64(k * ln2Lo)
	r := hi - lo
	// e**r - 1 - r = r^2/2! + r^3/3! + ... ; the 14th term is below 2^-56 of the result.
	p := 0.0
	for i := len(inverseFactorials) - 1; i >= 0; i-- {
		p = float64(p*r) + inverseFactorials[i]
	}
	p = float64(float64(r*r) * p)
	err := ((hi - r) - lo) + e // what rounding took from r, and the rest of the argument
	y := 1 + (r + (p + err))
	return math.Ldexp(y, int(k))
}

// inverseFactorials are 1/2!, 1/3!, ..., 1/14!.
var inverseFactorials = [...]float64{
	1.0 / 2, 1.0 / 6, 1.0 / 24, 1.0 / 120, 1.0 / 720, 1.0 / 5040, 1.0 / 40320, 1.0 / 362880, 1.0 / 3628800,
	1.0 / 39916800, 1.0 / 479001600, 1.0 / 6227020800, 1.0 / 87178291200,
}

// Log returns the natural logarithm: -Inf at 0, NaN below.
func Log(x float64) float64 {
	if special, y := logSpecial(x); special {
		return y
	}
	f, k := reduce(x)
	s, t := logParts(f)
	return float64(k*ln2Hi) + (f - (float64(s*t) - float64(k*ln2Lo)))
}

// Log10 returns the decimal logarithm: -Inf at 0, NaN below.
func Log10(x float64) float64 {
	if special, y := logSpecial(x); special {
		return y
	}
	f, k := reduce(x)
	s, t := logParts(f)
	ln := f - float64(s*t)
	return float64(k*log10Of2Hi) + (float64(ln*log10OfE) + float64(k*log10Of2Lo))
}

// Pow10 returns 10**x; whole x of at most 22 digits are exact.
func Pow10(x float64) float64 {
	switch {
	case math.IsNaN(x):
		return x
	case x > 308.26:
		return math.Inf(1)
	case x < -323.31:
		return 0
	}
	n := math.Floor(x + 0.5)
	f := x - n
	// f ln 10 = p + e to about 100 bits.
	p := float64(f * ln10Hi)
	e := math.FMA(f, ln10Hi, -p) + float64(f*ln10Lo)
	y := expSum(p, e)
	switch {
	case n >= 0 && n <= 22:
		return float64(y * tens[int(n)])
	case n < 0 && n >= -22:
		return y / tens[int(-n)]
	}
	// The decimal parser rounds correctly, so powers of ten are the same everywhere. Near the ends of the range the power is split.
	if math.Abs(n) < 300 {
		return float64(y * powerOfTen(int(n)))
	}
	half := math.Trunc(n / 2)
	return float64(float64(y*powerOfTen(int(half))) * powerOfTen(int(n-half)))
}

// PowInt returns x**n for n >= 0 by repeated squaring; x**0 is 1, also for x = 0.
func PowInt(x float64, n int) float64 {
	y := 1.0
	for ; n > 0; n >>= 1 {
		if n&1 == 1 {
			y = float64(y * x)
		}
		x = float64(x * x)
	}
	return y
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
func logSpecial(x float64) (bool, float64) {
	switch {
	case math.IsNaN(x) || math.IsInf(x, 1):
		return true, x
	case x < 0:
		return true, math.NaN()
	case x == 0:
		return true, math.Inf(-1)
	}
	return false, 0
}

// reduce writes x = 2**k (1 + f) with 1 + f in [sqrt(1/2), sqrt(2)).
func reduce(x float64) (f, k float64) {
	m, e := math.Frexp(x)
	if m < math.Sqrt2/2 {
		m, e = float64(m*2), e-1
	}
	return m - 1, float64(e)
}

// logParts returns s and t with log(1 + f) = f - s t: with s = f/(2+f), log(1+f) = 2 atanh(s) = 2s + s R(s^2) and 2s = f - s f,
// so t = f - R, R = sum over n >= 1 of 2 s^(2n) / (2n+1). s^2 <= 0.0295, so 11 terms reach 2^-58.
func logParts(f float64) (s, t float64) {
	s = f / (2 + f)
	w := float64(s * s)
	r := 0.0
	for n := 11; n >= 1; n-- {
		r = float64(w * (2/float64(2*n+1) + r))
	}
	return s, f - r
}

// tens are the powers of ten that float64 holds exactly.
var tens = [...]float64{
	1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22,
}

// powerOfTen returns 10**n correctly rounded, for |n| <= 308.
func powerOfTen(n int) float64 {
	x, _ := strconv.ParseFloat("1e"+strconv.Itoa(n), 64) // never out of range here
	return x
}
