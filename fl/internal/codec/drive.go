package codec

import (
	"math"
	"math/bits"

	"github.com/fedfast/fedfast/kernels"
)

// Drive sends one bit of each value of a randomly rotated block with a scale, R^-1 (scale
// sign(R x)) with the randomized Hadamard transform R (Vargaftik et al. 2021, arXiv
// 2105.08339). The scale that is nearest is |R x|_1/n. The other one, |x|^2/|R x|_1, has the
// product of what is sent and x be |x|^2, and the mean over uniform rotations x.
func Drive(x []float32, nearest bool, draws *kernels.Stream) {
	each(x, func(x []float32) {
		var rotated [Block]float32
		var flips [Block / 32]uint32
		n := Padded(len(x))
		y := rotated[:n]
		for i := range flips[:(n+31)/32] {
			flips[i] = draws.Uint32()
		}
		flip := func() {
			for i := range y {
				if flips[i/32]>>(i%32)&1 != 0 {
					y[i] = -y[i]
				}
			}
		}
		copy(y, x)
		flip()
		hadamard(y)
		var squares, sum float64
		for _, v := range y {
			squares += float64(float64(v) * float64(v))
			sum += math.Abs(float64(v))
		}
		if sum == 0 {
			return
		}
		scale := float32(squares / sum)
		if nearest {
			scale = float32(sum / float64(n))
		}
		for i, v := range y {
			y[i] = scale
			if v < 0 {
				y[i] = -scale
			}
		}
		hadamard(y)
		flip()
		copy(x, y)
	})
}

// Padded returns the length of the block that n values, 1 to Block, are rotated in: the next
// power of 2.
func Padded(n int) int { return 1 << bits.Len(uint(n-1)) }

// hadamard applies the normalized Walsh-Hadamard transform, which is its own inverse, to a
// power of 2 of values.
func hadamard(x []float32) {
	for h := 1; h < len(x); h *= 2 {
		for lo := 0; lo < len(x); lo += 2 * h {
			a, b := x[lo:lo+h], x[lo+h:lo+2*h]
			for i, v := range a {
				a[i], b[i] = v+b[i], v-b[i]
			}
		}
	}
	kernels.Scale(x, float32(1/math.Sqrt(float64(len(x)))))
}
