// Package codec holds what makes a vector smaller: quantizers, which replace its values by
// the nearest ones that few bits name, in place, and sparsifiers, which choose some of its
// values. What they do depends on the values and on keyed draws, in the order of the values.
package codec

import (
	"math"

	"github.com/fedfast/fedfast/kernels"
)

// Block is how many values share the scale of a quantizer.
const Block = 2048

// Blocks returns how many blocks n values have.
func Blocks(n int) int { return (n + Block - 1) / Block }

// Levels returns how many steps a magnitude has in a number of bits, of which one is the
// sign.
func Levels(bits int) int { return 1<<(bits-1) - 1 }

// each calls f with block after block.
func each(x []float32, f func(block []float32)) {
	for len(x) > 0 {
		n := min(Block, len(x))
		f(x[:n])
		x = x[n:]
	}
}

// QSGD rounds each value to a multiple of a step of its block's norm, up or down by a draw so
// that the mean over draws is the value (Alistarh et al. 2017, arXiv 1610.02132):
// norm sign(x) (floor(r) + Bernoulli(r - floor(r)))/s with r = s|x|/norm and s = Levels(bits).
func QSGD(x []float32, bits int, draws *kernels.Stream) {
	s := float64(Levels(bits))
	each(x, func(x []float32) {
		norm := float64(float32(kernels.Norm(x))) // as it is sent
		for i, v := range x {
			u := float64(draws.Float32())
			if norm == 0 {
				continue
			}
			r := math.Abs(float64(v)) / norm * s
			level := math.Floor(r)
			if u < r-level {
				level++
			}
			x[i] = float32(math.Copysign(min(level, s)/s*norm, float64(v)))
		}
	})
}

// RandomK appends k of the n places, ascending, to index, each set with the same probability.
func RandomK(index []int32, n, k int, draws *kernels.Stream) []int32 {
	for i := 0; k > 0; i++ {
		if draws.Float64()*float64(n-i) < float64(k) {
			index = append(index, int32(i))
			k--
		}
	}
	return index
}

// Sign replaces each value by its sign times the mean magnitude of its block (Karimireddy et
// al. 2019, arXiv 1901.09847); the sign of 0 is +.
func Sign(x []float32) {
	each(x, func(x []float32) {
		var sum float64
		for _, v := range x {
			sum += math.Abs(float64(v))
		}
		scale := float32(sum / float64(len(x)))
		for i, v := range x {
			if v < 0 {
				x[i] = -scale
			} else {
				x[i] = scale
			}
		}
	})
}

// Counts is the memory of TopK.
type Counts [1 << 16]int32

// TopK appends the places, ascending, of the k values of the largest magnitudes to index;
// among equal ones the lower places. It takes two passes to find the least magnitude that
// is in, whose bits it counts in two halves, and one to list.
func TopK(index []int32, x []float32, k int, counts *Counts) []int32 {
	const low = 15 // bits of the second half
	high, left := rank(counts, k, x, func(m uint32) (int, bool) { return int(m >> low), true })
	last, ties := rank(counts, left, x, func(m uint32) (int, bool) { return int(m & (1<<low - 1)), int(m>>low) == high })
	least := uint32(high<<low | last)
	for i, v := range x {
		switch m := magnitude(v); {
		case m > least:
		case m == least && ties > 0:
			ties--
		default:
			continue
		}
		index = append(index, int32(i))
	}
	return index
}

// rank counts the values by a part of their magnitude and returns the part of the k-th
// largest, with how many of that part are among the k.
func rank(counts *Counts, k int, x []float32, part func(m uint32) (int, bool)) (at, left int) {
	clear(counts[:])
	for _, v := range x {
		if p, in := part(magnitude(v)); in {
			counts[p]++
		}
	}
	for at = len(counts) - 1; at > 0 && int(counts[at]) < k; at-- {
		k -= int(counts[at])
	}
	return at, k
}

// magnitude returns bits that are ordered as |v|.
func magnitude(v float32) uint32 { return math.Float32bits(v) &^ (1 << 31) }

// Uniform rounds each value to the nearest of Levels(bits) multiples, to either side of 0, of
// a step by which the largest magnitude of its block is one of them; ties go to the even one.
func Uniform(x []float32, bits int) {
	s := float64(Levels(bits))
	each(x, func(x []float32) {
		most := 0.0
		for _, v := range x {
			most = max(most, math.Abs(float64(v)))
		}
		if most == 0 {
			return
		}
		for i, v := range x {
			x[i] = float32(math.RoundToEven(float64(v)/most*s) / s * most)
		}
	})
}
