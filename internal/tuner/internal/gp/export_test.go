package gp

import "math"

// FineFit returns the highest log marginal likelihood that long searches from many
// random starts find.
func FineFit(x [][]float64, y []float64, starts int, draw func() float64) float64 {
	l, top := newLikelihood(x, y), math.Inf(-1)
	for range starts {
		at := make([]float64, len(x[0])+1)
		for f := range at {
			lo, hi := math.Log(minLength), math.Log(maxLength)
			if f == len(at)-1 {
				lo, hi = math.Log(minNoise), math.Log(maxNoise)
			}
			at[f] = lo + draw()*(hi-lo)
		}
		top = max(top, search(at, l, 1000).value)
	}
	return top
}

// LogLikelihood is the value of a likelihood, and its gradient.
func LogLikelihood(h Hyper, x [][]float64, y []float64) (value float64, gradient []float64) {
	return newLikelihood(x, y).at(h)
}
