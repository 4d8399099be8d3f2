// Package bohb is the built-in tuner `bohb` (Falkner et al. 2018): Hyperband's
// brackets, whose new trials are proposed by densities of good and bad ones at the
// largest number of rounds that enough of them have reached. Without a model, and for
// a share of the trials, points are random, and then those of `hyperband`.
package bohb

import (
	"slices"

	"github.com/fedfast/fedfast/internal/tuner/hyperband"
	"github.com/fedfast/fedfast/internal/tuner/internal/options"
	"github.com/fedfast/fedfast/internal/tuner/sha"
	"github.com/fedfast/fedfast/tuners"
)

// maxCandidates is the end of an option.
const maxCandidates = 1024

// Tuner is BOHB.
var Tuner = options.Tuner[plan]{About: tuners.Description{
	Name:    "bohb",
	Version: "1.0.0",
	Doc:     "BOHB: Hyperband whose new trials come from a density of the good trials at the largest number of rounds that enough have reached.",
	Options: slices.Concat(hyperband.Options, []tuners.Option{
		{Name: "random", Default: tuners.Num(1.0 / 3), Doc: "share of trials with random points, from 0 to 1; 1: hyperband"},
		{Name: "candidates", Default: tuners.Num(64), Doc: "number of points that are drawn and compared for each trial"},
	}),
	Trials:        true,
	Seconds:       true,
	Architectures: true,
	Priors:        true,
}, Plan: newPlan, Study: open}

// plan is what the options and the budget fix.
type plan struct {
	schedule   []sha.Bracket
	random     float64
	candidates int
}

func newPlan(r *options.Reader, req tuners.ValidateRequest) plan {
	return plan{random: r.Share("random"), candidates: r.Whole("candidates", 1, maxCandidates), schedule: hyperband.Read(r, req.Budget)}
}

func open(req tuners.OpenRequest, p plan) (tuners.Session, error) {
	m := newModel(req)
	m.random, m.candidates = p.random, p.candidates
	if req.State == nil {
		m.recall(p.schedule)
	}
	return sha.Open("bohb", req, p.schedule, m)
}
