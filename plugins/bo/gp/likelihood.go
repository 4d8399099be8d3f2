package gp

import (
	"math"

	"gonum.org/v1/gonum/mat"

	"github.com/fedfast/fedfast/tuners/det"
)

// LogLikelihood returns the log marginal likelihood of the standardised outcomes, -1/2 (z' C^-1 z + log|C| + n log 2 pi) with
// C = K + noise (Rasmussen and Williams 2006, equation 2.30), and its gradient by the logarithms of the length scales and, last, of the
// noise (their equation 5.9).
func LogLikelihood(h Hyper, x [][]float64, y []float64) (value float64, gradient []float64) {
	z, _, _ := standardise(y)
	n := len(x)
	gradient = make([]float64, len(h.Lengths)+1)
	c, slopes := mat.NewSymDense(n, nil), mat.NewSymDense(n, nil)
	for i := range n {
		c.SetSym(i, i, 1+h.Noise)
		for j := range i {
			k, slope := matern(distance(h.Lengths, x[i], x[j]))
			c.SetSym(i, j, k)
			slopes.SetSym(i, j, slope)
		}
	}
	var factor mat.Cholesky
	if !factor.Factorize(c) {
		return math.Inf(-1), gradient
	}
	alpha := mat.NewVecDense(n, nil)
	inverse := mat.NewSymDense(n, nil)
	// Errors only say that the matrix is badly conditioned; the noise bounds how badly.
	_ = factor.SolveVecTo(alpha, mat.NewVecDense(n, z))
	_ = factor.InverseTo(inverse)
	var lower mat.TriDense
	factor.LTo(&lower)
	value = -float64(float64(n)*logTwoPi) / 2
	for i := range n {
		value -= float64(z[i]*alpha.AtVec(i))/2 + det.Log(lower.At(i, i))
	}
	// d value / d t = 1/2 sum (alpha alpha' - C^-1) dC/dt; dK_ij / d log l_f = slope_ij ((x_if - x_jf) / l_f)^2.
	last := len(gradient) - 1
	for i := range n {
		gradient[last] += float64((float64(alpha.AtVec(i)*alpha.AtVec(i))-inverse.At(i, i))*h.Noise) / 2
		for j := range i { // and its mirror image: no 1/2
			w := float64((float64(alpha.AtVec(i)*alpha.AtVec(j)) - inverse.At(i, j)) * slopes.At(i, j))
			for f, l := range h.Lengths {
				d := (x[i][f] - x[j][f]) / l
				gradient[f] += float64(w * float64(d*d))
			}
		}
	}
	return value, gradient
}

const logTwoPi = 1.8378770664093454836
