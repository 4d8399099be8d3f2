// Package stats sums up numbers of several trials or seeds.
package stats

import (
	"maps"
	"math"
	"slices"

	"github.com/fedfast/fedfast/internal/list"
	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"
)

// Confidence is the confidence level of the intervals: 90 %, as in FedEx's Table 2.
const Confidence = 0.9

// Sample sums up numbers of several trials.
type Sample struct {
	N int `json:"n"`
	// Mean is NaN without any, SD with fewer than two.
	Mean float64 `json:"mean"`
	SD   float64 `json:"sd"`
	// Half is half the width of the 90 % confidence interval of the mean by
	// Student's t; NaN with fewer than two.
	Half float64 `json:"half"`
	// Clusters is how many groups of numbers, alike within a group, the interval
	// rests on; 0 where every number stands for itself.
	Clusters int `json:"clusters,omitempty"`
}

// Of sums up numbers that each stand for themselves.
func Of(xs []float64) Sample {
	s := Sample{N: len(xs), Mean: math.NaN(), SD: math.NaN(), Half: math.NaN()}
	switch {
	case s.N == 1:
		s.Mean = xs[0]
	case s.N > 1:
		s.Mean, s.SD = stat.MeanStdDev(xs, nil)
		s.Half = Student(float64(s.N-1)) * s.SD / math.Sqrt(float64(s.N))
	}
	return s
}

// Known is Of the numbers that are not NaN.
func Known(xs []float64) Sample { return Of(list.Where(xs, func(x float64) bool { return x == x })) }

// Paired sums up differences of pairs, and returns the two-sided p of Student's paired test that
// their mean is 0; NaN with fewer than two.
func Paired(differences []float64) (s Sample, p float64) {
	s = Of(differences)
	switch t := math.Abs(s.Mean) / (s.SD / math.Sqrt(float64(s.N))); {
	case s.N < 2:
		return s, math.NaN()
	case math.IsNaN(t): // all are 0
		return s, 1
	default:
		return s, 2 * distuv.StudentsT{Mu: 0, Sigma: 1, Nu: float64(s.N - 1)}.Survival(t)
	}
}

// Student is the quantile of Student's t with some degrees of freedom which half of the
// intervals' confidence lies below.
func Student(freedom float64) float64 {
	return distuv.StudentsT{Mu: 0, Sigma: 1, Nu: freedom}.Quantile((1 + Confidence) / 2)
}

// Clustered sums up numbers that come in groups and are alike within each. The
// interval is the interval of the cluster-robust variance of a mean, G/(G-1) sum over the G
// groups of (sum of deviations)^2 / n^2 (Liang and Zeger 1986, with the usual
// correction for few groups), with G-1 degrees of freedom: for groups of one size
// that of the groups' means.
func Clustered(groups map[int][]float64) Sample {
	var all []float64
	for _, g := range slices.Sorted(maps.Keys(groups)) {
		all = append(all, groups[g]...)
	}
	s := Of(all)
	s.Half, s.Clusters = math.NaN(), len(groups)
	if s.Clusters < 2 {
		return s
	}
	var squares float64
	for _, g := range slices.Sorted(maps.Keys(groups)) {
		var sum float64
		for _, x := range groups[g] {
			sum += x - s.Mean
		}
		squares += sum * sum
	}
	of := float64(s.Clusters)
	s.Half = Student(float64(s.Clusters-1)) * math.Sqrt(of/(of-1)*squares) / float64(s.N)
	return s
}

// SeedsForHalf is how many trials, as different as those of the sample, give an
// interval of half that width, by the normal approximation, and two at least; NaN
// where that cannot be said.
func (s Sample) SeedsForHalf(half float64) float64 {
	z := distuv.UnitNormal.Quantile((1 + Confidence) / 2)
	if math.IsNaN(s.SD) {
		return math.NaN()
	}
	return max(2, math.Ceil(z*z*s.SD*s.SD/(half*half)))
}

// power is the probability with which SeedsToTell wants an effect to be seen.
const power = 0.8

// SeedsToTell is how many trials, as different as those of the sample, would show
// a gain of that size beyond the intervals' chance with a probability of 80 %, by
// the normal approximation, and two at least; NaN where that cannot be said.
func (s Sample) SeedsToTell(gain float64) float64 {
	z := distuv.UnitNormal.Quantile((1+Confidence)/2) + distuv.UnitNormal.Quantile(power)
	n := math.Ceil(z * z * s.SD * s.SD / (gain * gain))
	if math.IsInf(n, 0) || s.SD == 0 {
		return math.NaN()
	}
	return max(n, 2)
}
