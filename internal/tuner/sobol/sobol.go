// Package sobol is the tuner with which `fedfast table record` trains: the points of a
// scrambled Sobol sequence, which fill the space evenly, each trained to the end. They
// depend on neither the seed nor the results, so that all sets and seeds have the same.
package sobol

import (
	"math"

	"github.com/fedfast/fedfast/internal/tuner/internal/batch"
	"github.com/fedfast/fedfast/internal/tuner/internal/options"
	"github.com/fedfast/fedfast/tuners"
)

// Name is the name of the tuner.
const Name = "sobol"

// Tuner trains floor(T/M) points (T = budget.rounds, M = budget.trial_rounds).
var Tuner = options.Tuner[uint64]{About: tuners.Description{
	Name:    Name,
	Version: "1.0.0",
	Doc:     "Points of a scrambled Sobol sequence, each trained for budget.trial_rounds rounds.",
	Options: []tuners.Option{{Name: "scramble", Default: tuners.Num(1), Doc: "number that keys the scrambling: equal numbers give equal points"}},
	Trials:  true, Conditions: true,
}, Plan: key, Study: open}

// key reads the option scramble, and checks the budget and that the sequence has the
// dimensions.
func key(r *options.Reader, req tuners.ValidateRequest) uint64 {
	if n := len(req.Space); n > MostDims {
		r.Problem("space", "%d dimensions: the Sobol sequence here has at most %d", n, MostDims)
	}
	if b := req.Budget; b.TrialRounds < 1 || b.Rounds < b.TrialRounds {
		r.Problem("budget.rounds", "%d rounds, %d per trial, train nothing", b.Rounds, b.TrialRounds)
	}
	return uint64(r.Whole("scramble", math.MinInt32, math.MaxInt32))
}

func open(req tuners.OpenRequest, key uint64) (tuners.Session, error) {
	return batch.Open(Name, req, req.Budget.Rounds/req.Budget.TrialRounds, func(trial int) tuners.Params {
		return Point(req.Space, key, trial)
	})
}

// Point is the point of a number in a space of at most MostDims dimensions.
func Point(space tuners.Space, key uint64, number int) tuners.Params {
	p := make(tuners.Params, len(space))
	for i, d := range space {
		p[d.Name] = d.Sample(Unit(key, uint32(number), i))
	}
	return space.Active(p)
}
