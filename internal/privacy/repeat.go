package privacy

import (
	"math"

	"github.com/fedfast/fedfast/kernels/det"
)

// MostTrials bounds the mean number of trials.
const MostTrials = 1e12

// BestOf returns the epsilon at a delta, and the order that gives it, of trials that each
// follow the plans, where after each one tuning ends with the probability 1/mean (mean is 1
// or more), and only the best result is released, by private scores that the plans include:
// Theorem 2 of Papernot and Steinke 2022 (arXiv 2110.03620) for the geometric distribution.
// It grows with the logarithm of the mean.
func (ps Plans) BestOf(mean, delta float64) (epsilon, order float64) {
	each := make([]float64, len(orders))
	for _, p := range ps {
		p.add(each)
	}
	more := math.Inf(1)
	for i, r := range each {
		more = min(more, float64((1-1/orders[i])*r)+det.Log(mean)/orders[i])
	}
	all := make([]float64, len(orders))
	for i, r := range each {
		all[i] = r + 2*more + det.Log(mean)/(orders[i]-1)
	}
	return convert(all, delta)
}
