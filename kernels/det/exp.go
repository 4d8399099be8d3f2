package det

import (
	"math"
	"strconv"
)

const (
	ln10Hi = 0x1.26bb1bbb55516p+1 // ln 10 rounded
	ln10Lo = -0x1.f48ad494ea3e9p-53
)

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
	// e**r - 1 - r = r^2/2! + r^3/3! + ... ; the 14th term is below 2^-56 of the
	// result.
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
	// The decimal parser rounds correctly, so powers of ten are the same
	// everywhere. Near the ends of the range the power is split.
	if math.Abs(n) < 300 {
		return float64(y * powerOfTen(int(n)))
	}
	half := math.Trunc(n / 2)
	return float64(float64(y*powerOfTen(int(half))) * powerOfTen(int(n-half)))
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
