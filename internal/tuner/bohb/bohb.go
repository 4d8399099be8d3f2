// Package bohb is the built-in tuner `bohb` (Falkner et al. 2018): Hyperband's
// brackets, whose new trials are proposed by densities of good and bad ones at the
// largest number of rounds that enough of them have reached. Without a model, and for
// a share of the trials, points are random, and then those of `hyperband`.
package bohb

import (
	"cmp"
	"math"
	"slices"

	"github.com/fedfast/fedfast/internal/list"
	"github.com/fedfast/fedfast/internal/tuner/hyperband"
	"github.com/fedfast/fedfast/internal/tuner/internal/kde"
	"github.com/fedfast/fedfast/internal/tuner/internal/options"
	"github.com/fedfast/fedfast/internal/tuner/internal/points"
	"github.com/fedfast/fedfast/internal/tuner/internal/record"
	"github.com/fedfast/fedfast/internal/tuner/sha"
	"github.com/fedfast/fedfast/kernels/det"
	"github.com/fedfast/fedfast/tuners"
)

// maxCandidates is the end of an option.
const maxCandidates = 1024

// Tuner is BOHB.
var Tuner = options.Tuner[plan]{About: options.About("bohb", hyperband.Options...), Plan: newPlan, Study: open}

// plan is what the options and the budget fix.
type plan struct {
	schedule   []sha.Bracket
	random     float64
	candidates int
}

func newPlan(r *options.Reader, req tuners.ValidateRequest) plan {
	return plan{random: r.Share("random"), candidates: r.Whole("candidates", 1, maxCandidates), schedule: hyperband.Read(r, req.Budget)}
}

func open(req tuners.OpenRequest, p plan) (tuners.Session, error) {
	m := newModel(req)
	m.random, m.candidates = p.random, p.candidates
	if req.State == nil {
		m.recall(p.schedule)
	}
	return sha.Open("bohb", req, p.schedule, m)
}

// model proposes points by the densities of good and bad trials.
type model struct {
	req        tuners.OpenRequest
	free       []int // dimensions
	random     float64
	candidates int
	memory     memory
	current    *pair // of the memory; nil is not made yet
}

// memory is what was learned and may still matter: below the highest rung that has
// enough outcomes nothing does.
type memory struct {
	Seen []outcome `json:"seen,omitempty"` // by rung, at one rung by trial number
}

// outcome is how a trial did at a rung.
type outcome struct {
	Rung  int          `json:"rung"` // rounds
	Trial int          `json:"trial"`
	Point points.Point `json:"point"`
	record.Outcome
}

// maxSeen is how many outcomes of a rung count: the latest.
const maxSeen = 2000

func newModel(req tuners.OpenRequest) *model { return &model{req: req, free: points.Free(req.Space)} }

// Memory is what was learned.
func (m *model) Memory() any { return &m.memory }

// Learn notes an outcome, and forgets what no longer matters.
func (m *model) Learn(at points.Point, rung int, r tuners.TrialReport) {
	o := outcome{Rung: rung, Trial: r.Trial, Point: at, Outcome: record.OutcomeOf(r)}
	seen := m.memory.Seen
	i, _ := slices.BinarySearchFunc(seen, o, func(a, b outcome) int {
		return cmp.Or(cmp.Compare(a.Rung, b.Rung), cmp.Compare(a.Trial, b.Trial))
	})
	seen = slices.Insert(seen, i, o)
	for end := len(seen); end > 0; {
		first := slices.IndexFunc(seen, func(o outcome) bool { return o.Rung == seen[end-1].Rung })
		if end-first > maxSeen {
			seen = slices.Delete(seen, first, first+1)
			end--
		}
		if good, _ := m.split(seen[first:end]); good != nil {
			seen = slices.Clone(seen[first:])
			break
		}
		end = first
	}
	m.memory.Seen, m.current = seen, nil
}

// recall learns the trials of finished studies whose rounds are the rounds of a rung, in the
// order before all others.
func (m *model) recall(schedule []sha.Bracket) {
	for i, p := range m.req.Priors {
		if slices.ContainsFunc(schedule, func(b sha.Bracket) bool { return slices.Contains(b.Rungs, p.Round) }) {
			m.Learn(points.Of(m.req.Space, p.Params), p.Round, tuners.TrialReport{Trial: i - len(m.req.Priors), Score: p.Values[m.req.Objective.Metric]})
		}
	}
}

// split returns the good and the bad of a rung's outcomes: the best 15 % and as many
// of the others as 85 % are, each at least one more than the dimensions; nil when
// there are too few. Failed trials are the worst and never good.
func (m *model) split(rung []outcome) (good, bad []outcome) {
	scores := list.Of(rung, func(o outcome) float64 { return o.Number() })
	ranked := sha.Rank(m.req.Objective, scores)
	least := len(m.free) + 1
	goods := max(least, 15*len(rung)/100)
	if len(rung) < goods+least || len(ranked) < goods {
		return nil, nil
	}
	for i := range rung {
		if math.IsNaN(scores[i]) {
			ranked = append(ranked, i)
		}
	}
	bads := min(max(least, 85*len(rung)/100), len(rung)-goods)
	good = append(good, list.Of(ranked[:goods+bads], func(i int) outcome { return rung[i] })...)
	return good[:goods], good[goods:]
}

// pair are the densities of good and bad trials, and what candidates are drawn from.
type pair struct{ good, bad, wide *kde.Mixture }

// newPair returns the densities of a rung's outcomes, nil when there are too few.
func (m *model) newPair(rung []outcome) *pair {
	good, bad := m.split(rung)
	if good == nil {
		return nil
	}
	axes := make([]kde.Axis, len(m.free))
	for i, dim := range m.free {
		axes[i] = kde.Axis{High: 1, Open: true}
		if d := m.req.Space[dim]; d.Kind == tuners.Choice {
			axes[i] = kde.Axis{Choices: len(d.Choices)}
		}
	}
	kernels := m.kernels(axes, good)
	wide := slices.Clone(kernels[0].Width)
	for i, a := range axes {
		if c := float64(a.Choices); c > 0 {
			wide[i] = float64(wide[i]*(c-1)) / c // another choice is any, the kernel's own among them
		} else {
			wide[i] = float64(wide[i] * widen)
		}
	}
	p := &pair{good: kde.New(axes, kernels), bad: kde.New(axes, m.kernels(axes, bad))}
	wider := slices.Clone(kernels)
	for i := range wider {
		wider[i].Width = wide
	}
	p.wide = kde.New(axes, wider)
	return p
}

const (
	widen    = 3    // by which candidates are drawn farther from good trials than their density says
	minWidth = 1e-3 // least bandwidth
	floor    = 1e-32
)

// kernels returns equal kernels at outcomes, with the bandwidths of the normal
// reference: 1.06 n^(-1/(D+4)) standard deviations.
func (m *model) kernels(axes []kde.Axis, at []outcome) []kde.Kernel {
	n := float64(len(at))
	shrink := float64(1.06 * det.Exp(-det.Log(n)/float64(len(axes)+4)))
	out := list.Of(at, func(o outcome) kde.Kernel { return kde.Kernel{Weight: 1, Centre: m.unit(o.Point)} })
	width := make([]float64, len(axes))
	for i, a := range axes {
		mean, square := 0.0, 0.0
		for _, k := range out {
			mean += k.Centre[i] / n
		}
		for _, k := range out {
			square += float64((k.Centre[i]-mean)*(k.Centre[i]-mean)) / n
		}
		width[i] = max(float64(shrink*math.Sqrt(square)), minWidth)
		if c := float64(a.Choices); c > 0 {
			width[i] = min(width[i], (c-1)/c) // then all choices are equally likely
		}
	}
	for i := range out {
		out[i].Width = width
	}
	return out
}

// unit returns a point's numbers from 0 to 1: whole ones are the middle of equal
// parts. Choices stay indices.
func (m *model) unit(at points.Point) []float64 {
	x := at.Project(m.free)
	for i, dim := range m.free {
		switch d := m.req.Space[dim]; {
		case d.Kind == tuners.Choice:
		case d.Whole():
			x[i] = (x[i] - d.Lo + 0.5) / (d.Hi - d.Lo + 1)
		default:
			x[i] = (x[i] - d.Lo) / (d.Hi - d.Lo)
		}
	}
	return x
}

// point is the inverse of unit.
func (m *model) point(x []float64) points.Point {
	x = slices.Clone(x)
	for i, dim := range m.free {
		switch d := m.req.Space[dim]; {
		case d.Kind == tuners.Choice:
		case d.Whole():
			x[i] = min(d.Lo+math.Floor(float64(x[i]*(d.Hi-d.Lo+1))), d.Hi)
		default:
			x[i] = min(d.Lo+float64(x[i]*(d.Hi-d.Lo)), d.Hi)
		}
	}
	return points.At(m.req.Space, m.free, x)
}

// gain is what candidates are chosen by: how much likelier a point is among the good.
func (p *pair) gain(x []float64) float64 {
	least := det.Log(floor)
	return max(p.good.LogDensity(x), least) - max(p.bad.LogDensity(x), least)
}

// Propose returns the candidate of the largest gain, the first of a tie; nil without a
// model and for the share of trials that is left to chance.
func (m *model) Propose(trial int) points.Point {
	d := tuners.NewDraws(m.req.Seed, trial, 0, "bohb candidates")
	if d.Float64() < m.random || len(m.memory.Seen) == 0 {
		return nil
	}
	if m.current == nil {
		seen := m.memory.Seen
		end := slices.IndexFunc(seen, func(o outcome) bool { return o.Rung != seen[0].Rung })
		if end < 0 {
			end = len(seen)
		}
		if m.current = m.newPair(seen[:end]); m.current == nil {
			return nil
		}
	}
	var best []float64
	top := math.Inf(-1)
	for range m.candidates {
		x := m.current.wide.Draw(d)
		if gain := m.current.gain(x); best == nil || gain > top {
			best, top = x, gain
		}
	}
	return m.point(best)
}
