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

// Name is the name of the tuner.
const Name = "proxy"

// maxTrials bounds the option trials.
const maxTrials = 1000

// Tuner is one-shot proxy search.
var Tuner = options.Tuner[int]{About: options.About("proxy"), Plan: trials, Study: open}

func trials(r *options.Reader, req tuners.ValidateRequest) int {
	r.Whole("trials", 1, maxTrials) // not 0, which Trials takes for as many as the budget pays for
	return r.Trials(req.Budget, maxTrials)
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
	var whole []trained
	for _, p := range req.Priors {
		if o := record.PriorOf(req.Aims(), p); p.Whole && !o.Failed {
			whole = append(whole, trained{p.Params, o})
		}
	}
	slices.SortStableFunc(whole, func(a, b trained) int {
		switch {
		case a.Better(b.Outcome, req.Objective):
			return -1
		case b.Better(a.Outcome, req.Objective):
			return 1
		}
		return 0
	})
	var out []tuners.Params
	for _, t := range whole {
		if !slices.ContainsFunc(out, t.params.Equal) {
			out = append(out, t.params)
		}
	}
	return out
}

// trained is a configuration of a finished study with its outcome.
type trained struct {
	params tuners.Params
	record.Outcome
}
