// Package privacy accounts for differential privacy: how much (epsilon, delta) some steps
// of a Gaussian mechanism on sampled clients cost, and how much noise a budget needs. It
// knows two accountants, Rényi differential privacy and the distribution of the privacy
// loss. Both return upper bounds; the second is tighter.
package privacy

import (
	"fmt"
	"math"
	"math/bits"
	"slices"

	"github.com/fedfast/fedfast/internal/key"
)

// Plan is what is accounted for: steps that each release the sum of the sampled clients'
// vectors plus Gaussian noise.
type Plan struct {
	// Q is the probability with which a client is sampled in a step, or, with Fixed, the
	// share of the clients in each cohort; in (0, 1].
	Q float64
	// Sigma is the noise multiplier z: the noise's standard deviation over the sensitivity
	// of the sum.
	Sigma float64
	// Steps is how many releases there are.
	Steps int
	// Fixed says that each step draws a cohort of a fixed size without replacement.
	// Neighbors then differ in one client's data, and the sensitivity is twice the bound of
	// a client's norm. Otherwise each client is drawn by itself (Poisson sampling), and
	// neighbors differ by one client.
	Fixed bool
}

// Plans are accounted for together: all their steps, each of which may depend on what the
// others released.
type Plans []Plan

// TreeSteps returns how many releases of the Gaussian mechanism the sums of all steps so far
// come to where a binary tree adds the noise, which begins anew after each of a number of
// steps in which a client takes part once (Kairouz et al. 2021, arXiv 2103.00039, Theorem 4.1):
// a client is in one node of each level. Sigma is then that of a node over the bound of a
// client's norm, Q is 1, and neighbors differ by one client that sends nothing.
func TreeSteps(steps, restart int) int {
	return steps/restart*bits.Len(uint(restart)) + bits.Len(uint(steps%restart))
}

// Scaled returns the plans with the noise of all multiplied by a factor.
func (ps Plans) Scaled(factor float64) Plans {
	scaled := slices.Clone(ps)
	for i := range scaled {
		scaled[i].Sigma *= factor
	}
	return scaled
}

// Bounds of what the accountants compute within seconds.
const (
	// LeastSigma is the least noise multiplier.
	LeastSigma = 0.1
	// MostSigma is the largest noise multiplier.
	MostSigma = 10_000
	// MostSteps bounds the steps.
	MostSteps = 100_000_000
	// MostEpsilon is the largest target for Noise.
	MostEpsilon = 1000

	leastQ, leastDelta = 1e-12, 1e-30
)

// Check returns an error that names the first field out of its range, by its flag's name.
func (p Plan) Check() error {
	switch {
	case !(p.Q >= leastQ && p.Q <= 1):
		return &key.Error{Key: "q", Problem: fmt.Sprintf(" = %v: must be from %v to 1, the share of the clients in a cohort", p.Q, leastQ)}
	case !(p.Sigma >= LeastSigma && p.Sigma <= MostSigma):
		return &key.Error{Key: "sigma", Problem: fmt.Sprintf(" = %v: must be from %v to %d", p.Sigma, LeastSigma, MostSigma)}
	case p.Steps < 0 || p.Steps > MostSteps:
		return &key.Error{Key: "steps", Problem: fmt.Sprintf(" = %d: must be from 0 to %d", p.Steps, MostSteps)}
	}
	return nil
}

// CheckDelta returns an error for a delta that is out of range.
func CheckDelta(delta float64) error {
	if !(delta >= leastDelta && delta < 1) {
		return &key.Error{Key: "delta", Problem: fmt.Sprintf(" = %v: must be at least %v and below 1; choose it well below 1 over the number of clients", delta, leastDelta)}
	}
	return nil
}

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
		return 0, &key.Error{Key: "epsilon", Problem: fmt.Sprintf(" = %v: out of reach with a delta of %v and a noise "+
			"multiplier of at most %d; raise epsilon or delta, or take fewer steps", epsilon, delta, MostSigma)}
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
