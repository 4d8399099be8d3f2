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
	"github.com/fedfast/fedfast/internal/tuner/internal/options"
	"github.com/fedfast/fedfast/tuners"
)

// maxPopulation bounds what is sent with every answer.
const maxPopulation = 1000

// controls are the dimensions that FedPop tunes.
const controls = "client.*"

// What members are compared by: a mean over slots that have validation samples.
const (
	valLoss    = "val_loss_after"
	valSamples = "examples_val"
)

// Tuner is FedPop.
var Tuner = options.Tuner[plan]{About: tuners.Description{
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
	Controls: []string{controls},
	Probes:   []string{valLoss},
	Scalars:  []string{valSamples},
}, Plan: newPlan, Trial: newSession}

// plan is what the options say.
type plan struct {
	population, interval              int
	quantile, eps, resample, discount float64
}

func newPlan(r *options.Reader, req tuners.ValidateRequest) plan {
	p := plan{
		population: r.Whole("population", 0, maxPopulation), interval: r.Whole("interval", 1, 1_000_000),
		quantile: r.Real("quantile", "greater than 0 and at most 0.5", func(x float64) bool { return x > 0 && x <= 0.5 }),
		eps:      r.Share("eps"), resample: r.Share("resample"), discount: r.Share("discount"),
	}
	if len(req.Space.Matching(controls)) == 0 {
		r.Problem("space", "fedpop tunes client.* dimensions, but the space has none")
	}
	return p
}
