// Package gp is Gaussian process regression as Bayesian optimization needs it: the
// Matérn 5/2 kernel with one length scale per feature, noise, hyperparameters of
// highest marginal likelihood, the posterior, and the expected improvement under
// it.
//
// The posterior and the expected improvement are plain Go with every rounding
// written out: the same bits on every CPU. The search for the hyperparameters uses
// gonum, which does the same on every amd64 CPU (its assembly neither fuses nor
// depends on the CPU's level) but may round otherwise on another architecture. What
// it finds is rounded to a grid (see Fit), which hides most such differences; a
// search that stops elsewhere, where the likelihood is flat, is not hidden.
package gp

import (
	"math"

	"github.com/fedfast/fedfast/kernels/det"
)

const (
	sqrt5      = 2.2360679774997896964
	fiveThirds = 5.0 / 3
)

// Hyper are the hyperparameters of a process. The signal has variance 1, because
// outcomes are standardised.
type Hyper struct {
	Lengths []float64 `json:"lengths"` // length scale of each feature, above 0
	Noise   float64   `json:"noise"`   // variance of the noise, above 0
}

// Matern returns the Matérn 5/2 covariance of two points, (1 + sqrt5 r + 5/3 r^2)
// exp(-sqrt5 r) with r the distance after each feature is divided by its length
// scale (Rasmussen and Williams 2006, equation 4.17).
func Matern(lengths, a, b []float64) float64 {
	k, _ := matern(distance(lengths, a, b))
	return k
}

// matern returns the covariance at distance r, and slope = -(dk/dr)/r = 5/3 (1 +
// sqrt5 r) exp(-sqrt5 r), which is finite at 0.
func matern(r float64) (k, slope float64) {
	s := float64(sqrt5 * r)
	e := det.Exp(-s)
	return float64((1 + s + float64(float64(s*s)/3)) * e), float64(float64(fiveThirds*(1+s)) * e)
}

// distance is the scaled distance of two points.
func distance(lengths, a, b []float64) float64 {
	sum := 0.0
	for i, l := range lengths {
		d := (a[i] - b[i]) / l
		sum += float64(d * d)
	}
	return math.Sqrt(sum)
}
