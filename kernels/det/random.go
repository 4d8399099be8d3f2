package det

import (
	"math"
	"math/bits"
)

// Mix returns a key as random as 64 bits can be, another one for every x:
// SplitMix64's output after one step (Steele, Lea and Flood, OOPSLA 2014). A key of
// several parts is Mix(Mix(a) ^ b), Mix(that ^ c) and so on.
func Mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// Unit returns the number in [0, 1) that 64 random bits stand for, a multiple of
// 2**-53.
func Unit(random uint64) float64 { return float64(random>>11) * 0x1p-53 }

// Below returns the integer in [0, n) that 64 random bits stand for, or false for
// bits that would make some integers likelier than others: then other bits must be
// drawn (Lemire, ACM TOMACS 29, 2019). n must not be 0.
func Below(random, n uint64) (uint64, bool) {
	hi, lo := bits.Mul64(random, n)
	return hi, lo >= n || lo >= -n%n
}

// Polar returns two independent numbers of the standard normal distribution for two
// of [0, 1), or false where others must be drawn (Marsaglia's polar method).
func Polar(u, v float64) (x, y float64, ok bool) {
	x, y = float64(2*u)-1, float64(2*v)-1
	q := float64(x*x) + float64(y*y)
	if q >= 1 || q == 0 {
		return 0, 0, false
	}
	f := math.Sqrt(float64(-2*Log(q)) / q)
	return float64(x * f), float64(y * f), true
}
