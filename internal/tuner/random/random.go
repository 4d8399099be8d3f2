// Package random is the built-in tuner `random`: random search. It draws floor(T/M)
// points from the search space, runs each for M rounds and takes the best (T =
// budget.rounds, M = budget.trial_rounds).
package random

import (
	"github.com/fedfast/fedfast/internal/tuner/internal/batch"
	"github.com/fedfast/fedfast/internal/tuner/internal/options"
	"github.com/fedfast/fedfast/tuners"
)

// Tuner is random search.
var Tuner = options.Tuner[int]{About: options.About("random"), Plan: trials, Study: open}

// maxTrials bounds the option trials.
const maxTrials = 10_000_000

func trials(r *options.Reader, req tuners.ValidateRequest) int {
	return r.Trials(req.Budget, maxTrials)
}

func open(req tuners.OpenRequest, trials int) (tuners.Session, error) {
	return batch.Open("random", req, trials, func(trial int) tuners.Params {
		return req.Space.Sample(tuners.NewDraws(req.Seed, trial, 0, "trial params"))
	})
}
