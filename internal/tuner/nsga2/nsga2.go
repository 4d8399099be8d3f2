// Package nsga2 is the built-in tuner `nsga2`: NSGA-II (Deb et al. 2002) over a search
// space, with the crossover and mutation of Optuna's sampler. Generation after generation
// of trials, each of which runs to the end, it keeps those that no other beats in all
// objectives, and of these the ones with the most room around them.
package nsga2

import (
	"github.com/fedfast/fedfast/internal/tuner/internal/options"
	"github.com/fedfast/fedfast/tuners"
)

// The ends of the options.
const (
	maxTrials     = 10_000 // their points are sent with every answer
	maxPopulation = 1000
)

// Tuner is NSGA-II.
var Tuner = options.Tuner[settings]{About: tuners.Description{
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
}, Plan: read, Study: open}

// settings are the checked options.
type settings struct {
	trials, population        int
	crossover, swap, mutation float64
}

func read(r *options.Reader, req tuners.ValidateRequest) settings {
	s := settings{
		population: r.Whole("population", 0, maxPopulation), trials: r.Trials(req.Budget, maxTrials),
		crossover: r.Share("crossover"), swap: r.Share("swap"), mutation: r.Share("mutation"),
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
	return s
}
