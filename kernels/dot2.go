package kernels

import "math"

// A pair is two numbers of bf16, the upper halves of float32, in the bits of a
// float32: the first in the low half, the second in the high one.

// Dot2 returns acc + x1*y1 + x0*y0 for the pairs x and y, bit for bit what the
// instruction VDPBF16PS makes of them (measured on Zen 5, at all its edges): first
// the numbers in the high halves, then those in the low ones, each by one fused
// multiply-add, which rounds to nearest even whatever the modes of the processor.
// Numbers below the normal ones count as zeros of their sign in acc, x and y, and
// become such zeros after each of the two steps; a result is below them if it is
// after rounding to 24 bits without bounds for the exponent. Of several NaNs that of
// x comes first, then y's, then the sum's, made quiet; levels without the instruction
// may leave any of them.
func Dot2(acc, x, y float32) float32 {
	a, b := math.Float32bits(x), math.Float32bits(y)
	acc = addProduct(flush(acc), half(a&0xffff0000), half(b&0xffff0000))
	return addProduct(acc, half(a<<16), half(b<<16))
}

// half returns the number with the given bits, of bf16.
func half(bits uint32) float32 { return flush(math.Float32frombits(bits)) }

// leastNormal is the least positive normal float32, and leastRounded half a unit in
// the last of 24 bits less.
const (
	leastNormal  = 0x1p-126
	leastRounded = 0x1p-126 - 0x1p-151
)

func flush(x float32) float32 {
	if x > -leastNormal && x < leastNormal {
		return math.Float32frombits(math.Float32bits(x) & 0x80000000)
	}
	return x
}

// addProduct is one step of Dot2.
func addProduct(acc, x, y float32) float32 {
	s := sumOdd(float64(x)*float64(y), float64(acc))
	if s != s {
		return firstNaN(x, y, acc)
	}
	if s > -leastRounded && s < leastRounded {
		return float32(math.Copysign(0, s))
	}
	return float32(s)
}

// firstNaN returns the first NaN, made quiet, or what the processor makes of an
// operation without a result.
func firstNaN(numbers ...float32) float32 {
	for _, n := range numbers {
		if n != n {
			return math.Float32frombits(math.Float32bits(n) | 0x00400000)
		}
	}
	return math.Float32frombits(0xffc00000)
}

// mulAdd returns x*y + z rounded once, as the fused multiply-add of a processor.
func mulAdd(x, y, z float32) float32 {
	p := float64(x) * float64(y) // exact
	s := p + float64(z)
	// Rounding s once more errs only if it lies halfway between two float32, whose
	// last bits are elsewhere below the normal ones. A sum of 0 is exact.
	if math.Float64bits(s)&(1<<29-1) == 1<<28 || s > -leastNormal && s < leastNormal && s != 0 {
		s = sumOdd(p, float64(z))
	}
	return float32(s)
}

// mulAddRow adds x times a row to acc, as mulAdd does.
func mulAddRow(acc *[Width]float32, x float32, row *[Width]float32) {
	for j, y := range row {
		acc[j] = mulAdd(x, y, acc[j])
	}
}

// sumOdd returns p + c rounded to odd: the last bit is set if anything was lost. So
// rounding it further, to float32, is the only rounding.
func sumOdd(p, c float64) float64 {
	s := p + c
	t := s - p
	lost := float64(p-(s-t)) + (c - t) // Knuth's two-sum: s + lost = p + c
	bits := math.Float64bits(s)
	if lost != 0 && lost == lost && bits&1 == 0 {
		if (lost > 0) == (s > 0) {
			bits++
		} else {
			bits--
		}
	}
	return math.Float64frombits(bits)
}

// roundBits returns x rounded to bf16, to nearest even, as VCVTNE2PS2BF16 does:
// numbers below the normal ones become zero, NaNs quiet.
func roundBits(x float32) uint32 {
	bits := math.Float32bits(flush(x))
	if x != x {
		return bits>>16 | 0x40
	}
	return (bits + 0x7fff + bits>>16&1) >> 16
}

// pairOf returns the pair of two numbers.
func pairOf(low, high float32) float32 {
	return math.Float32frombits(roundBits(low) | roundBits(high)<<16)
}
