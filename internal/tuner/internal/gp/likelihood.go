package gp

import (
	"math"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/lapack/lapack64"

	"github.com/fedfast/fedfast/kernels/det"
)

// likelihood computes the log marginal likelihoods of the same standardised outcomes,
// -1/2 (z' C^-1 z + log|C| + n log 2 pi) with C = K + noise (Rasmussen and Williams
// 2006, equation 2.30), and their gradients by the logarithms of the length scales
// and, last, of the noise (their equation 5.9), without new memory for each.
type likelihood struct {
	z       []float64 // outcomes, standardised
	squares []float64 // of the pairs' differences: i, j < i, feature
	c       blas64.Symmetric
	alpha   []float64
	slopes  []float64 // of the pairs
}

func newLikelihood(x [][]float64, y []float64) *likelihood {
	n := len(x)
	l := &likelihood{c: blas64.Symmetric{Uplo: blas.Lower, N: n, Stride: max(n, 1), Data: make([]float64, n*n)}}
	l.z, _, _ = standardise(y)
	l.alpha, l.slopes = make([]float64, n), make([]float64, n*(n-1)/2)
	for i := range n {
		for j := range i {
			for f := range x[i] {
				d := x[i][f] - x[j][f]
				l.squares = append(l.squares, float64(d*d))
			}
		}
	}
	return l
}

// at returns the value and the gradient under hyperparameters.
func (l *likelihood) at(h Hyper) (value float64, gradient []float64) {
	n, features := len(l.z), len(h.Lengths)
	gradient = make([]float64, features+1)
	if n == 0 {
		return 0, gradient
	}
	weights := make([]float64, features)
	for f, length := range h.Lengths {
		weights[f] = 1 / float64(length*length)
	}
	at, pair := 0, 0
	for i := range n {
		row := l.c.Data[i*n : i*n+n]
		row[i] = 1 + h.Noise
		for j := range i {
			sum := 0.0
			for f, w := range weights {
				sum += float64(l.squares[at+f] * w)
			}
			row[j], l.slopes[pair] = matern(math.Sqrt(sum))
			at += features
			pair++
		}
	}
	factor, ok := lapack64.Potrf(l.c)
	if !ok {
		return math.Inf(-1), gradient
	}
	copy(l.alpha, l.z)
	lapack64.Potrs(factor, blas64.General{Rows: n, Cols: 1, Stride: 1, Data: l.alpha})
	value = -float64(float64(n)*logTwoPi) / 2
	for i := range n {
		value -= float64(l.z[i]*l.alpha[i])/2 + det.Log(l.c.Data[i*n+i])
	}
	lapack64.Potri(factor) // l.c holds the inverse now; the noise bounds how badly it is conditioned
	// d value / d t = 1/2 sum (alpha alpha' - C^-1) dC/dt; dK_ij / d log l_f =
	// slope_ij ((x_if - x_jf) / l_f)^2.
	at, pair = 0, 0
	for i := range n {
		row := l.c.Data[i*n : i*n+n]
		gradient[features] += float64((float64(l.alpha[i]*l.alpha[i])-row[i])*h.Noise) / 2
		for j := range i { // and its mirror image: no 1/2
			w := float64((float64(l.alpha[i]*l.alpha[j]) - row[j]) * l.slopes[pair])
			for f := range features {
				gradient[f] += float64(w * l.squares[at+f])
			}
			at += features
			pair++
		}
	}
	for f, w := range weights {
		gradient[f] = float64(gradient[f] * w)
	}
	return value, gradient
}

const logTwoPi = 1.8378770664093454836
