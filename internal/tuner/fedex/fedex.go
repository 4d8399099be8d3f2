// Package fedex is the built-in tuner `fedex`: FedEx (Khodak et al., Federated
// Hyperparameter Tuning, NeurIPS 2021), which tunes the clients' hyperparameters
// while the federation trains. Each trial holds k configurations near the trial's
// own and a distribution theta over them; every client of a round trains with a
// drawn one, and theta moves by exponentiated gradient steps on the clients'
// validation errors.
//
// FedEx is a client tuner: put it under `sha` or `random`, which draw its centre
// and the server's hyperparameters. Alone it starts one trial of
// budget.trial_rounds rounds.
package fedex

import (
	"math"

	"github.com/fedfast/fedfast/internal/tuner/internal/options"
	"github.com/fedfast/fedfast/tuners"
)

// Gamma is the dimension that FedEx adds to the space: the discount of the
// baseline, drawn per trial.
const Gamma = "fedex.gamma"

// The names of the step size schedules: what eta0 is divided by.
const (
	Aggressive = "aggressive" // max |grad|, 1 when the gradient is zero
	Adaptive   = "adaptive"   // sqrt of the sum over rounds of max |grad|^2, 1 while the sum is 0
	Auto       = "auto"       // sqrt of the number of updates
	Constant   = "constant"   // 1
	Noise      = "noise"      // the noise of scores: theta is of each configuration's mean score in units of its standard error (ours)
)

// The names of the baselines, which steps subtract from the scores.
const (
	Past = "past" // the discounted mean of the past rounds' mean errors
	Zero = "zero" // 0, as Theorem 4.1 has it
)

// The names of the ways in which a client counts whose result was dropped or lost.
const (
	Worst    = "worst"    // as the worst: an error of 1, or the round's largest loss
	Diverged = "diverged" // so if its result was not finite, not at all if it was lost
	Skip     = "skip"     // not at all
)

// controls are the dimensions that FedEx tunes.
const controls = "client.*"

// Tuner is FedEx.
var Tuner = options.Tuner[settings]{Plan: readSettings, Trial: newSession, About: options.About("fedex")}

// settings are the checked options.
type settings struct {
	configs                                      int
	eps, eta0, gamma, cutoff                     float64
	schedule, baseline, dropped                  string
	drawConfigs, independent, diff, mle, asPaper bool
}

// readSettings checks the objective, too, and that there is something to tune.
func readSettings(r *options.Reader, req tuners.ValidateRequest) settings {
	s := settings{
		configs: r.Whole("configs", 1, 100_000), drawConfigs: r.Truth("draw_configs"), independent: r.Truth("independent"), eps: r.Share("eps"),
		schedule: r.OneOf("schedule", Aggressive, Adaptive, Auto, Constant, Noise),
		eta0:     r.Real("eta0", "positive, or 0 for the default", func(x float64) bool { return x >= 0 }),
		gamma:    r.Real("gamma", "from 0 to 1, or -1 for the trial's own", func(x float64) bool { return x == -1 || x >= 0 && x <= 1 }),
		baseline: r.OneOf("baseline", Past, Zero), dropped: r.OneOf("dropped", Worst, Diverged, Skip),
		cutoff: r.Real("cutoff", "non-negative", func(x float64) bool { return x >= 0 }),
		diff:   r.Truth("diff"), mle: r.Truth("mle"), asPaper: r.Truth("as_paper"),
	}
	if len(req.Space.Matching(controls)) == 0 {
		r.Problem("space", "fedex tunes client.* dimensions, but the space has none")
	}
	switch req.Objective.Metric {
	case "", tuners.MetricError, tuners.MetricLoss, tuners.MetricAccuracy, tuners.MetricRecall: // of the last two by the error, which is the rest
	default:
		r.Problem("objective", "fedex requires the target %q or %q, or one that is 1 minus the error, not %q", tuners.MetricError, tuners.MetricLoss, req.Objective.Metric)
	}
	return s
}

// Arms returns the configurations among which FedEx chooses in a trial, for
// reports: they depend on the space, the trial's params, the options, the study's
// seed and the trial's number alone. A trial that was forked has those of the trial
// that it came from. The error comes from an option.
func Arms(space tuners.Space, params, given tuners.Params, seed uint64, trial int) ([]tuners.Params, error) {
	r := options.Read(Tuner.About(), given)
	s := readSettings(r, tuners.ValidateRequest{Space: space})
	if err := options.First("fedex", r.Problems); err != nil {
		return nil, err
	}
	return drawConfigs(space.Matching(controls), params, s, seed, trial), nil
}

// drawConfigs returns a trial's configurations: the first is the trial's own, the
// others its neighbours or independent draws. They depend on the seed and the
// origin alone, so the state need not hold them.
func drawConfigs(space tuners.Space, centre tuners.Params, o settings, seed uint64, origin int) []tuners.Params {
	k := o.configs
	if o.drawConfigs {
		k = 1 + tuners.NewDraws(seed, origin, 0, "fedex number of configs").IntN(o.configs)
	}
	first := make(tuners.Params, len(space))
	for _, d := range space {
		first[d.Name] = centre[d.Name]
	}
	draws := tuners.NewDraws(seed, origin, 0, "fedex configs")
	configs := []tuners.Params{first}
	for len(configs) < k {
		switch {
		case o.independent:
			configs = append(configs, space.Sample(draws))
		case o.asPaper:
			configs = append(configs, perturbAsPaper(space, first, o.eps, draws))
		default:
			configs = append(configs, space.Perturb(first, o.eps, draws))
		}
	}
	return configs
}

// perturbAsPaper is Space.Perturb with the paper's neighbourhood of whole
// dimensions: {c - floor(w), ..., c + ceil(w)}, w = eps (hi - lo).
func perturbAsPaper(space tuners.Space, centre tuners.Params, eps float64, draws *tuners.Draws) tuners.Params {
	p := make(tuners.Params, len(space))
	for _, d := range space {
		u := draws.Float64()
		if !d.Whole() {
			p[d.Name] = d.Perturb(centre[d.Name], eps, u)
			continue
		}
		w := float64(eps * (d.Hi - d.Lo))
		below, above := math.Floor(w), math.Ceil(w)
		s := d.Scale(centre[d.Name]) - below + math.Floor(float64(u*(below+above+1)))
		p[d.Name] = d.Value(min(max(s, d.Lo), d.Hi))
	}
	return p
}
