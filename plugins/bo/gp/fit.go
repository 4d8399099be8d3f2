package gp

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/optimize"

	"github.com/fedfast/fedfast/tuners/det"
)

// The box of the hyperparameters. Features are expected in [0, 1] and outcomes are standardised, so that length scales beyond these ends say
// no more than the ends do. The least noise keeps every covariance well conditioned.
const (
	minLength, maxLength = 0.02, 20
	minNoise, maxNoise   = 1e-6, 1
)

// grain is what the logarithms of fitted hyperparameters are rounded to: 1/256 changes a length scale by 0.4 %.
const grain = 1.0 / 256

// starts are the points, a length scale for all features and a noise, from which hyperparameters are sought.
var starts = [...]struct{ length, noise float64 }{{0.5, 1e-2}, {0.2, 1e-4}, {1.5, 1e-1}}

// Fit returns the hyperparameters of highest marginal likelihood inside of the box that the search finds from three fixed starts (quasi-Newton,
// at most the given number of iterations from each), their logarithms rounded to multiples of 1/256. Ties keep the earlier start.
func Fit(x [][]float64, y []float64, iterations int) Hyper {
	features := 0
	if len(x) > 0 {
		features = len(x[0])
	}
	best, top := Hyper{}, math.Inf(-1)
	for _, s := range starts {
		at := make([]float64, features+1)
		for i := range features {
			at[i] = det.Log(s.length)
		}
		at[features] = det.Log(s.noise)
		h := rounded(search(at, x, y, iterations))
		if value, _ := LogLikelihood(h, x, y); value > top || best.Lengths == nil {
			best, top = h, value
		}
	}
	return best
}

// search follows the gradient from a start; the logarithms may leave the box, at a price that grows with the square of the distance.
func search(start []float64, x [][]float64, y []float64, iterations int) []float64 {
	var at, gradient []float64
	var value float64
	evaluate := func(t []float64) {
		if at != nil && slices.Equal(at, t) {
			return
		}
		at = append(at[:0], t...)
		inside := clip(t)
		value, gradient = LogLikelihood(hyper(inside), x, y)
		value = -value
		for i := range t {
			out := t[i] - inside[i]
			gradient[i] = -gradient[i]
			if out != 0 {
				gradient[i] = float64(penalty * out)
			}
			value += float64(float64(penalty*out)*out) / 2
		}
	}
	problem := optimize.Problem{
		Func: func(t []float64) float64 { evaluate(t); return value },
		Grad: func(g, t []float64) { evaluate(t); copy(g, gradient) },
	}
	settings := &optimize.Settings{
		MajorIterations: iterations, FuncEvaluations: 4 * iterations, GradientThreshold: 1e-3,
		Converger: &optimize.FunctionConverge{Absolute: 1e-4, Iterations: 5},
	}
	// An error ends the search where a line search finds nothing lower; the best point so far is as good as it gets.
	r, _ := optimize.Minimize(problem, start, settings, &optimize.LBFGS{})
	if r == nil || len(r.X) != len(start) || math.IsNaN(r.F) {
		return start
	}
	return clip(r.X)
}

// penalty is the price of a unit outside of the box.
const penalty = 10

// clip returns logarithms moved into the box.
func clip(t []float64) []float64 {
	out := make([]float64, len(t))
	for i, v := range t {
		lo, hi := float64(minLength), float64(maxLength)
		if i == len(t)-1 {
			lo, hi = minNoise, maxNoise
		}
		out[i] = min(max(v, det.Log(lo)), det.Log(hi))
	}
	return out
}

// rounded returns the hyperparameters of logarithms, rounded to the grain.
func rounded(t []float64) Hyper {
	r := make([]float64, len(t))
	for i, v := range t {
		r[i] = float64(math.Round(v/grain) * grain)
	}
	return hyper(r)
}

// hyper returns the hyperparameters of logarithms.
func hyper(t []float64) Hyper {
	h := Hyper{Lengths: make([]float64, len(t)-1)}
	for i := range h.Lengths {
		h.Lengths[i] = det.Exp(t[i])
	}
	h.Noise = det.Exp(t[len(t)-1])
	return h
}
