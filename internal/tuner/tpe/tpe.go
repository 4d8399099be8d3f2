// Package tpe is the built-in tuner `tpe`: the tree-structured Parzen estimator, in
// the multivariate form of Optuna's sampler. It splits the trials into few good ones
// and the others, estimates a density of each (package kde), and of some points drawn
// from the good ones' density takes the one where it exceeds the others' most.
// Trials in flight count among the others, so that points proposed together differ.
package tpe

import (
	"cmp"
	"math"
	"slices"

	"github.com/fedfast/fedfast/internal/list"
	"github.com/fedfast/fedfast/internal/pareto"
	"github.com/fedfast/fedfast/internal/tuner/internal/guided"
	"github.com/fedfast/fedfast/internal/tuner/internal/kde"
	"github.com/fedfast/fedfast/internal/tuner/internal/options"
	"github.com/fedfast/fedfast/internal/tuner/internal/points"
	"github.com/fedfast/fedfast/internal/tuner/sha"
	"github.com/fedfast/fedfast/kernels/det"
	"github.com/fedfast/fedfast/tuners"
)

// The ends of the options.
const (
	maxTrials     = 2000 // their points are sent with every answer
	maxCandidates = 1024
)

// Tuner is the tree-structured Parzen estimator.
var Tuner = options.Tuner[plan]{About: options.About("tpe"), Plan: newPlan, Study: open}

// plan is what the options and the budget fix.
type plan struct {
	guided.Plan
	candidates int
}

func newPlan(r *options.Reader, req tuners.ValidateRequest) plan {
	return plan{candidates: r.Whole("candidates", 1, maxCandidates), Plan: guided.ReadPlan(r, req.Budget, 0, maxTrials)}
}

func open(req tuners.OpenRequest, p plan) (tuners.Session, error) {
	return guided.Open("tpe", req, p.Plan, &model{req: req, initial: p.Initial, candidates: p.candidates})
}

// model proposes points by two densities.
type model struct {
	req                 tuners.OpenRequest
	initial, candidates int
}

// Memory is empty: the trials say everything.
func (*model) Memory() any { return nil }

// Propose returns the points of the next trials, none while fewer trials than the
// first random ones have ended. Each counts as in flight for those behind it.
func (m *model) Propose(trials []guided.Trial, n int) ([]points.Point, error) {
	over, scored := 0, false
	for _, t := range trials {
		if t.Reported {
			over++
			scored = scored || !t.Failed
		}
	}
	if over < m.initial || !scored {
		return nil, nil
	}
	known := slices.Clone(trials)
	var out []points.Point
	for i := range n {
		p := newPair(m.req, known).choose(tuners.NewDraws(m.req.Seed, len(trials)+i, 0, "tpe candidates"), m.candidates)
		out = append(out, p)
		known = append(known, guided.Trial{Point: p})
	}
	return out, nil
}

// pair are the densities of the good trials and of the others.
type pair struct {
	space       tuners.Space
	free        []int // dimensions
	conditional bool
	good, other *kde.Mixture
}

// newPair splits trials, which are in the order of their numbers.
func newPair(req tuners.OpenRequest, trials []guided.Trial) *pair {
	p := &pair{space: req.Space, free: points.Free(req.Space), conditional: req.Space.Conditional()}
	axes := make([]kde.Axis, len(p.free))
	for i, dim := range p.free {
		switch d := req.Space[dim]; {
		case d.Kind == tuners.Choice:
			axes[i] = kde.Axis{Choices: len(d.Choices)}
		case d.Whole():
			axes[i] = kde.Axis{Low: d.Lo - 0.5, High: d.Hi + 0.5, Cell: true}
		default:
			axes[i] = kde.Axis{Low: d.Lo, High: d.Hi}
		}
	}
	good := split(req.Aims(), trials)
	var below, above [][]float64
	var best []guided.Trial
	for i, t := range trials {
		if x := p.active(t.Point.Project(p.free)); good[i] {
			below, best = append(below, x), append(best, t)
		} else {
			above = append(above, x)
		}
	}
	p.good, p.other = kde.New(axes, kernels(axes, below, worths(req.Aims(), best))), kde.New(axes, kernels(axes, above, nil))
	return p
}

// active returns the numbers of a point, NaN at dimensions whose condition it does not meet.
func (p *pair) active(x []float64) []float64 {
	if !p.conditional {
		return x
	}
	params := points.At(p.space, p.free, x).Params(p.space)
	x = slices.Clone(x)
	for i, dim := range p.free {
		if _, ok := params[p.space[dim].Name]; !ok {
			x[i] = math.NaN()
		}
	}
	return x
}

// maxGood is the most trials that count as good.
const maxGood = 25

// split says which of the trials are good: of those that have reported a tenth, rounded
// up. It takes the feasible ones with the best scores, ties to lower numbers, or in several
// objectives see fittest; then those that exceed constraints the least. Failed trials
// count, but never as good.
func split(aims tuners.Aims, trials []guided.Trial) []bool {
	over := 0
	scores := make([]float64, len(trials))
	var feasible, others []int
	for i, t := range trials {
		if scores[i] = math.NaN(); !t.Reported {
			continue
		}
		over++
		switch {
		case t.Failed:
		case t.Violation > 0:
			others = append(others, i)
		default:
			scores[i] = t.Number()
			feasible = append(feasible, i)
		}
	}
	n := min((over+9)/10, maxGood)
	best := sha.Keep(aims.Objectives[0], scores, n)
	if len(aims.Objectives) > 1 && len(feasible) > n {
		best = fittest(trials, feasible, n)
	}
	slices.SortStableFunc(others, func(i, j int) int { return cmp.Compare(trials[i].Violation, trials[j].Violation) })
	good := make([]bool, len(trials))
	for _, i := range slices.Concat(best, others[:min(n-len(best), len(others))]) {
		good[i] = true
	}
	return good
}

// full is how many of the latest trials have full weight.
const full = 25

// kernels returns one kernel for each point, in their order, and after them that of
// the prior.
// The weights are those given, or if they are nil those by age.
func kernels(axes []kde.Axis, at [][]float64, weights []float64) []kde.Kernel {
	n := len(at)
	// 0.2 n^(-1/(D+4)) of an axis' length, but no less than the magic clip.
	share := float64(0.2 * det.Exp(-det.Log(float64(max(n, 1)))/float64(len(axes)+4)))
	share = min(max(share, 1/min(100, float64(n+2))), 1)
	width, middle, wide := make([]float64, len(axes)), make([]float64, len(axes)), make([]float64, len(axes))
	for i, a := range axes {
		if c := float64(a.Choices); c > 0 {
			// 1/(n+1) is added to the count of each choice, which is 1 or 0.
			width[i], wide[i] = (c-1)/(c+float64(n+1)), (c-1)/c
			continue
		}
		width[i], middle[i], wide[i] = float64(share*(a.High-a.Low)), float64(0.5*(a.Low+a.High)), a.High-a.Low
	}
	out := make([]kde.Kernel, 0, n+1)
	for i, x := range at {
		k := kde.Kernel{Weight: weight(i, n), Centre: x, Width: width}
		if weights != nil {
			k.Weight = weights[i]
		}
		if slices.ContainsFunc(x, math.IsNaN) { // there it says as little as the prior
			k.Centre, k.Width = slices.Clone(x), slices.Clone(width)
			for dim := range x {
				if x[dim] != x[dim] {
					k.Centre[dim], k.Width[dim] = middle[dim], wide[dim]
				}
			}
		}
		out = append(out, k)
	}
	return append(out, kde.Kernel{Weight: 1, Centre: middle, Width: wide})
}

// weight is the weight of trial i of n: 1 for the latest 25, before them rising evenly from
// 1/n to 1.
func weight(i, n int) float64 {
	ramp := n - full
	switch {
	case i >= ramp:
		return 1
	case ramp == 1:
		return 1 / float64(n)
	}
	least := 1 / float64(n)
	return least + float64((1-least)*float64(i))/float64(ramp-1)
}

// gain is what a point is chosen by: how much likelier it is among the good.
func (p *pair) gain(x []float64) float64 { return p.good.LogDensity(x) - p.other.LogDensity(x) }

// choose returns the point of the largest gain of some that are drawn from the good
// ones' density, the first of a tie.
func (p *pair) choose(d *tuners.Draws, candidates int) points.Point {
	var best []float64
	top := math.Inf(-1)
	for range candidates {
		x := p.good.Draw(d)
		if gain := p.gain(p.active(x)); best == nil || gain > top {
			best, top = x, gain
		}
	}
	return points.At(p.space, p.free, best)
}

// fittest returns n of the feasible trials in several objectives, as MOTPE splits (Ozaki et
// al. 2022) in Optuna's form: whole fronts, and of the one that does not fit those that
// together have the largest hypervolume.
func fittest(trials []guided.Trial, feasible []int, n int) []int {
	losses := list.Of(feasible, func(i int) []float64 { return trials[i].Losses })
	ranks := pareto.Ranks(losses)
	var out []int
	for rank := 0; len(out) < n; rank++ {
		var front []int
		var points [][]float64
		for k, i := range feasible {
			if ranks[k] == rank {
				front, points = append(front, i), append(points, losses[k])
			}
		}
		if len(front) <= n-len(out) {
			out = append(out, front...)
			continue
		}
		for _, k := range pareto.Subset(points, n-len(out), pareto.Reference(points)) {
			out = append(out, front[k])
		}
	}
	return out
}

// worths are the weights of good trials in several objectives, what each adds to their
// hypervolume in shares of the largest; nil with one objective. Trials beyond a constraint
// have next to none.
func worths(aims tuners.Aims, good []guided.Trial) []float64 {
	if len(aims.Objectives) < 2 || len(good) == 0 {
		return nil
	}
	out := slices.Repeat([]float64{pareto.Least}, len(good))
	var points [][]float64
	var at []int
	for i, t := range good {
		if t.Violation == 0 {
			points, at = append(points, t.Losses), append(at, i)
		}
	}
	if len(at) == 1 {
		out[at[0]] = 1
	}
	if len(at) < 2 {
		return out
	}
	parts := pareto.Contributions(points, pareto.Reference(points))
	most := max(slices.Max(parts), pareto.Least)
	for k, x := range parts {
		out[at[k]] = min(max(x/most, pareto.Least), 1)
	}
	return out
}
