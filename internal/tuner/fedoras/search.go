package fedoras

import (
	"slices"

	"github.com/fedfast/fedfast/internal/list"
	"github.com/fedfast/fedfast/internal/pareto"
	"github.com/fedfast/fedfast/tuners"
)

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
