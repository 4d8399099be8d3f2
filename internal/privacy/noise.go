package privacy

import (
	"fmt"
	"math"

	"github.com/fedfast/fedfast/internal/key"
)

// grain is what noise multipliers are rounded up to, so that the last bits of an account
// decide no result.
const grain = 1e-6

// Noise returns about the least factor, a multiple of 1e-6, by which the plans' Sigma are
// multiplied so that they cost at most epsilon at delta, by PLD or else by RDP. Of a plan
// with a Sigma of 1 it is the noise multiplier. The error says that no noise in the range of
// the accountants is enough.
func (ps Plans) Noise(epsilon, delta float64, pld bool) (float64, error) {
	if !(epsilon > 0 && epsilon <= MostEpsilon) {
		return 0, &key.Error{Key: "epsilon", Problem: fmt.Sprintf(" = %v: must be above 0 and at most %d", epsilon, MostEpsilon)}
	}
	byRDP := func(factor float64) float64 { return ByRDP(ps.Scaled(factor), delta) }
	low, high := LeastSigma, float64(MostSigma)
	switch {
	case byRDP(low) <= epsilon:
		return low, nil
	case byRDP(high) > epsilon:
		return 0, &key.Error{Key: "epsilon", Problem: fmt.Sprintf(" = %v: out of reach with a delta of %v and a noise multiplier of at most %d; raise epsilon or delta, or take fewer steps", epsilon, delta, MostSigma)}
	}
	for high/low > 1+1e-8 {
		if middle := math.Sqrt(low * high); byRDP(middle) <= epsilon {
			high = middle
		} else {
			low = middle
		}
	}
	if pld {
		rough := tighten(func(factor float64) float64 { return ps.Scaled(factor).Rough(delta) }, epsilon, high, high)
		high = tighten(func(factor float64) float64 { return ps.Scaled(factor).PLD(delta) }, epsilon, high, rough)
	}
	return math.Ceil(high/grain) * grain, nil
}

// ByRDP returns the epsilon of Plans.RDP, for Noise.
func ByRDP(ps Plans, delta float64) float64 {
	epsilon, _ := ps.RDP(delta)
	return epsilon
}

// tighten lowers a noise multiplier that is enough as far as the cost, which is about one
// over the noise, stays at most epsilon: the secant method in logarithms, from a guess.
func tighten(cost func(sigma float64) float64, epsilon, enough, guess float64) float64 {
	const tries, near = 12, 1e-7
	off := func(sigma float64) float64 { return math.Log(max(cost(sigma), 1e-12) / epsilon) }
	last, lastOff := guess, off(guess)
	if lastOff <= 0 {
		enough = min(enough, guess)
	}
	slope := -1.0
	for range tries {
		if lastOff > -near && lastOff <= 0 {
			break
		}
		next := last * math.Exp(max(-0.7, min(0.7, -(lastOff+near/2)/slope)))
		nextOff := off(next)
		if nextOff <= 0 {
			enough = min(enough, next)
		}
		if next != last && nextOff != lastOff {
			slope = min(-0.1, (nextOff-lastOff)/math.Log(next/last))
		}
		last, lastOff = next, nextOff
	}
	return enough
}
