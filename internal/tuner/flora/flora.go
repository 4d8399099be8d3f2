// Package flora is the built-in tuner `flora`: FLoRA (Zhou et al. 2022, arXiv 2202.08338).
// Every client trains by itself with the same configurations and tells their scores; the server
// models the score over the search space, and the point where the model is lowest is trained by
// all clients together. The models are Gaussian processes, as those of the tuner `bo`, where
// the paper has random forests.
package flora

import (
	"slices"

	"github.com/fedfast/fedfast/internal/tuner/internal/oneshot"
	"github.com/fedfast/fedfast/internal/tuner/internal/options"
	"github.com/fedfast/fedfast/tuners"
)

// The values of the option surface, by the paper's names.
const (
	pooled = "pooled" // SGM: one surface of all clients' scores
	mean   = "mean"   // APLM: the mean of the clients' surfaces
	worst  = "max"    // MPLM: the maximum of the clients' surfaces
)

const maxCandidates = 16384

// Tuner is FLoRA.
var Tuner = options.Tuner[plan]{About: tuners.Description{
	Name:    "flora",
	Version: "1.0.0",
	Doc: "FLoRA: clients train by themselves with the same configurations and tell their scores; the lowest point of a surface fitted to them " +
		"is trained for budget.trial_rounds rounds.",
	Options: append(slices.Clone(oneshot.Options),
		tuners.Option{Name: "surface", Default: tuners.Str(pooled), Doc: "surface whose lowest point is trained: pooled (one of all clients' scores), or mean or max of one for each client"},
		tuners.Option{Name: "candidates", Default: tuners.Num(1024), Doc: "number of points at which surfaces are compared, before the best few are refined"}),
	Trials:  true,
	Seconds: true,
	Local:   true,
}, Plan: newPlan, Study: open}

// plan is what the options fix.
type plan struct {
	oneshot.Plan
	surface    string
	candidates int
}

func newPlan(r *options.Reader, req tuners.ValidateRequest) plan {
	p := plan{oneshot.ReadPlan(r, req), r.OneOf("surface", pooled, mean, worst), r.Whole("candidates", 1, maxCandidates)}
	if req.Private && p.surface != pooled {
		r.Problem("options.surface", "%q needs the scores of each client, and a private study tells means over clients alone; use %q", p.surface, pooled)
	}
	return p
}

func open(req tuners.OpenRequest, p plan) (tuners.Session, error) {
	return oneshot.Open("flora", req, p.Plan, func(configs []tuners.Params, r tuners.TrialReport) (tuners.Params, error) {
		s, err := newSurface(req, p.surface, configs, r.Measured)
		if err != nil {
			return nil, err
		}
		return s.lowest(req.Seed, p.candidates).Params(req.Space), nil
	})
}
