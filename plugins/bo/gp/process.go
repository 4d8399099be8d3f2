package gp

import (
	"errors"
	"math"
	"slices"

	"github.com/fedfast/fedfast/tuners/det"
)

// Process is a Gaussian process given observations. It is not changed after New.
type Process struct {
	hyper Hyper
	x     [][]float64
	mean  float64     // of the outcomes
	scale float64     // their standard deviation, 1 when they are all the same
	rows  [][]float64 // of the lower Cholesky factor of K + noise
	alpha []float64   // (K + noise)^-1 y, y standardised
}

// New returns the process given outcomes y at points x, each with one number per length scale. It keeps x. The error is for hyperparameters
// under which the covariance of the points is not positive definite, and for outcomes that are not finite.
func New(h Hyper, x [][]float64, y []float64) (*Process, error) {
	p := &Process{hyper: h}
	var z []float64
	z, p.mean, p.scale = standardise(y)
	for i := range x {
		row, ok := p.row(x[i])
		if !ok {
			return nil, errors.New("gp: the points' covariance is not positive definite: the noise is too small")
		}
		p.x, p.rows = append(p.x, x[i]), append(p.rows, row)
		if math.IsNaN(z[i]) || math.IsInf(z[i], 0) {
			return nil, errors.New("gp: the outcomes must be finite")
		}
	}
	p.alpha = p.forward(z)
	for i := len(p.alpha) - 1; i >= 0; i-- { // L' alpha = L^-1 z
		p.alpha[i] /= p.rows[i][i]
		for j := range i {
			p.alpha[j] -= float64(p.rows[i][j] * p.alpha[i])
		}
	}
	return p, nil
}

// With returns the process given one more outcome, at x: the mean that is expected there. It tells what is known once a trial in flight
// has reported, so that means stay as they are and deviations near x fall.
func (p *Process) With(x []float64) (*Process, error) {
	row, ok := p.row(x)
	if !ok {
		return nil, errors.New("gp: the points' covariance is not positive definite: the noise is too small")
	}
	q := *p
	q.x = slices.Concat(p.x, [][]float64{x})
	q.rows = slices.Concat(p.rows, [][]float64{row})
	q.alpha = slices.Concat(p.alpha, []float64{0}) // its residual is 0
	return &q, nil
}

// Predict returns mean and standard deviation of the outcome at x, without the noise.
func (p *Process) Predict(x []float64) (mean, deviation float64) {
	k := p.covariances(x)
	for i, c := range k {
		mean += float64(c * p.alpha[i])
	}
	variance := 1.0
	for _, v := range p.forward(k) {
		variance -= float64(v * v)
	}
	return p.mean + float64(mean*p.scale), float64(det.Sqrt(max(variance, 0)) * p.scale)
}

// covariances are those of x and the points.
func (p *Process) covariances(x []float64) []float64 {
	k := make([]float64, len(p.x))
	for i := range k {
		k[i] = Matern(p.hyper.Lengths, p.x[i], x)
	}
	return k
}

// row returns the Cholesky factor's row of one more point.
func (p *Process) row(x []float64) ([]float64, bool) {
	row := p.forward(p.covariances(x))
	rest := 1 + p.hyper.Noise
	for _, v := range row {
		rest -= float64(v * v)
	}
	return append(row, det.Sqrt(rest)), rest > 0
}

// forward solves L v = b for as many elements as b has.
func (p *Process) forward(b []float64) []float64 {
	v := make([]float64, len(b), len(b)+1)
	for i := range v {
		row, sum := p.rows[i], b[i]
		for j, w := range v[:i] {
			sum -= float64(row[j] * w)
		}
		v[i] = sum / row[i]
	}
	return v
}

// standardise returns (y - mean) / scale with the standard deviation as the scale, 1 when there is none.
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
		scale = float64(det.Sqrt(scale) * peak)
	} else {
		scale = 1
	}
	z = make([]float64, len(y))
	for i, v := range y {
		z[i] = (v - mean) / scale
	}
	return z, mean, scale
}
