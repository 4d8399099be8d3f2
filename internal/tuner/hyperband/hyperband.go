// Package hyperband is the built-in tuner `hyperband`: successive halving in
// brackets that trade the number of trials against how long each runs before the
// first elimination; see Brackets and Schedule for the arithmetic. It spends
// budget.rounds in all.
package hyperband

import (
	"github.com/fedfast/fedfast/internal/tuner/internal/options"
	"github.com/fedfast/fedfast/internal/tuner/sha"
	"github.com/fedfast/fedfast/tuners"
)

// defaultTop is the most aggressive bracket unless the options say otherwise: three
// eliminations, as successive halving has.
const defaultTop = 3

// Tuner is Hyperband.
var Tuner = options.Tuner[[]sha.Bracket]{About: tuners.Description{
	Name:          "hyperband",
	Version:       "1.0.0",
	Doc:           "Hyperband: brackets of successive halving, from many short trials to few long ones, repeated until budget.rounds is spent.",
	Options:       Options,
	Trials:        true,
	Seconds:       true,
	Architectures: true,
}, Plan: plan, Study: open}

// Options are those that Read reads.
var Options = []tuners.Option{
	{Name: "eta", Default: tuners.Num(3), Doc: "keep one of eta trials at each rung"},
	{Name: "brackets", Default: tuners.Num(0), Doc: "number of brackets, R+1: the first eliminates R times, the last never; 0: 4, or fewer if budget.trial_rounds < eta^3"},
}

func plan(r *options.Reader, req tuners.ValidateRequest) []sha.Bracket { return Read(r, req.Budget) }

func open(req tuners.OpenRequest, schedule []sha.Bracket) (tuners.Session, error) {
	return sha.Open("hyperband", req, schedule, nil)
}

// Read reads Options and returns what a study of the budget runs, see Schedule.
func Read(r *options.Reader, b tuners.Budget) []sha.Bracket {
	return Schedule(b.Rounds, b.TrialRounds, ReadPass(r, b))
}

// ReadPass reads Options and returns one pass, see Brackets, a bracket of which the budget pays
// for; nil with problems.
func ReadPass(r *options.Reader, b tuners.Budget) []sha.Bracket {
	eta, brackets := r.Whole("eta", 2, maxEta), r.Whole("brackets", 0, maxBrackets)
	r.TrialRounds(b)
	if len(r.Problems) > 0 {
		return nil
	}
	top := brackets - 1
	if brackets == 0 {
		top = topBracket(b.TrialRounds, eta, defaultTop)
	}
	if key, message := check(b.Rounds, b.TrialRounds, eta, top); key != "" {
		r.Problem(key, "%s", message)
		return nil
	}
	return Brackets(b.TrialRounds, eta, top)
}
