package codec

import "math"

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
