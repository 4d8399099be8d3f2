package privacy

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/fedfast/fedfast/internal/list"
)

// guessShares are the shares of all canaries that are guessed, half of them as in; the
// confidence is split among them.
var guessShares = []float64{0.1, 0.25, 0.5, 1}

// LowerBound returns an epsilon that a mechanism of a delta exceeds with a confidence, such
// as 0.95, and 0 where it shows nothing: the audit in one run of Steinke, Nasr and Jagielski
// 2023 (arXiv 2305.08846). Each canary was in or out by a fair coin; scores are higher for
// those that seem to be in.
func LowerBound(scores []float64, in []bool, delta, confidence float64) float64 {
	order := list.Made(len(scores), func(i int) int { return i })
	slices.SortStableFunc(order, func(a, b int) int {
		switch {
		case scores[a] > scores[b]:
			return -1
		case scores[a] < scores[b]:
			return 1
		}
		return 0
	})
	best := 0.0
	for _, share := range guessShares {
		each := int(share * float64(len(order)) / 2)
		correct := 0
		for i := range each {
			if in[order[i]] {
				correct++
			}
			if !in[order[len(order)-1-i]] {
				correct++
			}
		}
		level := (1 - confidence) / float64(len(guessShares))
		low, high := 0.0, 50.0
		if each == 0 || likely(2*each, correct, len(order), delta, 0) > level {
			continue
		}
		for range 50 {
			if middle := (low + high) / 2; likely(2*each, correct, len(order), delta, middle) <= level {
				low = middle
			} else {
				high = middle
			}
		}
		best = max(best, low)
	}
	return best
}

// likely bounds the probability that at least correct of r guesses are correct where the
// mechanism has an epsilon and a delta: Theorem 5.2 of the paper.
func likely(r, correct, canaries int, delta, epsilon float64) float64 {
	b := distuv.Binomial{N: float64(r), P: 1 / (1 + math.Exp(-epsilon))}
	beta, alpha, near := 1.0, 0.0, 0.0
	if correct > 0 {
		beta = b.Survival(float64(correct) - 1)
	}
	for i := 1; i <= correct && delta > 0; i++ {
		near += b.Prob(float64(correct - i))
		alpha = max(alpha, near/float64(i))
	}
	return min(1, beta+2*float64(canaries)*delta*alpha)
}

// NoiseTooLow reports whether squares, the sum of n squared numbers in units of the promised
// standard deviation, shows noise below what was promised, with an error of one in 1,000.
func NoiseTooLow(squares float64, n int) bool {
	return n > 0 && distuv.ChiSquared{K: float64(n)}.CDF(squares) < 1e-3
}
