// Package proxy is the built-in tuner `proxy`, the one-shot proxy search of Kuo et al. (2023):
// the best configuration that finished studies found, on data of another federation, is trained
// once on this one. No score of this federation is needed.
package proxy

import (
	"slices"

	"github.com/fedfast/fedfast/internal/tuner/internal/batch"
	"github.com/fedfast/fedfast/internal/tuner/internal/options"
	"github.com/fedfast/fedfast/internal/tuner/internal/record"
	"github.com/fedfast/fedfast/tuners"
)

// Name is that of the tuner.
const Name = "proxy"

// maxTrials bounds the option trials.
const maxTrials = 1000

// Tuner is one-shot proxy search.
var Tuner = options.Tuner[int]{About: tuners.Description{
	Name:    Name,
	Version: "1.0.0",
	Doc:     "One-shot proxy search: trains the best configurations of finished studies of other data (tuner.from) for budget.trial_rounds rounds.",
	Options: []tuners.Option{
		{Name: "trials", Default: tuners.Num(1), Doc: "how many of the best configurations are trained; random ones where the studies have fewer"},
	},
	Trials:        true,
	Architectures: true,
	Conditions:    true,
	Priors:        true,
}, Plan: trials, Study: open}

func trials(r *options.Reader, req tuners.ValidateRequest) int {
	if n := r.Whole("trials", 1, maxTrials); n > 1 || len(r.Problems) > 0 {
		return r.Trials(req.Budget, maxTrials)
	}
	return min(1, r.Trials(req.Budget, maxTrials))
}

func open(req tuners.OpenRequest, n int) (tuners.Session, error) {
	best := ranked(req)
	return batch.Open(Name, req, n, func(trial int) tuners.Params {
		if trial < len(best) {
			return best[trial]
		}
		return req.Space.Sample(tuners.NewDraws(req.Seed, trial, 0, "trial params"))
	})
}

// ranked returns the configurations of finished studies, the one with the best score after all
// rounds first, ties in the order of the studies; one that several trained has its best score.
func ranked(req tuners.OpenRequest) []tuners.Params {
	priors := slices.DeleteFunc(slices.Clone(req.Priors), func(p tuners.Prior) bool { return !p.Whole })
	slices.SortStableFunc(priors, func(a, b tuners.Prior) int {
		x, y := record.PriorOf(req.Aims(), a), record.PriorOf(req.Aims(), b)
		switch {
		case x.Failed || y.Failed:
			return btoi(x.Failed) - btoi(y.Failed)
		case x.Better(y, req.Objective):
			return -1
		case y.Better(x, req.Objective):
			return 1
		}
		return 0
	})
	var out []tuners.Params
	for _, p := range priors {
		if !slices.ContainsFunc(out, p.Params.Equal) {
			out = append(out, p.Params)
		}
	}
	return out
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}
