package codec

import "math"

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
