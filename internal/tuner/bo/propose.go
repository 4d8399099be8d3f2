package bo

import (
	"slices"

	"github.com/fedfast/fedfast/internal/tuner/grid"
	"github.com/fedfast/fedfast/internal/tuner/internal/gp"
	"github.com/fedfast/fedfast/internal/tuner/internal/points"
	"github.com/fedfast/fedfast/tuners"
)

// refined is how many of the best candidates are refined; steps are the shares of a
// dimension by which, one after the other.
const refined = 4

var steps = [...]float64{0.1, 0.05, 0.02, 0.01, 0.005}

// proposer looks for the point of largest expected improvement.
type proposer struct {
	points.Scale
	process *gp.Process
	best    float64 // the lowest mean of the process at the points that were tried
	leader  point   // where that is
	seen    []point // tried or in flight: they are not proposed again while others are left
}

// scored is a point with its expected improvement.
type scored struct {
	point point
	gain  float64
}

// newProposer looks for proposals under a process given the points x.
func newProposer(s points.Scale, process *gp.Process, x []point) *proposer {
	r := &proposer{Scale: s, process: process, seen: slices.Clone(x)}
	for i := range x {
		if mean := process.Mean(i); i == 0 || mean < r.best {
			r.best, r.leader = mean, x[i]
		}
	}
	return r
}

// launch tells of a trial in flight: its outcome is expected to be the mean there.
func (r *proposer) launch(p point) (err error) {
	r.seen = append(r.seen, p)
	r.process, err = r.process.With(r.Features(p))
	return err
}

// gain is the expected improvement at a point, 0 where it is not above least.
func (r *proposer) gain(p point, least float64) float64 {
	return r.process.Improvement(r.Features(p), r.best, least)
}

// fresh says whether a point was neither tried nor is in flight.
func (r *proposer) fresh(p point) bool {
	return !slices.ContainsFunc(r.seen, func(q point) bool { return slices.Equal(p, q) })
}

// choose returns the best of the candidates and of the leader's neighbours, after
// refining the best few of them. Ties keep the earlier one. When none is fresh,
// because the whole space was tried, points repeat.
func (r *proposer) choose(candidates []point) point {
	for _, step := range steps {
		candidates = append(candidates, r.Near(r.leader, step)...)
	}
	var list []scored // the best few
	for _, p := range candidates {
		if r.fresh(p) {
			list = r.enter(list, p)
		}
	}
	if len(list) == 0 {
		for _, p := range candidates {
			list = r.enter(list, p)
		}
	}
	best := list[0]
	for _, c := range list {
		if c = r.refine(c); c.gain > best.gain {
			best = c
		}
	}
	return best.point
}

// enter puts a point in its place among the best few, after those of the same
// gain.
func (r *proposer) enter(list []scored, p point) []scored {
	least := -1.0
	if len(list) == refined {
		least = list[refined-1].gain
	}
	c := scored{p, r.gain(p, least)}
	if c.gain <= least {
		return list
	}
	at, _ := slices.BinarySearchFunc(list, c.gain, func(s scored, gain float64) int {
		if s.gain >= gain {
			return -1
		}
		return 1
	})
	list = slices.Insert(list, at, c)
	return list[:min(refined, len(list))]
}

// refine climbs from a candidate: for each step, it moves to the best fresh
// neighbour as long as that is better.
func (r *proposer) refine(c scored) scored {
	const moves = 20
	for _, step := range steps {
		for range moves {
			next := c
			for _, p := range r.Near(c.point, step) {
				if gain := r.gain(p, next.gain); gain > next.gain && r.fresh(p) {
					next = scored{p, gain}
				}
			}
			if next.gain == c.gain {
				break
			}
			c = next
		}
	}
	return c
}

// candidates lists where to compare: every point of a space that has no more than
// n, else n random ones that are drawn anew for each trial.
func candidates(s points.Scale, seed uint64, trial, n int) []point {
	var out []point
	if !s.Real() {
		if count, all := grid.Count(s.Space, 1, n); all {
			for i := range count {
				out = append(out, points.Of(s.Space, grid.Point(s.Space, 1, i)))
			}
			return out
		}
	}
	d := tuners.NewDraws(seed, trial, 0, "bo candidates")
	for range n {
		out = append(out, s.Draw(d))
	}
	return out
}
