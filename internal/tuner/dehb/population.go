package dehb

import (
	"slices"

	"github.com/fedfast/fedfast/internal/list"
	"github.com/fedfast/fedfast/internal/tuner/internal/record"
	"github.com/fedfast/fedfast/internal/tuner/sha"
	"github.com/fedfast/fedfast/tuners"
)

// population are the points of a rung, in the unit cube.
type population struct {
	Rung    int      `json:"rung"` // rounds
	Members []member `json:"members"`
	Parent  int      `json:"parent"` // index of the next one that is a parent
}

// member is a point and what came of its trial at the rung; it has not reported before its first
// trial.
type member struct {
	At     []float64 `json:"at"`
	Trial  int       `json:"trial"`
	Paused bool      `json:"paused,omitempty"` // the trial waits at the rung and may go on
	record.Outcome
}

// populations returns those of a pass, random points, the lowest rung first: each as large as the
// most trials that a bracket has at its rung.
func populations(pass []sha.Bracket, seed uint64, dims int) []population {
	var out []population
	for i, rung := range pass[0].Rungs {
		size := 0
		for _, b := range pass {
			if at := slices.Index(b.Rungs, rung); at >= 0 {
				size = max(size, b.Arms[at])
			}
		}
		p := population{Rung: rung, Members: make([]member, size)}
		for k := range p.Members {
			d := tuners.NewDraws(seed, k, i, "dehb population")
			p.Members[k].At = make([]float64, dims)
			for x := range dims {
				p.Members[k].At[x] = d.Float64()
			}
		}
		out = append(out, p)
	}
	return out
}

// next returns the index of the next parent: all have their turn.
func (p *population) next() int {
	i := p.Parent
	p.Parent = (i + 1) % len(p.Members)
	return i
}

// ranked returns indices, the best score first, then those that failed or have none in their
// order.
func (p *population) ranked(aim tuners.Objective) []int {
	scores := make([]float64, len(p.Members))
	for i, m := range p.Members {
		if scores[i] = m.Number(); !m.Reported {
			scores[i] = record.Outcome{Failed: true}.Number()
		}
	}
	order := sha.Rank(aim, scores)
	for i := range scores {
		if scores[i] != scores[i] {
			order = append(order, i)
		}
	}
	return order
}

// loses reports whether a parent makes room for a child of an outcome: where it is not better.
func (m *member) loses(child record.Outcome, aim tuners.Objective) bool {
	switch {
	case !m.Reported:
		return true
	case child.Failed:
		return false
	}
	return m.Failed || !aim.Better(m.Score, child.Score)
}

// evolution has the rules of differential evolution, rand/1/bin.
type evolution struct{ factor, crossover float64 }

// parents is how many points a mutation takes.
const parents = 3

// pool returns the points that mutations take: the best n of the population below or, if these
// are fewer than three, also mutants of all populations.
func (e evolution) pool(all []population, below, n int, aim tuners.Objective, d *tuners.Draws) [][]float64 {
	var out [][]float64
	from := &all[below]
	for _, i := range from.ranked(aim)[:min(n, len(from.Members))] {
		out = append(out, from.Members[i].At)
	}
	if len(out) >= parents {
		return out
	}
	var every [][]float64
	for _, p := range all {
		every = append(every, list.Of(p.Members, func(m member) []float64 { return m.At })...)
	}
	for range parents - len(out) + 1 {
		out = append(out, e.mutant(every, d))
	}
	return out
}

// mutant returns a + factor (b - c) of three different ones of the points.
func (e evolution) mutant(points [][]float64, d *tuners.Draws) []float64 {
	var taken []int
	for len(taken) < min(parents, len(points)) {
		if i := d.IntN(len(points)); !slices.Contains(taken, i) {
			taken = append(taken, i)
		}
	}
	for len(taken) < parents { // of a population of one or two
		taken = append(taken, taken[0])
	}
	a, b, c := points[taken[0]], points[taken[1]], points[taken[2]]
	return list.Made(len(a), func(x int) float64 { return a[x] + float64(e.factor*(b[x]-c[x])) })
}

// child crosses a parent with a mutant of the pool: each coordinate is the mutant's with a
// probability, at least one of them; those outside of the cube are drawn anew.
func (e evolution) child(parent []float64, pool [][]float64, d *tuners.Draws) []float64 {
	mutant := e.mutant(pool, d)
	out, crossed := slices.Clone(parent), false
	for x := range out {
		if d.Float64() < e.crossover {
			out[x], crossed = mutant[x], true
		}
	}
	if !crossed && len(out) > 0 {
		x := d.IntN(len(out))
		out[x] = mutant[x]
	}
	for x := range out {
		if !(out[x] >= 0 && out[x] < 1) {
			out[x] = d.Float64()
		}
	}
	return out
}
