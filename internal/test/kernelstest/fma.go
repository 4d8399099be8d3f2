package kernelstest

import "math"

// FMA32 returns x*y + z rounded once, as a float32 fused multiply-add does. The
// product of two float32 values is exact in float64; the sum is rounded to odd
// there (its last bit is set if anything was lost), which makes the rounding to
// float32 the only one.
func FMA32(x, y, z float32) float32 {
	p := float64(x) * float64(y)
	c := float64(z)
	s := p + c
	t := s - p
	lost := (p - (s - t)) + (c - t) // Knuth's two-sum: s + lost = p + c
	bits := math.Float64bits(s)
	if lost != 0 && bits&1 == 0 { // false for NaN sums and for infinite ones, where lost is NaN
		if lost == lost {
			if (lost > 0) == (s > 0) {
				bits++
			} else {
				bits--
			}
		}
	}
	return float32(math.Float64frombits(bits))
}
