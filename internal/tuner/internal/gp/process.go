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
	"errors"
	"math"
	"slices"

	"github.com/fedfast/fedfast/internal/list"
	"github.com/fedfast/fedfast/kernels/det"
)

// Process is a Gaussian process given observations. It is not changed after New.
type Process struct {
	hyper Hyper
	x     [][]float64
	mean  float64     // of the outcomes
	scale float64     // their standard deviation, 1 when they are all the same
	rows  [][]float64 // of the lower Cholesky factor of K + noise
	z     []float64   // the outcomes, standardised
	alpha []float64   // (K + noise)^-1 z
}

// New returns the process given outcomes y at points x, each with one number per
// length scale. It keeps x. The error is for hyperparameters under which the
// covariance of the points is not positive definite, and for outcomes that are not
// finite.
func New(h Hyper, x [][]float64, y []float64) (*Process, error) { return Prior(h).Given(x, y) }

// Prior returns the process without observations.
func Prior(h Hyper) *Process { return &Process{hyper: h, scale: 1} }

// Given returns the process of the same hyperparameters given other outcomes, as
// New does; the work for the points that both begin with is not done again.
func (p *Process) Given(x [][]float64, y []float64) (*Process, error) {
	q := &Process{hyper: p.hyper}
	q.z, q.mean, q.scale = standardise(y)
	same := 0
	for same < min(len(x), len(p.x)) && slices.Equal(x[same], p.x[same]) {
		same++
	}
	q.x, q.rows = slices.Clone(p.x[:same]), slices.Clone(p.rows[:same])
	for i := range x {
		if !det.Finite(q.z[i]) {
			return nil, errors.New("gp: outcomes must be finite")
		}
		if i < same {
			continue
		}
		row, ok := q.row(x[i])
		if !ok {
			return nil, errors.New("gp: covariance matrix is not positive definite: the noise is too small")
		}
		q.x, q.rows = append(q.x, x[i]), append(q.rows, row)
	}
	q.alpha = q.forward(q.z)
	for i := len(q.alpha) - 1; i >= 0; i-- { // L' alpha = L^-1 z
		q.alpha[i] /= q.rows[i][i]
		for j := range i {
			q.alpha[j] -= float64(q.rows[i][j] * q.alpha[i])
		}
	}
	return q, nil
}

// Mean returns the mean of the outcome at the i-th point, K alpha = y - noise
// alpha.
func (p *Process) Mean(i int) float64 {
	return p.mean + float64((p.z[i]-float64(p.hyper.Noise*p.alpha[i]))*p.scale)
}

// With returns the process given one more outcome, at x: the mean that is expected
// there. It tells what is known once a trial in flight has reported, so that means
// stay as they are and deviations near x fall.
func (p *Process) With(x []float64) (*Process, error) {
	row, ok := p.row(x)
	if !ok {
		return nil, errors.New("gp: covariance matrix is not positive definite: the noise is too small")
	}
	q := *p
	q.x = slices.Concat(p.x, [][]float64{x})
	q.rows = slices.Concat(p.rows, [][]float64{row})
	q.alpha = slices.Concat(p.alpha, []float64{0}) // its residual is 0
	q.z = slices.Concat(p.z, []float64{dot(p.covariances(x), p.alpha)})
	return &q, nil
}

// Predict returns mean and standard deviation of the outcome at x, without the
// noise.
func (p *Process) Predict(x []float64) (mean, deviation float64) {
	k := p.covariances(x)
	mean = p.mean + float64(dot(k, p.alpha)*p.scale)
	v := p.forward(k)
	return mean, float64(math.Sqrt(max(1-dot(v, v), 0)) * p.scale)
}

// Improvement returns the expected improvement on best at x, or 0 as soon as it is
// known not to be above least: the deviation given a part of the observations
// bounds the one given all.
func (p *Process) Improvement(x []float64, best, least float64) float64 {
	k := p.covariances(x)
	mean := p.mean + float64(dot(k, p.alpha)*p.scale)
	v, gain := make([]float64, 0, len(k)), 0.0
	for _, part := range [...]int{8, 4, 2, 1} {
		v = p.extend(v, k[:len(k)/part])
		gain = ExpectedImprovement(mean, float64(math.Sqrt(max(1-dot(v, v), 0))*p.scale), best)
		if gain <= least {
			return 0
		}
	}
	return gain
}

// covariances are the covariances of x and the points.
func (p *Process) covariances(x []float64) []float64 {
	return list.Made(len(p.x), func(i int) float64 { return Matern(p.hyper.Lengths, p.x[i], x) })
}

// row returns the Cholesky factor's row of one more point.
func (p *Process) row(x []float64) ([]float64, bool) {
	row := p.forward(p.covariances(x))
	rest := 1 + p.hyper.Noise - dot(row, row)
	return append(row, math.Sqrt(rest)), rest > 0
}

// forward solves L v = b for as many elements as b has.
func (p *Process) forward(b []float64) []float64 { return p.extend(make([]float64, 0, len(b)+1), b) }

// extend appends to the first elements of v, which solve L v = b, those that follow
// up to the length of b.
func (p *Process) extend(v, b []float64) []float64 {
	for i := len(v); i < len(b); i++ {
		row := p.rows[i]
		v = append(v, (b[i]-dot(row[:i], v))/row[i])
	}
	return v
}

// dot is the scalar product in four sums, which no compiler joins otherwise.
func dot(a, b []float64) float64 {
	b = b[:len(a)]
	var s0, s1, s2, s3 float64
	i := 0
	for ; i+4 <= len(a); i += 4 {
		s0 += float64(a[i] * b[i])
		s1 += float64(a[i+1] * b[i+1])
		s2 += float64(a[i+2] * b[i+2])
		s3 += float64(a[i+3] * b[i+3])
	}
	for ; i < len(a); i++ {
		s0 += float64(a[i] * b[i])
	}
	return (s0 + s1) + (s2 + s3)
}

// standardise returns (y - mean) / scale with the standard deviation as the scale,
// 1 when there is none.
func standardise(y []float64) (z []float64, mean, scale float64) {
	n := float64(len(y))
	for _, v := range y {
		mean += v / n
	}
	peak := 0.0 // squares of very large deviations would overflow
	for _, v := range y {
		peak = max(peak, math.Abs(v-mean))
	}
	if peak > 1e-12*math.Abs(mean) {
		for _, v := range y {
			d := (v - mean) / peak
			scale += float64(d*d) / n
		}
		scale = float64(math.Sqrt(scale) * peak)
	} else {
		scale = 1
	}
	z = list.Of(y, func(v float64) float64 { return (v - mean) / scale })
	return z, mean, scale
}

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

// Tame bounds outcomes, lower ones being better, so that trials that diverged do
// not hide the differences between the others: none stays farther from the best
// than five times the median does, and failed trials (NaN) count as the worst. It
// says whether there is a number.
func Tame(y []float64) bool {
	sorted := list.Where(y, func(v float64) bool { return v == v })
	if len(sorted) == 0 {
		return false
	}
	slices.Sort(sorted)
	best, median, worst := sorted[0], sorted[len(sorted)/2], sorted[len(sorted)-1]
	if median > best {
		worst = min(worst, best+float64(5*(median-best)))
	}
	for i, v := range y {
		if !(v < worst) { // NaN, too
			y[i] = worst
		}
	}
	return true
}

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
func NormalPDF(z float64) float64 { return float64(invSqrt2Pi * det.Exp(-float64(z*z)/2)) }

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
