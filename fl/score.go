package fl

import (
	"errors"
	"fmt"
	"math"

	"github.com/fedfast/fedfast/internal/list"
	"github.com/fedfast/fedfast/kernels"
)

// scoreNoise is the number of the noise on scores, beside that of what is drawn else.
const scoreNoise = 1

// ScoreOptions say how a round's score is taken, for studies of noisy evaluation.
// The zero value is the mean over the whole cohort, weighted by examples.
type ScoreOptions struct {
	// Clients, when > 0, is the number of clients of the cohort to score on, drawn
	// anew each round.
	Clients int
	// Uniform gives all clients one weight instead of their numbers of validation
	// examples.
	Uniform bool
	// Epsilon, when > 0, is the privacy that one score spends: Laplace noise of
	// scale 1/(Epsilon k) is added to the error, the mean over k clients of values
	// in [0, 1]. It needs Uniform. A study that scores m times at a total of e has
	// Epsilon = e/m.
	Epsilon float64
	// Noise, when > 0, makes a score private beside Config.Privacy: it is the standard
	// deviation of Gaussian noise on the sum, over the scored clients, of their errors less
	// 1/2, which is divided by Expected, the number of clients that are expected, whatever the
	// number that came. One client more or less moves the sum by at most 1/2. It excludes
	// the other options.
	Noise    float64
	Expected int
}

// Check returns an error that names the first option that cannot be used.
func (o ScoreOptions) Check() error {
	switch {
	case o.Clients < 0:
		return fmt.Errorf("score.clients = %d: must be 0 (the whole cohort) or more", o.Clients)
	case !(o.Epsilon >= 0) || math.IsInf(o.Epsilon, 0):
		return fmt.Errorf("score.epsilon = %v: must be 0 (no noise) or more", o.Epsilon)
	case o.Epsilon > 0 && !o.Uniform:
		return errors.New("score.epsilon: private scores need score.uniform = true, since a client's share must be bounded")
	}
	return nil
}

// Score returns the mean score of the round on the clients' validation samples, by
// options: of the clients' own weights when personalized, else of the broadcast ones.
// Clients without validation samples do not count; without any such client the score is NaN.
// A dropped client scores the worst that there is, error 1 and loss 1e6, or 1e12 of a
// regression: its hyperparameters did not train it. Noise is drawn for the round of its
// trial, and only on the error: the loss is NaN with an Epsilon, since it has no bound.
func (r *RoundResult) Score(personalized bool, o ScoreOptions) Score {
	noise := NewNoise(r.draws, scoreNoise)
	if o.Noise > 0 {
		var errors []float64
		for i := range r.Slots {
			if s := &r.Slots[i]; s.ValExamples > 0 {
				errors = append(errors, s.error(personalized))
			}
		}
		return o.PrivateMean(errors, noise)
	}
	var all scoreMean
	var errors []float64
	for _, i := range r.scored(o) {
		s := &r.Slots[i]
		score := s.Before
		switch {
		case s.Dropped:
			score = WorstScore(r.numbers)
		case personalized:
			score = s.After
		}
		n := float64(s.ValExamples)
		if o.Uniform {
			n = 1
		}
		all.add(score, n)
		errors = append(errors, score.Error)
	}
	score := all.mean()
	score.clients = errors
	if o.Epsilon > 0 && len(errors) > 0 {
		score.Error += noise.laplace() / (o.Epsilon * float64(len(errors)))
		score.Loss = math.NaN()
	}
	return score
}

// error returns the error of a slot; that of one that was dropped is 1.
func (s *Slot) error(personalized bool) float64 {
	switch {
	case s.Dropped:
		return 1
	case personalized:
		return s.After.Error
	}
	return s.Before.Error
}

// centered returns what a client adds to a private score: its error less 1/2, which lies
// within 1/2 of 0 whatever the client measures.
func centered(x float64) float64 {
	if !(x <= 1) { // or NaN
		x = 1
	}
	return max(0, x) - 0.5
}

// PrivateMean returns the private mean of clients' errors over Expected clients, as that of a
// round's score, with noise drawn from a stream. It needs Noise.
func (o ScoreOptions) PrivateMean(errors []float64, noise *Noise) Score {
	sum := 0.0
	for _, x := range errors {
		sum += centered(x)
	}
	return o.private(sum, noise)
}

// private returns the score of a sum of centered errors.
func (o ScoreOptions) private(sum float64, noise *Noise) Score {
	sum += float64(o.Noise * noise.Normal())
	return Score{Error: sum/float64(o.Expected) + 0.5, Loss: math.NaN()}
}

// scored returns the slots with validation samples that a score counts.
func (r *RoundResult) scored(o ScoreOptions) []int {
	slots := list.Places(len(r.Slots), func(i int) bool { return r.Slots[i].ValExamples > 0 })
	if o.Clients == 0 || o.Clients >= len(slots) {
		return slots
	}
	return list.Of(draw(kernels.NewStream(r.draws, 0), len(slots), o.Clients), func(k int) int { return slots[k] })
}
