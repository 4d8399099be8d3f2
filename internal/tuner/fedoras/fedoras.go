// Package fedoras is the built-in tuner `fedoras`: after FedorAS (Dudziak, Laskaridis and
// Fernandez-Marques 2022, arXiv:2205.05101), it trains a supernet by sub-networks that are
// drawn at random, searches among them without training any, and trains those that it
// found on. The search is NSGA-II (Deb et al. 2002) over score and operations; what it
// found is the best sub-network of each tier of operations.
//
// It is a tuner and its own client tuner, for the method `supernet`; with
// server.holders and server.weighted that merges as FedorAS's aggregation per operation
// does: a parameter is the mean over the clients that trained it, by their examples.
//
// It differs from the paper in that a client trains one sub-network in a round, where
// there each batch has its own, that clients have no tiers of their own, whose larger
// sub-networks they leave out, and that what was found is trained on by all clients.
package fedoras

import (
	"cmp"
	"math"
	"slices"

	"github.com/fedfast/fedfast/internal/list"
	"github.com/fedfast/fedfast/internal/pareto"
	"github.com/fedfast/fedfast/internal/tuner/internal/options"
	"github.com/fedfast/fedfast/tuners"
)

// picks are the dimensions that the tuner controls.
const picks = tuners.ArchPrefix + "*"

// Tuner is FedorAS.
var Tuner = options.Tuner[settings]{About: options.About("fedoras"), Plan: readSettings, Study: openStudy, Trial: openTrial}

// settings are the checked options.
type settings struct {
	supernet, tune                 int // rounds
	tiers, population, generations int
	mutation                       float64
}

func readSettings(r *options.Reader, req tuners.ValidateRequest) settings {
	b := req.Budget
	s := settings{
		tune: r.Whole("tune_rounds", 0, math.MaxInt32), tiers: r.Whole("tiers", 1, 64), population: r.Whole("population", 4, tuners.MaxPoints), generations: r.Whole("generations", 1, 1000),
		mutation: r.Share("mutation"),
	}
	s.tune = cmp.Or(s.tune, max(1, b.TrialRounds/5))
	s.supernet = b.TrialRounds - s.tune
	r.Choices(req.Space.Matching(picks), `fedoras needs choices: use method "supernet" and a model with choices, such as mbv3-cifar`)
	if len(r.Problems) > 0 {
		return s
	}
	switch cost := s.supernet + s.tiers*s.tune; {
	case s.supernet < 1:
		r.Problem("options.tune_rounds", "%d of the %d rounds of a trial (budget.trial_rounds) leave none for the supernet", s.tune, b.TrialRounds)
	case b.Rounds > 0 && cost > b.Rounds:
		r.Problem("budget.rounds", "%d rounds for the supernet and %d for each of %d networks are %d, more than %d", s.supernet, s.tune, s.tiers, cost, b.Rounds)
	}
	return s
}

func openTrial(req tuners.OpenRequest, set settings) (tuners.Session, error) {
	return &rounds{req: req, set: set, dims: req.Space.Matching(picks)}, nil
}

// tries is how often a child is made anew that was seen before.
const tries = 32

// children returns the next generation: at first the smallest network, the largest and
// others at random, then children of the fittest, each of two winners of tournaments of
// two. None was scored before; there are fewer where no more are found.
func (s *study) children() [][]int {
	st := &s.state
	draws := tuners.NewDraws(s.req.Seed, tuners.StudySession, st.Generation, "fedoras generation")
	var asked [][]int
	add := func(pick []int) bool {
		if s.seen(pick, asked) {
			return false
		}
		asked = append(asked, pick)
		return true
	}
	if st.Generation == 0 {
		whole := list.Made(len(s.dims), func(d int) int { return len(s.dims[d].Choices) - 1 })
		add(make([]int, len(s.dims)))
		add(whole)
	}
	for missed := 0; len(asked) < s.set.population && missed < tries; {
		pick := drawn(s.dims, draws)
		if st.Generation > 0 {
			pick = s.child(draws)
		}
		if add(pick) {
			missed = 0
		} else {
			missed++
		}
	}
	return asked
}

// child crosses two winners choice by choice and mutates what comes of it.
func (s *study) child(draws *tuners.Draws) []int {
	parents := s.state.Parents // the fittest first
	winner := func() []int {
		return s.state.Seen[parents[min(draws.IntN(len(parents)), draws.IntN(len(parents)))]].Pick
	}
	a, b := winner(), winner()
	pick := slices.Clone(a)
	for d := range pick {
		if draws.Float64() < 0.5 {
			pick[d] = b[d]
		}
		if draws.Float64() < s.set.mutation {
			pick[d] = draws.IntN(len(s.dims[d].Choices))
		}
	}
	return pick
}

// fittest returns the parents of the next generation, at most as many as a generation
// has networks, the fittest first in score and operations, as NSGA-II keeps them.
func (s *study) fittest(all []int) []int {
	losses := make([][]float64, len(all))
	for k, i := range all {
		n := &s.state.Seen[i]
		score := n.score()
		if s.req.Objective.Direction == tuners.Maximize {
			score = -score
		}
		losses[k] = []float64{score, n.FLOPs}
	}
	return list.Of(pareto.Fittest(losses, s.set.population), func(k int) int { return all[k] })
}
