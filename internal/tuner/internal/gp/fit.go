package gp

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/optimize"

	"github.com/fedfast/fedfast/internal/list"
	"github.com/fedfast/fedfast/kernels/det"
	"github.com/fedfast/fedfast/tuners"
)

// The box of the hyperparameters. Features are expected in [0, 1] and outcomes are
// standardised, so that length scales beyond these ends say no more than the ends
// do. The least noise keeps every covariance well conditioned.
const (
	minLength, maxLength = 0.02, 20
	minNoise, maxNoise   = 1e-6, 1
)

// grain is what the logarithms of fitted hyperparameters are rounded to: 1/256
// changes a length scale by 0.4 %.
const grain = 1.0 / 256

// Where hyperparameters are sought: from fixed starts, a length scale for all
// features and a noise, and from the likeliest of random ones inside of the given
// ends, which are the same in every fit.
var starts = [...]struct{ length, noise float64 }{{0.5, 1e-2}, {0.2, 1e-4}, {1.5, 1e-1}, {0.1, 1e-5}, {5, 1e-3}}

const (
	randomStarts           = 48
	likeliest              = 6 // of the random ones are followed
	shortStart, longStart  = 0.05, 10
	quietStart, noisyStart = 1e-6, 0.5
)

// screened is how many observations starts are compared on, evenly spread where
// there are more; the likeliest ends of their searches are followed with all.
const (
	screened = 100
	finals   = 2
)

// Fit returns the hyperparameters of highest marginal likelihood inside of the box
// that the search finds (quasi-Newton, at most the given number of iterations from
// each start), their logarithms rounded to multiples of 1/256. Ties keep the
// earlier start.
func Fit(x [][]float64, y []float64, iterations int) Hyper {
	features := 0
	if len(x) > 0 {
		features = len(x[0])
	}
	whole := newLikelihood(x, y)
	part := whole
	if len(x) > screened {
		px, py := make([][]float64, screened), make([]float64, screened)
		for i := range screened {
			at := i * len(x) / screened
			px[i], py[i] = x[at], y[at]
		}
		part = newLikelihood(px, py)
	}
	ends := list.Of(begin(part, features), func(at []float64) end { return search(at, part, iterations) })
	if part != whole {
		ends = best(ends, finals)
		few := min(iterations, max(500_000/(len(x)*len(x)), 10)) // each takes time that grows with the cube of the observations
		for i, e := range ends {
			ends[i] = search(e.at, whole, few)
		}
	}
	for i, e := range ends {
		h := rounded(e.at)
		ends[i].value, _ = whole.at(h)
	}
	return rounded(best(ends, 1)[0].at)
}

// end is where a search came to, or a start.
type end struct {
	at    []float64 // logarithms
	value float64   // log likelihood there
}

// best returns the n likeliest, ties in their order.
func best(ends []end, n int) []end {
	slices.SortStableFunc(ends, func(a, b end) int {
		switch {
		case a.value > b.value:
			return -1
		case a.value < b.value:
			return 1
		}
		return 0
	})
	return ends[:min(n, len(ends))]
}

// begin returns where searches start, for a number of features.
func begin(l *likelihood, features int) [][]float64 {
	var all [][]float64
	for _, s := range starts {
		at := make([]float64, features+1)
		for i := range features {
			at[i] = det.Log(s.length)
		}
		at[features] = det.Log(s.noise)
		all = append(all, at)
	}
	draws := tuners.NewDraws(0, tuners.StudySession, 0, "gp starts")
	between := func(lo, hi float64) float64 {
		lo, hi = det.Log(lo), det.Log(hi)
		return lo + float64(draws.Float64()*(hi-lo))
	}
	random := make([]end, randomStarts)
	for i := range random {
		at := make([]float64, features+1)
		for f := range features {
			at[f] = between(shortStart, longStart)
		}
		at[features] = between(quietStart, noisyStart)
		random[i].at = at
		random[i].value, _ = l.at(hyper(at))
	}
	all = append(all, list.Of(best(random, likeliest), func(e end) []float64 { return e.at })...)
	return all
}

// search follows the gradient from a start and returns where it ends; the
// logarithms may leave the box, at a price that grows with the square of the
// distance.
func search(start []float64, l *likelihood, iterations int) end {
	var at, gradient []float64
	var value float64
	evaluate := func(t []float64) {
		if at != nil && slices.Equal(at, t) {
			return
		}
		at = append(at[:0], t...)
		inside := clip(t)
		value, gradient = l.at(hyper(inside))
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
	// An error ends the search where a line search finds nothing lower; the best
	// point so far is as good as it gets.
	r, _ := optimize.Minimize(problem, start, settings, &optimize.LBFGS{})
	if r == nil || len(r.X) != len(start) || math.IsNaN(r.F) {
		return end{start, math.Inf(-1)}
	}
	return end{clip(r.X), -r.F}
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
	r := list.Of(t, func(v float64) float64 { return float64(math.Round(v/grain) * grain) })
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
