package fedex

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/fedfast/fedfast/internal/list"
	"github.com/fedfast/fedfast/kernels/det"
)

// state is everything that a trial's rounds change.
type state struct {
	Origin  int       `json:"origin"` // the trial whose draws made the configurations; a fork keeps its source's
	Z       []float64 `json:"z"`      // theta = exp(z), sum exp(z) = 1
	Num     float64   `json:"num"`    // discounted sum of the past rounds' mean errors
	Den     float64   `json:"den"`    // discounted count of past rounds
	Squares float64   `json:"squares"`
	Moments []moments `json:"moments,omitempty"` // of each configuration, for the schedule noise
	Updates int       `json:"updates"`
	Latched bool      `json:"latched"`
	Past    []plan    `json:"past,omitempty"` // earlier rounds whose plans jobs at work have
}

// plan is what the draws of a round's plan need.
type plan struct {
	Round int       `json:"round"`
	Z     []float64 `json:"z"`
}

// moments sum the deviations of a configuration's scores from the means of their rounds.
type moments struct {
	Sum     float64 `json:"sum"`
	Squares float64 `json:"squares"`
}

// outcome is one slot's part in a step.
type outcome struct {
	config int     // j_i
	theta  float64 // of the configuration when it was drawn
	score  float64 // s_i
	weight float64 // q_i, summing to 1 over the round
}

// uniform returns the state before the first round: theta_j = 1/k.
func uniform(k, origin int) state {
	s := state{Origin: origin, Z: make([]float64, k)}
	for j := range s.Z {
		s.Z[j] = -det.Log(float64(k))
	}
	return s
}

// theta returns the distribution over the configurations.
func (s *state) theta() []float64 { return exp(s.Z) }

func exp(z []float64) []float64 { return list.Of(z, det.Exp) }

// at returns the distribution with which a round was planned, not after the round that is
// observed; nil if that is not known any more.
func (s *state) at(round, observed int) []float64 {
	if round == observed {
		return s.theta()
	}
	for _, p := range s.Past {
		if p.Round == round {
			return exp(p.Z)
		}
	}
	return nil
}

// remember keeps what the plan of an observed round was drawn from, for its jobs that are
// still at work, and forgets rounds before the oldest one with any.
func (s *state) remember(observed, oldest int) {
	s.Past = append(s.Past, plan{observed, slices.Clone(s.Z)})
	s.Past = slices.DeleteFunc(s.Past, func(p plan) bool { return p.Round < oldest })
}

// best returns the arg max of theta, ties to the lowest index.
func (s *state) best() int {
	best := 0
	for j, z := range s.Z {
		if z > s.Z[best] {
			best = j
		}
	}
	return best
}

// entropy returns that of theta in nats, over the entries that are not 0.
func (s *state) entropy() float64 {
	h := 0.0
	for j, p := range s.theta() {
		if p > 0 {
			h -= float64(p * s.Z[j])
		}
	}
	return h
}

// baseline returns lambda: the discounted mean of the past rounds' mean errors, 0
// before the first.
func (s *state) baseline() float64 {
	if s.Den == 0 {
		return 0
	}
	return s.Num / s.Den
}

// step takes one exponentiated gradient step (METHODS section 4):
//
//	grad_j = sum over slots i of q_i (s_i - lambda) 1[j_i = j] / theta_j, theta as j_i was drawn
//	z <- z - (eta0 / denom) grad,  z <- z - logsumexp(z)
//
// with the baseline lambda, and enters the round's mean error into the baseline with weight gamma^age. A
// latched state stays as it is. The schedule noise sets z anew instead, see weigh.
func (s *state) step(round []outcome, lambda, gamma, eta0, cutoff float64, schedule string) error {
	if s.Latched {
		return nil
	}
	mean := 0.0
	for _, o := range round {
		mean += float64(o.weight * o.score)
	}
	s.Num = float64(gamma*s.Num) + mean
	s.Den = float64(gamma*s.Den) + 1
	s.Updates++

	top := 0.0
	if schedule == Noise {
		s.weigh(round, mean, eta0)
	} else {
		top = s.descend(round, lambda, eta0, schedule)
	}
	norm := det.LogSumExp(s.Z)
	if !det.Finite(norm) {
		return fmt.Errorf("fedex: theta is not finite after update %d (largest gradient %v): use a smaller eta0 or another schedule", s.Updates, top)
	}
	for j := range s.Z {
		s.Z[j] -= norm
	}
	if s.entropy() < cutoff {
		s.Latched = true
	}
	return nil
}

// descend moves z against the round's gradient, and returns the largest |grad|.
func (s *state) descend(round []outcome, lambda, eta0 float64, schedule string) (top float64) {
	grad := make([]float64, len(s.Z))
	for _, o := range round {
		grad[o.config] += float64(o.weight*(o.score-lambda)) / o.theta
	}
	for _, g := range grad {
		top = max(top, math.Abs(g))
	}
	rate := eta0 / s.denominator(schedule, top)
	for j := range s.Z {
		s.Z[j] -= float64(rate * grad[j])
	}
	return top
}

// weigh sets z_j = -eta0 t_j with the self-normalized sum of all scores that configuration j had (ours),
//
//	t_j = sum d / sqrt(sum d^2), d = q_i (s_i - mean of the round), 0 without any
//
// which counts in standard deviations: where configurations are alike it stays at one or two, however
// many rounds there are, and else grows with the square root of the number of scores.
func (s *state) weigh(round []outcome, mean, eta0 float64) {
	if s.Moments == nil {
		s.Moments = make([]moments, len(s.Z))
	}
	for _, o := range round {
		m, d := &s.Moments[o.config], float64(o.weight*(o.score-mean))
		m.Sum += d
		m.Squares += float64(d * d)
	}
	for j, m := range s.Moments {
		s.Z[j] = 0
		if m.Squares > 0 {
			s.Z[j] = -float64(eta0*m.Sum) / math.Sqrt(m.Squares)
		}
	}
}

// denominator returns what eta0 is divided by, with this round's largest |grad|
// counted.
func (s *state) denominator(schedule string, top float64) float64 {
	d := 1.0
	switch schedule {
	case Aggressive:
		d = top
	case Adaptive:
		s.Squares += float64(top * top)
		d = math.Sqrt(s.Squares)
	case Auto:
		d = math.Sqrt(float64(s.Updates))
	}
	return cmp.Or(d, 1)
}
