// Package sobol is the tuner with which `fedfast table record` trains: the points of a
// scrambled Sobol sequence, which fill the space evenly, each trained to the end. They
// depend on neither the seed nor the results, so that all sets and seeds have the same.
package sobol

import (
	"context"
	"fmt"

	"github.com/fedfast/fedfast/internal/tuner/internal/batch"
	"github.com/fedfast/fedfast/internal/tuner/internal/options"
	"github.com/fedfast/fedfast/tuners"
)

// Name is that of the tuner.
const Name = "sobol"

// Tuner trains floor(T/M) points (T = budget.rounds, M = budget.trial_rounds). The zero value
// is ready to use.
type Tuner struct{}

var _ tuners.Tuner = Tuner{}

var description = tuners.Description{
	Name:    Name,
	Version: "1.0.0",
	Doc:     "Points of a scrambled Sobol sequence, each trained for budget.trial_rounds rounds.",
	Options: []tuners.Option{{Name: "scramble", Default: tuners.Num(1), Doc: "number that keys the scrambling: equal numbers give equal points"}},
	Trials:  true, Conditions: true,
}

// Describe says what the tuner is.
func (Tuner) Describe(context.Context) (tuners.Description, error) { return description, nil }

// Validate checks the options, the budget and that the sequence has the dimensions.
func (Tuner) Validate(_ context.Context, req tuners.ValidateRequest) ([]tuners.Problem, error) {
	problems := description.CheckOptions(req.Options)
	if n := len(req.Space); n > MostDims {
		problems = append(problems, tuners.Problem{Key: "space", Message: fmt.Sprintf("%d dimensions: the Sobol sequence here has at most %d", n, MostDims)})
	}
	if b := req.Budget; b.TrialRounds < 1 || b.Rounds < b.TrialRounds {
		problems = append(problems, tuners.Problem{Key: "budget.rounds", Message: fmt.Sprintf("%d rounds, %d per trial, train nothing", b.Rounds, b.TrialRounds)})
	}
	return problems, nil
}

// Open starts a study's session.
func (t Tuner) Open(ctx context.Context, req tuners.OpenRequest) (tuners.Session, error) {
	problems, err := t.Validate(ctx, tuners.ValidateRequest{Space: req.Space, Options: req.Options, Budget: req.Budget})
	if err != nil {
		return nil, err
	}
	if err := options.First(Name, problems); err != nil {
		return nil, err
	}
	key := uint64(description.WithDefaults(req.Options).Int("scramble", 1))
	return batch.Open(Name, req, req.Budget.Rounds/req.Budget.TrialRounds, func(trial int) tuners.Params {
		return Point(req.Space, key, trial)
	})
}

// Point is the point of a number in a space of at most MostDims dimensions.
func Point(space tuners.Space, key uint64, number int) tuners.Params {
	p := make(tuners.Params, len(space))
	for i, d := range space {
		p[d.Name] = d.Sample(Unit(key, uint32(number), i))
	}
	return space.Active(p)
}
