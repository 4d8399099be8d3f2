package privacy

import (
	"fmt"
	"math"

	"github.com/fedfast/fedfast/internal/key"
)

// grain is what noise multipliers are rounded up to, so that the last bits of an account
// decide no result.
const grain = 1e-6

// Noise returns about the least noise multiplier, a multiple of 1e-6, with which the plan
// costs at most epsilon at delta by an accountant, such as Plan.PLD. Sigma of the plan is
// not read. The error says that no noise in the range of the accountants is enough.
func (p Plan) Noise(epsilon, delta float64, account func(p Plan, delta float64) float64) (float64, error) {
	if !(epsilon > 0 && epsilon <= MostEpsilon) {
		return 0, &key.Error{Key: "epsilon", Problem: fmt.Sprintf(" = %v: must be above 0 and at most %d", epsilon, MostEpsilon)}
	}
	cost := func(sigma float64) float64 {
		p.Sigma = sigma
		return account(p, delta)
	}
	byRDP := func(sigma float64) float64 {
		p.Sigma = sigma
		return ByRDP(p, delta)
	}
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
	return math.Ceil(tighten(cost, epsilon, high)/grain) * grain, nil
}

// ByRDP returns the epsilon of Plan.RDP, for Noise.
func ByRDP(p Plan, delta float64) float64 {
	epsilon, _ := p.RDP(delta)
	return epsilon
}

// tighten lowers a noise multiplier that is enough as far as the cost, which is about one
// over the noise, stays at most epsilon: the secant method in logarithms.
func tighten(cost func(sigma float64) float64, epsilon, enough float64) float64 {
	const tries, near = 12, 1e-7
	off := func(sigma float64) float64 { return math.Log(max(cost(sigma), 1e-12) / epsilon) }
	last, lastOff := enough, off(enough)
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
