// Package pbt is the built-in tuner `pbt`: population based training (Jaderberg et
// al., 2017). A population of trials trains side by side; every few rounds the
// worst are replaced by exact copies of the best (exploit), whose hyperparameters
// are then changed a little (explore). So the hyperparameters of the surviving line
// are a schedule over the rounds, not one point.
package pbt

import (
	"github.com/fedfast/fedfast/internal/tuner/internal/options"
	"github.com/fedfast/fedfast/tuners"
)

// Tuner is population based training.
var Tuner = options.Tuner[plan]{About: tuners.Description{
	Name:    "pbt",
	Version: "1.0.0",
	Doc:     "Population-based training: every few rounds, replaces the worst trials by copies of the best with perturbed hyperparameters.",
	Options: []tuners.Option{
		{Name: "population", Default: tuners.Num(0), Doc: "size of the population; 0: budget.rounds / budget.trial_rounds"},
		{Name: "interval", Default: tuners.Num(0), Doc: "rounds between comparisons; 0: a tenth of budget.trial_rounds"},
		{Name: "quantile", Default: tuners.Num(0.25), Doc: "fraction of the population that is replaced, and that is copied, up to 0.5"},
		{Name: "factor", Default: tuners.Num(1.2), Doc: "factor by which real hyperparameters of a copy are multiplied or divided; integers change by one"},
		{Name: "resample", Default: tuners.Num(0.25), Doc: "probability of resampling a hyperparameter of a copy instead, 0..1"},
	},
	Trials:        true,
	Seconds:       true,
	Architectures: true,
	Fork:          true,
}, Plan: newPlan, Study: newSession}

// plan is what the options and the budget say.
type plan struct {
	population int
	interval   int // rounds
	replaced   int // trials at each comparison
	factor     float64
	resample   float64
}

func newPlan(r *options.Reader, req tuners.ValidateRequest) plan {
	b := req.Budget
	p := plan{
		population: r.Whole("population", 0, 10_000),
		interval:   r.Whole("interval", 0, 1_000_000),
		factor:     r.Real("factor", "greater than 1", func(x float64) bool { return x > 1 && x < 1e6 }),
		resample:   r.Share("resample"),
	}
	quantile := r.Real("quantile", "greater than 0 and at most 0.5", func(x float64) bool { return x > 0 && x <= 0.5 })
	if !r.TrialRounds(b) {
		return p
	}
	affordable := b.Rounds / b.TrialRounds
	switch {
	case affordable < 2:
		r.Problem("budget.rounds", "a population needs at least 2 trials of %d rounds: budget.rounds must be at least %d, not %d", b.TrialRounds, 2*b.TrialRounds, b.Rounds)
	case p.population == 0:
		p.population = affordable
	case p.population < 2 || p.population > affordable:
		r.Problem("options.population", "population must be from 2 to %d, the most that budget.rounds = %d allows, not %d", affordable, b.Rounds, p.population)
	}
	if p.interval == 0 {
		p.interval = max(1, b.TrialRounds/10)
	}
	p.replaced = max(1, int(float64(quantile*float64(p.population))))
	return p
}
