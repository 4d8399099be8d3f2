package stats

import (
	"cmp"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat"

	"github.com/fedfast/fedfast/internal/list"
)

// WelchHalf is half the width of the 90 % interval of a difference of two means, from the
// standard deviations and the numbers of seeds behind each (Welch 1947, with the degrees
// of freedom of Satterthwaite); NaN with fewer than two on a side or without any
// spread.
func WelchHalf(sd1 float64, n1 int, sd2 float64, n2 int) float64 {
	if n1 < 2 || n2 < 2 {
		return math.NaN()
	}
	v1, v2 := sd1*sd1/float64(n1), sd2*sd2/float64(n2)
	df := (v1 + v2) * (v1 + v2) / (v1*v1/float64(n1-1) + v2*v2/float64(n2-1))
	if math.IsNaN(df) {
		return math.NaN()
	}
	return Student(df) * math.Sqrt(v1+v2)
}

// mostFlips is the largest number of pairs whose signs SignFlips turns in all ways.
const mostFlips = 20

// SignFlips is the exact two-sided p of a paired difference: the share of all ways to turn
// the signs of the numbers whose sum is as far from 0 as theirs is (Fisher 1935). It is
// NaN for more than 20 numbers and for none.
func SignFlips(xs []float64) float64 {
	if len(xs) == 0 || len(xs) > mostFlips {
		return math.NaN()
	}
	sum, size := 0.0, 0.0
	for _, x := range xs {
		sum, size = sum+x, size+math.Abs(x)
	}
	least := math.Abs(sum) - 1e-9*size // sums in other orders differ in the last digits
	far := 0
	for signs := range 1 << len(xs) {
		turned := 0.0
		for i, x := range xs {
			if signs>>i&1 != 0 {
				x = -x
			}
			turned += x
		}
		if math.Abs(turned) >= least {
			far++
		}
	}
	return float64(far) / float64(int(1)<<len(xs))
}

// Holm returns the p of several tests adjusted for their number (Holm 1979), in the same
// order.
func Holm(ps []float64) []float64 {
	order := list.Made(len(ps), func(i int) int { return i })
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(ps[a], ps[b]) })
	adjusted, least := make([]float64, len(ps)), 0.0
	for rank, i := range order {
		least = max(least, min(1, ps[i]*float64(len(ps)-rank)))
		adjusted[i] = least
	}
	return adjusted
}

// Spearman returns the rank correlation of pairs of numbers, ties having the mean of
// their ranks; NaN for fewer than two pairs or where one side is all alike.
func Spearman(x, y []float64) float64 {
	if len(x) < 2 {
		return math.NaN()
	}
	return stat.Correlation(ranks(x), ranks(y), nil)
}

// ranks returns the place of each number among all.
func ranks(xs []float64) []float64 {
	order := list.Made(len(xs), func(i int) int { return i })
	slices.SortFunc(order, func(a, b int) int { return cmp.Compare(xs[a], xs[b]) })
	out := make([]float64, len(xs))
	for from := 0; from < len(order); {
		to := from + 1
		for to < len(order) && xs[order[to]] == xs[order[from]] {
			to++
		}
		for _, i := range order[from:to] {
			out[i] = float64(from+to-1) / 2
		}
		from = to
	}
	return out
}
