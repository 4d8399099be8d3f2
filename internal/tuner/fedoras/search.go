package fedoras

import (
	"cmp"
	"math"
	"slices"

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
		whole := make([]int, len(s.dims))
		for d := range s.dims {
			whole[d] = len(s.dims[d].Choices) - 1
		}
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
// has networks, the fittest first: front after front of those that none of the rest
// beats in both score and operations, and within a front those with the most room around
// them first.
func (s *study) fittest(all []int) []int {
	rest := slices.Clone(all)
	var out []int
	for len(rest) > 0 && len(out) < s.set.population {
		var front, behind []int
		for _, i := range rest {
			if slices.ContainsFunc(rest, func(j int) bool { return s.dominates(j, i) }) {
				behind = append(behind, i)
			} else {
				front = append(front, i)
			}
		}
		out = append(out, s.spread(front)...)
		rest = behind
	}
	return out[:min(len(out), s.set.population)]
}

// dominates says whether network i is as good as j in both and better in one.
func (s *study) dominates(i, j int) bool {
	a, b := &s.state.Seen[i], &s.state.Seen[j]
	x, y := a.score(), b.score()
	better, worse := s.req.Objective.Better(x, y), s.req.Objective.Better(y, x)
	return !worse && a.FLOPs <= b.FLOPs && (better || a.FLOPs < b.FLOPs)
}

// spread sorts a front by crowding distance, the largest first: how far a network's
// neighbours along the front are from each other, in shares of the front's extent.
func (s *study) spread(front []int) []int {
	slices.SortStableFunc(front, func(i, j int) int { return cmp.Compare(s.state.Seen[i].FLOPs, s.state.Seen[j].FLOPs) })
	last := len(front) - 1
	room := make(map[int]float64, len(front))
	part := func(of func(n *network) float64, i int) float64 {
		at := func(k int) float64 { return of(&s.state.Seen[front[k]]) }
		whole := math.Abs(at(last) - at(0))
		if !(whole > 0) { // also where a score is no number
			return 0
		}
		return math.Abs(at(i+1)-at(i-1)) / whole
	}
	for i, n := range front {
		if i == 0 || i == last {
			room[n] = math.Inf(1)
			continue
		}
		room[n] = part(func(n *network) float64 { return n.FLOPs }, i) + part((*network).score, i)
	}
	slices.SortStableFunc(front, func(i, j int) int { return cmp.Compare(room[j], room[i]) })
	return front
}
