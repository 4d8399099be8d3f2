package codec

import (
	"math"

	"github.com/fedfast/fedfast/kernels"
)

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
