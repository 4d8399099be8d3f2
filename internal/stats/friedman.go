package stats

import (
	"math"

	"gonum.org/v1/gonum/stat/distuv"
)

// Friedman tests whether several methods have the same mean rank: ranks has a row for each block,
// in which each method has its rank, ties the mean of theirs. It returns chi-squared with the
// correction for ties, and its p with one degree of freedom less than there are methods; NaN
// where all ranks are alike.
func Friedman(ranks [][]float64) (chi2, p float64) {
	n, k := float64(len(ranks)), 0.0
	var sums []float64
	squares := 0.0
	for _, row := range ranks {
		if sums == nil {
			sums, k = make([]float64, len(row)), float64(len(row))
		}
		for j, r := range row {
			sums[j] += r
			squares += r * r
		}
	}
	between := 0.0
	for _, s := range sums {
		d := s - n*(k+1)/2
		between += d * d
	}
	within := squares - n*k*(k+1)*(k+1)/4
	if !(within > 0) {
		return math.NaN(), math.NaN()
	}
	chi2 = (k - 1) * between / within
	return chi2, distuv.ChiSquared{K: k - 1}.Survival(chi2)
}

// Nemenyi is the critical difference of the mean ranks of some methods over blocks: of two that
// are farther apart, one is better at the level alpha, all pairs together (Demsar 2006).
func Nemenyi(methods, blocks int, alpha float64) float64 {
	lo, hi := 0.0, 20.0
	for range 40 {
		q := (lo + hi) / 2
		if rangeBelow(q, methods) < 1-alpha {
			lo = q
		} else {
			hi = q
		}
	}
	k := float64(methods)
	return lo / math.Sqrt2 * math.Sqrt(k*(k+1)/(6*float64(blocks)))
}

// rangeBelow is the probability that k standard normal numbers span at most q: the integral over
// the lowest of them, by Simpson's rule.
func rangeBelow(q float64, k int) float64 {
	const from, to, steps = -9.0, 9.0, 720
	sum := 0.0
	for i := range steps + 1 {
		z := from + (to-from)*float64(i)/steps
		weight := 2 + 2*float64(i%2)
		if i == 0 || i == steps {
			weight = 1
		}
		sum += weight * distuv.UnitNormal.Prob(z) * math.Pow(distuv.UnitNormal.CDF(z+q)-distuv.UnitNormal.CDF(z), float64(k-1))
	}
	return float64(k) * sum * (to - from) / steps / 3
}

// ManyFlips is SignFlips of any number of differences by the normal approximation; NaN where all
// are 0.
func ManyFlips(xs []float64) float64 {
	sum, squares := 0.0, 0.0
	for _, x := range xs {
		sum, squares = sum+x, squares+x*x
	}
	return 2 * distuv.UnitNormal.Survival(math.Abs(sum)/math.Sqrt(squares))
}
