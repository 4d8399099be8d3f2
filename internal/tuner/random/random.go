// Package random is the built-in tuner `random`: random search. It draws floor(T/M)
// points from the search space, runs each for M rounds and takes the best (T =
// budget.rounds, M = budget.trial_rounds).
package random

import (
	"context"
	"fmt"

	"github.com/fedfast/fedfast/internal/tuner/internal/batch"
	"github.com/fedfast/fedfast/tuners"
)

// Tuner is random search. The zero value is ready to use.
type Tuner struct{}

var _ tuners.Tuner = Tuner{}

// Describe says what random search is.
func (Tuner) Describe(context.Context) (tuners.Description, error) { return description, nil }

var description = tuners.Description{
	Name:    "random",
	Version: "1.0.0",
	Doc:     "Random search: draws points from the space, trains each for budget.trial_rounds rounds and returns the best.",
	Options: []tuners.Option{
		{Name: "trials", Default: tuners.Num(0), Doc: "number of trials; 0: floor(budget.rounds / budget.trial_rounds)"},
	},
	Trials:        true,
	Seconds:       true,
	Architectures: true,
}

// Validate checks the options and that the budget pays for the trials.
func (Tuner) Validate(_ context.Context, req tuners.ValidateRequest) ([]tuners.Problem, error) {
	problems := description.CheckOptions(req.Options)
	if len(problems) > 0 {
		return problems, nil
	}
	t, m := req.Budget.Rounds, req.Budget.TrialRounds
	if m < 1 {
		return []tuners.Problem{{Key: "budget.trial_rounds", Message: fmt.Sprintf("a trial needs at least 1 round, not %d", m)}}, nil
	}
	if t < m {
		problems = append(problems, tuners.Problem{Key: "budget.rounds", Message: fmt.Sprintf("budget.rounds = %d is less than one trial of %d rounds (budget.trial_rounds)", t, m)})
	}
	n, _ := description.WithDefaults(req.Options)["trials"].Float()
	if n < 0 || n != float64(int(n)) {
		problems = append(problems, tuners.Problem{Key: "options.trials", Message: fmt.Sprintf("trials must be a non-negative integer, not %v", n)})
	} else if int(n) > t/m {
		problems = append(problems, tuners.Problem{Key: "options.trials", Message: fmt.Sprintf("%d trials of %d rounds exceed budget.rounds = %d; at most %d fit", int(n), m, t, t/m)})
	}
	return problems, nil
}

// Open starts a study's session.
func (t Tuner) Open(ctx context.Context, req tuners.OpenRequest) (tuners.Session, error) {
	if req.Trial != tuners.StudySession {
		return nil, fmt.Errorf("random: %w: it is a tuner, not a client tuner", tuners.ErrUnsupported)
	}
	problems, err := t.Validate(ctx, tuners.ValidateRequest{Space: req.Space, Options: req.Options, Budget: req.Budget, Objective: req.Objective})
	if err != nil {
		return nil, err
	}
	if len(problems) > 0 {
		return nil, fmt.Errorf("random: %s: %s", problems[0].Key, problems[0].Message)
	}
	trials := description.WithDefaults(req.Options).Int("trials", 0)
	if trials == 0 {
		trials = req.Budget.Rounds / req.Budget.TrialRounds
	}
	return batch.Open("random", req, trials, func(trial int) tuners.Params {
		return req.Space.Sample(tuners.NewDraws(req.Seed, trial, 0, "trial params"))
	})
}
