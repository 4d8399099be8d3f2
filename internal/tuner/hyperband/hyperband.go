// Package hyperband is the built-in tuner `hyperband`: successive halving in
// brackets that trade the number of trials against how long each runs before the
// first elimination; see Brackets and Schedule for the arithmetic. It spends
// budget.rounds in all.
package hyperband

import (
	"context"

	"github.com/fedfast/fedfast/internal/tuner/internal/options"
	"github.com/fedfast/fedfast/internal/tuner/sha"
	"github.com/fedfast/fedfast/tuners"
)

// defaultTop is the most aggressive bracket unless the options say otherwise: three
// eliminations, as successive halving has.
const defaultTop = 3

// Tuner is Hyperband. The zero value is ready to use.
type Tuner struct{}

var _ tuners.Tuner = Tuner{}

// Describe says what Hyperband is.
func (Tuner) Describe(context.Context) (tuners.Description, error) { return description, nil }

var description = tuners.Description{
	Name:          "hyperband",
	Version:       "1.0.0",
	Doc:           "Hyperband: brackets of successive halving, from many short trials to few long ones, repeated until budget.rounds is spent.",
	Options:       Options,
	Trials:        true,
	Seconds:       true,
	Architectures: true,
}

// Options are those that Read reads.
var Options = []tuners.Option{
	{Name: "eta", Default: tuners.Num(3), Doc: "keep one of eta trials at each rung"},
	{Name: "brackets", Default: tuners.Num(0), Doc: "number of brackets, R+1: the first eliminates R times, the last never; 0: 4, or fewer if budget.trial_rounds < eta^3"},
}

// Validate checks the options and that the budget pays for a bracket.
func (Tuner) Validate(_ context.Context, req tuners.ValidateRequest) ([]tuners.Problem, error) {
	r := options.Read(description, req.Options)
	Read(r, req.Budget)
	return r.Problems, nil
}

// Open starts a study's session.
func (Tuner) Open(_ context.Context, req tuners.OpenRequest) (tuners.Session, error) {
	r := options.Read(description, req.Options)
	schedule := Read(r, req.Budget)
	if err := options.Open("hyperband", req.Trial, r.Problems); err != nil {
		return nil, err
	}
	return sha.Open("hyperband", req, schedule, nil)
}

// Read reads Options and returns what a study of the budget runs, see Schedule.
func Read(r *options.Reader, b tuners.Budget) []sha.Bracket {
	eta, brackets := r.Whole("eta", 2, maxEta), r.Whole("brackets", 0, maxBrackets)
	if b.TrialRounds < 1 {
		r.Problem("budget.trial_rounds", "a trial needs at least 1 round, not %d", b.TrialRounds)
	}
	if len(r.Problems) > 0 {
		return nil
	}
	top := brackets - 1
	if brackets == 0 {
		top = topBracket(b.TrialRounds, eta, defaultTop)
	}
	if key, message := check(b.Rounds, b.TrialRounds, eta, top); key != "" {
		r.Problem(key, "%s", message)
		return nil
	}
	return Schedule(b.Rounds, b.TrialRounds, Brackets(b.TrialRounds, eta, top))
}
