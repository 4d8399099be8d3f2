package report

import (
	"cmp"
	"math"
	"slices"
)

// leastArms is how many trials must have reached the first rung before their
// importances say anything.
const leastArms = 30

// importances are those of params for being among the best quarter of the trials at
// their first rung, where all have spent the same, by PED-ANOVA (Watanabe, Bansal and
// Hutter 2023): the Pearson divergence of the best ones' density along each param
// from that of all, their sum being 1. There are none of fewer than leastArms trials.
func (s *Study) importances() map[string]float64 {
	type arm struct {
		trial int
		score float64
	}
	var arms []arm
	for i := range s.Trials {
		if t := &s.Trials[i]; len(t.Rungs) > 0 && t.Source == nil && t.Rungs[0].Round == s.firstRung() {
			arms = append(arms, arm{i, t.Rungs[0].Score})
		}
	}
	if len(arms) < leastArms {
		return nil
	}
	slices.SortStableFunc(arms, func(a, b arm) int { return cmp.Compare(a.score, b.score) })
	all, sum := map[string]float64{}, 0.0
	for _, d := range s.dims() {
		var xs []float64
		for _, a := range arms {
			if x := d.place(s.Trials[a.trial].Params); !math.IsNaN(x) {
				xs = append(xs, x)
			}
		}
		if len(xs) < len(arms) {
			continue // not every trial has it
		}
		all[d.name] = divergence(xs[:(len(xs)+3)/4], xs, len(d.names))
		sum += all[d.name]
	}
	if sum > 0 {
		for name := range all {
			all[name] /= sum
		}
	}
	return all
}

// firstRung is the lowest round at which a trial had a rung.
func (s *Study) firstRung() int {
	first := math.MaxInt
	for _, t := range s.Trials {
		if len(t.Rungs) > 0 {
			first = min(first, t.Rungs[0].Round)
		}
	}
	return first
}

// divergence returns the Pearson divergence of the density of some of the points from
// that of all of them. If names is 0, points are in [0, 1]; otherwise they are the
// indices, from 0, of that number of names.
func divergence(some, all []float64, names int) float64 {
	p, q := densities(some, names), densities(all, names)
	sum := 0.0
	for i := range p {
		sum += q[i] * (p[i]/q[i] - 1) * (p[i]/q[i] - 1)
	}
	return sum
}

// grid is at how many places a density is taken.
const grid = 50

// densities are those of points on a grid, or of names with one more than counted,
// with the sum 1.
func densities(xs []float64, names int) []float64 {
	p := make([]float64, max(names, 0))
	if names > 0 {
		for i := range p {
			p[i] = 1 / float64(names) // a prior of one
		}
		for _, x := range xs {
			p[int(x)]++
		}
	} else {
		p = make([]float64, grid)
		width := bandwidth(xs)
		for i := range p {
			at := (float64(i) + 0.5) / grid
			p[i] = 1.0 / grid
			for _, x := range xs {
				z := (at - x) / width
				inside := 0.5 * (math.Erf((1-x)/(width*math.Sqrt2)) + math.Erf(x/(width*math.Sqrt2))) // of the kernel in [0, 1]
				p[i] += math.Exp(-z*z/2) / (math.Sqrt(2*math.Pi) * width * inside) / grid
			}
		}
	}
	sum := 0.0
	for _, x := range p {
		sum += x
	}
	for i := range p {
		p[i] /= sum
	}
	return p
}

// bandwidth is Scott's, at least a step of the grid.
func bandwidth(xs []float64) float64 {
	mean, square := 0.0, 0.0
	for _, x := range xs {
		mean += x / float64(len(xs))
	}
	for _, x := range xs {
		square += (x - mean) * (x - mean) / float64(max(1, len(xs)-1))
	}
	return max(1.059*math.Sqrt(square)*math.Pow(float64(len(xs)), -0.2), 1.0/grid)
}
