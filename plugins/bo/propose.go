package bo

import (
	"slices"

	"github.com/fedfast/fedfast/plugins/bo/gp"
	"github.com/fedfast/fedfast/plugins/grid"
	"github.com/fedfast/fedfast/tuners"
)

// refined is how many of the best candidates are refined; steps are the shares of a dimension by which, one after the other.
const refined = 4

var steps = [...]float64{0.1, 0.05, 0.02, 0.01, 0.005}

// proposer looks for the point of largest expected improvement.
type proposer struct {
	scale
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

// newProposer models the scores y (lower is better) of the trials that reported, at points x.
func newProposer(s scale, x []point, y []float64) (*proposer, error) {
	features := make([][]float64, len(x))
	for i, p := range x {
		features[i] = s.features(p)
	}
	// The time of a fit grows with the cube of the points; the more there are, the less the hyperparameters move between proposals.
	iterations := min(max(500_000/(len(x)*len(x)), 10), 50)
	process, err := gp.New(gp.Fit(features, y, iterations), features, y)
	if err != nil {
		return nil, err
	}
	r := &proposer{scale: s, process: process, seen: slices.Clone(x)}
	for i, f := range features {
		if mean, _ := process.Predict(f); i == 0 || mean < r.best {
			r.best, r.leader = mean, x[i]
		}
	}
	return r, nil
}

// launch tells of a trial in flight: its outcome is expected to be the mean there.
func (r *proposer) launch(p point) (err error) {
	r.seen = append(r.seen, p)
	r.process, err = r.process.With(r.features(p))
	return err
}

// gain is the expected improvement at a point.
func (r *proposer) gain(p point) float64 {
	mean, deviation := r.process.Predict(r.features(p))
	return gp.ExpectedImprovement(mean, deviation, r.best)
}

// fresh says whether a point was neither tried nor is in flight.
func (r *proposer) fresh(p point) bool {
	return !slices.ContainsFunc(r.seen, func(q point) bool { return slices.Equal(p, q) })
}

// choose returns the best of the candidates and of the leader's neighbours, after refining the best few of them. Ties keep the earlier
// one. When none is fresh, because the whole space was tried, points repeat.
func (r *proposer) choose(candidates []point) point {
	for _, step := range steps {
		candidates = append(candidates, r.near(r.leader, step)...)
	}
	list := make([]scored, 0, len(candidates))
	for _, p := range candidates {
		if r.fresh(p) {
			list = append(list, scored{p, r.gain(p)})
		}
	}
	if len(list) == 0 {
		for _, p := range candidates {
			list = append(list, scored{p, r.gain(p)})
		}
	}
	slices.SortStableFunc(list, func(a, b scored) int {
		switch {
		case a.gain > b.gain:
			return -1
		case a.gain < b.gain:
			return 1
		}
		return 0
	})
	best := list[0]
	for _, c := range list[:min(refined, len(list))] {
		if c = r.refine(c); c.gain > best.gain {
			best = c
		}
	}
	return best.point
}

// refine climbs from a candidate: for each step, it moves to the best fresh neighbour as long as that is better.
func (r *proposer) refine(c scored) scored {
	const moves = 20
	for _, step := range steps {
		for range moves {
			next := c
			for _, p := range r.near(c.point, step) {
				if gain := r.gain(p); gain > next.gain && r.fresh(p) {
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

// candidates lists where to compare: every point of a space that has no more than n, else n random ones that are drawn anew for each trial.
func (s scale) candidates(seed uint64, trial, n int) []point {
	var out []point
	if !s.real() {
		if count, all := grid.Count(s.space, 1, n); all {
			for i := range count {
				out = append(out, s.point(grid.Point(s.space, 1, i)))
			}
			return out
		}
	}
	d := tuners.NewDraws(seed, trial, 0, "bo candidates")
	for range n {
		out = append(out, s.draw(d))
	}
	return out
}
