// Package fedpop is the built-in tuner `fedpop`: FedPop (Chen et al. 2023), which
// evolves a population of client configurations while the federation trains. Each
// client of a round trains with a member; every few rounds the members with the
// highest validation losses become perturbed copies of those with the lowest.
//
// FedPop is a client tuner. Its population starts around the configuration that the
// study or a wrapper's trial has; under `pbt` it is the paper's FedPop with both
// levels. Alone it runs one trial of budget.trial_rounds rounds.
package fedpop

import (
	"context"

	"github.com/fedfast/fedfast/internal/tuner/internal/batch"
	"github.com/fedfast/fedfast/internal/tuner/internal/options"
	"github.com/fedfast/fedfast/tuners"
)

// maxPopulation bounds what is sent with every answer.
const maxPopulation = 1000

// What members are compared by: a mean over slots that have validation samples.
const (
	valLoss    = "val_loss_after"
	valSamples = "examples_val"
)

// Tuner is FedPop. The zero value is ready to use.
type Tuner struct{}

var _ tuners.Tuner = Tuner{}

// Describe says what FedPop is.
func (Tuner) Describe(context.Context) (tuners.Description, error) { return description, nil }

var description = tuners.Description{
	Name:    "fedpop",
	Version: "1.0.0",
	Doc:     "FedPop: evolves a population of client configurations during training, by the clients' validation losses.",
	Options: []tuners.Option{
		{Name: "population", Default: tuners.Num(0), Doc: "number of configurations, at most 1000; 0: one for each client of a cohort"},
		{Name: "interval", Default: tuners.Num(5), Doc: "rounds between comparisons"},
		{Name: "quantile", Default: tuners.Num(0.3), Doc: "fraction of the population that is replaced, and that is copied, up to 0.5"},
		{Name: "eps", Default: tuners.Num(0.1), Doc: "maximum change of a copy, as a fraction of each range, 0..1"},
		{Name: "resample", Default: tuners.Num(0.1), Doc: "probability of perturbing the trial's own configuration instead of a copy, 0..1"},
		{Name: "discount", Default: tuners.Num(0.9), Doc: "weight of a loss compared with that of the next round, 0..1"},
	},
	Trials:   true,
	Seconds:  true,
	Rounds:   true,
	Controls: []string{"client.*"},
	Probes:   []string{valLoss},
	Scalars:  []string{valSamples},
}

// Validate checks the options and that there is something to tune.
func (Tuner) Validate(_ context.Context, req tuners.ValidateRequest) ([]tuners.Problem, error) {
	_, problems := readPlan(req.Options, req.Space)
	return problems, nil
}

// Open starts the session of one trial, or, for FedPop alone, that of the study.
func (Tuner) Open(_ context.Context, req tuners.OpenRequest) (tuners.Session, error) {
	p, problems := readPlan(req.Options, req.Space)
	if err := options.First("fedpop", problems); err != nil {
		return nil, err
	}
	if req.Trial == tuners.StudySession {
		return batch.Lone("fedpop", req)
	}
	return newSession(req, p)
}

// plan is what the options say.
type plan struct {
	population, interval              int
	quantile, eps, resample, discount float64
}

// readPlan fills in the defaults and returns everything that is wrong.
func readPlan(given tuners.Params, space tuners.Space) (plan, []tuners.Problem) {
	r := options.Read(description, given)
	share := func(name string) float64 {
		return r.Real(name, "from 0 to 1", func(x float64) bool { return x >= 0 && x <= 1 })
	}
	p := plan{
		population: r.Whole("population", 0, maxPopulation), interval: r.Whole("interval", 1, 1_000_000),
		quantile: r.Real("quantile", "greater than 0 and at most 0.5", func(x float64) bool { return x > 0 && x <= 0.5 }),
		eps:      share("eps"), resample: share("resample"), discount: share("discount"),
	}
	if len(space.Matching(description.Controls...)) == 0 {
		r.Problem("space", "fedpop tunes client.* dimensions, but the space has none")
	}
	return p, r.Problems
}
