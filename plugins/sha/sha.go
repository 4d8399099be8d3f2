// Package sha is the built-in tuner `sha`: successive halving. It starts eta^R
// trials, stops all but a share 1/eta of them at each of R rungs, and runs the last
// one on to budget.trial_rounds, spending budget.rounds in all; see Rungs for the
// arithmetic.
package sha

import (
	"context"
	"fmt"

	"github.com/fedfast/fedfast/tuners"
)

// Tuner is successive halving. The zero value is ready to use.
type Tuner struct{}

var _ tuners.Tuner = Tuner{}

// Describe says what successive halving is.
func (Tuner) Describe(context.Context) (tuners.Description, error) { return description, nil }

var description = tuners.Description{
	Name:    "sha",
	Version: "1.0.0",
	Doc:     "Successive halving: starts eta^eliminations trials and keeps the best 1/eta at each rung; the last one trains to budget.trial_rounds.",
	Options: []tuners.Option{
		{Name: "eta", Default: tuners.Num(3), Doc: "keep one of eta trials at each rung"},
		{Name: "eliminations", Default: tuners.Num(3), Doc: "number of rungs at which trials are pruned"},
	},
	Trials:        true,
	Architectures: true,
}

// Validate checks the options and that the budget pays for the rungs.
func (Tuner) Validate(_ context.Context, req tuners.ValidateRequest) ([]tuners.Problem, error) {
	problems := description.CheckOptions(req.Options)
	if len(problems) > 0 {
		return problems, nil
	}
	_, _, problems = plan(req.Options, req.Budget)
	return problems, nil
}

// Open starts a study's session.
func (t Tuner) Open(ctx context.Context, req tuners.OpenRequest) (tuners.Session, error) {
	if req.Trial != tuners.StudySession {
		return nil, fmt.Errorf("sha: %w: it is a tuner, not a client tuner", tuners.ErrUnsupported)
	}
	problems := description.CheckOptions(req.Options)
	var eta int
	var rungs []int
	if len(problems) == 0 {
		eta, rungs, problems = plan(req.Options, req.Budget)
	}
	if len(problems) > 0 {
		return nil, fmt.Errorf("sha: %s: %s", problems[0].Key, problems[0].Message)
	}
	return newSession(req, eta, rungs)
}

// plan reads the options and computes the rungs.
func plan(options tuners.Params, b tuners.Budget) (eta int, rungs []int, problems []tuners.Problem) {
	o := description.WithDefaults(options)
	for _, name := range []string{"eta", "eliminations"} {
		if x := o.Float(name, 0); x != float64(int(x)) {
			problems = append(problems, tuners.Problem{Key: "options." + name, Message: fmt.Sprintf("%s must be an integer, not %v", name, x)})
		}
	}
	if len(problems) > 0 {
		return 0, nil, problems
	}
	eta = o.Int("eta", 0)
	rungs, key, err := Rungs(b.Rounds, b.TrialRounds, eta, o.Int("eliminations", 0))
	if err != nil {
		problems = append(problems, tuners.Problem{Key: key, Message: err.Error()})
	}
	return eta, rungs, problems
}
