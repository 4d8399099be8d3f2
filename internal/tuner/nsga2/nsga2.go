// Package nsga2 is the built-in tuner `nsga2`: NSGA-II (Deb et al. 2002) over a search
// space, with the crossover and mutation of Optuna's sampler. Generation after generation
// of trials, each of which runs to the end, it keeps those that no other beats in all
// objectives, and of these the ones with the most room around them.
package nsga2

import (
	"context"

	"github.com/fedfast/fedfast/internal/tuner/internal/options"
	"github.com/fedfast/fedfast/tuners"
)

// The ends of the options.
const (
	maxTrials     = 10_000 // their points are sent with every answer
	maxPopulation = 1000
)

// Tuner is NSGA-II. The zero value is ready to use.
type Tuner struct{}

var _ tuners.Tuner = Tuner{}

// Describe says what NSGA-II is.
func (Tuner) Describe(context.Context) (tuners.Description, error) { return description, nil }

var description = tuners.Description{
	Name:    "nsga2",
	Version: "1.0.0",
	Doc:     "NSGA-II: evolves a population of trials towards the Pareto front of several objectives; trains each trial for budget.trial_rounds rounds.",
	Options: []tuners.Option{
		{Name: "population", Default: tuners.Num(0), Doc: "trials per generation, at least 2; 0: the square root of the number of trials, at least 4"},
		{Name: "trials", Default: tuners.Num(0), Doc: "number of trials; 0: floor(budget.rounds / budget.trial_rounds), at most 10,000"},
		{Name: "crossover", Default: tuners.Num(0.9), Doc: "probability that a trial has two parents instead of one, 0..1"},
		{Name: "swap", Default: tuners.Num(0.5), Doc: "probability that such a trial has a hyperparameter from the second parent, 0..1"},
		{Name: "mutation", Default: tuners.Num(0), Doc: "probability that a hyperparameter is drawn anew, 0..1; 0: 1 / the number of dimensions"},
	},
	Trials: true, Seconds: true, Architectures: true, Multi: true, Constraints: true, Conditions: true,
}

// Validate checks the options and that the budget pays for two generations.
func (Tuner) Validate(_ context.Context, req tuners.ValidateRequest) ([]tuners.Problem, error) {
	_, problems := read(req.Options, req.Budget)
	return problems, nil
}

// Open starts a study's session.
func (Tuner) Open(_ context.Context, req tuners.OpenRequest) (tuners.Session, error) {
	set, problems := read(req.Options, req.Budget)
	if err := options.Open("nsga2", req.Trial, problems); err != nil {
		return nil, err
	}
	return open(req, set)
}

// settings are the checked options.
type settings struct {
	trials, population        int
	crossover, swap, mutation float64
}

// read fills in the defaults and returns everything that is wrong.
func read(given tuners.Params, b tuners.Budget) (settings, []tuners.Problem) {
	r := options.Read(description, given)
	share := func(name string) float64 {
		return r.Real(name, "from 0 to 1", func(x float64) bool { return x >= 0 && x <= 1 })
	}
	s := settings{
		population: r.Whole("population", 0, maxPopulation), trials: r.Trials(b, maxTrials),
		crossover: share("crossover"), swap: share("swap"), mutation: share("mutation"),
	}
	if s.population == 0 {
		s.population = 4
		for (s.population+1)*(s.population+1) <= s.trials {
			s.population++
		}
	}
	switch {
	case len(r.Problems) > 0:
	case s.population == 1:
		r.Problem("options.population", "a generation needs 2 trials or more, not 1")
	case s.population >= s.trials:
		r.Problem("options.population", "a generation of %d trials leaves none of %d for the next: lower options.population or raise budget.rounds", s.population, s.trials)
	}
	return s, r.Problems
}
