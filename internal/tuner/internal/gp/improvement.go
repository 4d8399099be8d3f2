package gp

import (
	"github.com/fedfast/fedfast/kernels/det"
)

const (
	invSqrt2Pi = 0.39894228040143267794
	// tail is where the normal distribution's tail changes from a series to a
	// continued fraction.
	tail = 3
	// depth of the continued fraction; at the tail's begin the rest is below 1e-16
	// of the value.
	depth = 120
)

// NormalPDF returns the density of the standard normal distribution.
func NormalPDF(z float64) float64 {
	return float64(invSqrt2Pi * det.Exp(-float64(z*z)/2))
}

// NormalCDF returns the standard normal distribution function, within 1e-12 of it
// relative to its value down to z = -37, below which it is no normal number. For
// |z| < 3 it is 1/2 + pdf(z) (z + z^3/3 + z^5/(3 5) + ...); beyond, the tail is the
// density times the continued fraction of Mills' ratio.
func NormalCDF(z float64) float64 {
	switch {
	case z != z:
		return z
	case z <= -tail:
		return float64(NormalPDF(z) * mills(-z))
	case z >= tail:
		return 1 - float64(NormalPDF(z)*mills(z))
	}
	sum, term := z, z
	for n := 3.0; ; n += 2 {
		term = float64(term*float64(z*z)) / n
		if sum+term == sum {
			return 0.5 + float64(NormalPDF(z)*sum)
		}
		sum += term
	}
}

// mills returns Mills' ratio (1 - cdf(z)) / pdf(z) = 1/(z + 1/(z + 2/(z + 3/(z +
// ...)))) for z >= 3.
func mills(z float64) float64 {
	f := z
	for n := depth; n >= 1; n-- {
		f = z + float64(n)/f
	}
	return 1 / f
}

// ExpectedImprovement returns E[max(best - f, 0)] for an outcome f that is normal
// with this mean and standard deviation: how far below best it can be expected to
// come. With z = (best - mean) / deviation it is deviation (z cdf(z) + pdf(z)).
// Outcomes are minimized.
func ExpectedImprovement(mean, deviation, best float64) float64 {
	if deviation <= 0 {
		return max(best-mean, 0)
	}
	z := (best - mean) / deviation
	if z <= -tail { // the two terms nearly cancel: pdf(z) (1 - |z| mills(|z|))
		return float64(deviation * float64(NormalPDF(z)*(1+float64(z*mills(-z)))))
	}
	return float64(deviation * (float64(z*NormalCDF(z)) + NormalPDF(z)))
}
