package bo

import (
	"slices"

	"github.com/fedfast/fedfast/internal/tuner/internal/gp"
	"github.com/fedfast/fedfast/internal/tuner/internal/guided"
	"github.com/fedfast/fedfast/tuners"
)

// model proposes points by a Gaussian process.
type model struct {
	req        tuners.OpenRequest
	scale      scale
	candidates int
	fitted     fit
	process    *gp.Process // of the last proposals, whose work the next ones need not do again
}

// fit is the result of the last fit.
type fit struct {
	Scores int      `json:"scores,omitempty"` // the number of scores that it was fitted to, 0 before the first
	Hyper  gp.Hyper `json:"hyper"`
}

// stale says whether a number of scores calls for a new fit: up to 30, every new score
// does, then a tenth more. A fit's time grows with the cube of the number of scores,
// and the more there are, the less the hyperparameters move.
func (f fit) stale(scores int) bool {
	return scores != f.Scores && (scores <= 30 || scores >= f.Scores+(f.Scores+9)/10)
}

// Memory is the last fit.
func (m *model) Memory() any { return &m.fitted }

// fitIterations bounds each search of a fit.
const fitIterations = 50

// Propose returns the points of the next trials, none while no trial has a score.
func (m *model) Propose(trials []guided.Trial, n int) ([]point, error) {
	var x, flying []point
	var y []float64
	for _, t := range trials {
		if t.Reported {
			x, y = append(x, t.Point), append(y, t.Value(m.req.Objective))
		} else {
			flying = append(flying, t.Point)
		}
	}
	if !tame(y) {
		return nil, nil
	}
	features := make([][]float64, len(x))
	for i, p := range x {
		features[i] = m.scale.features(p)
	}
	if m.fitted.stale(len(x)) {
		m.fitted, m.process = fit{Scores: len(x), Hyper: gp.Fit(features, y, fitIterations)}, nil
	}
	if m.process == nil {
		m.process = gp.Prior(m.fitted.Hyper)
	}
	var err error
	if m.process, err = m.process.Given(features, y); err != nil {
		return nil, err
	}
	r := newProposer(m.scale, m.process, x)
	for _, p := range flying {
		if err := r.launch(p); err != nil {
			return nil, err
		}
	}
	out := make([]point, 0, n)
	for i := range n {
		p := r.choose(m.scale.candidates(m.req.Seed, len(trials)+i, m.candidates))
		if err := r.launch(p); err != nil {
			return nil, err
		}
		out = append(out, p)
	}
	return out, nil
}

// tame bounds outcomes, lower ones being better, so that trials that diverged do
// not hide the differences between the others: none stays farther from the best
// than five times the median does, and failed trials (NaN) count as the worst. It
// says whether there is a number.
func tame(y []float64) bool {
	var sorted []float64
	for _, v := range y {
		if v == v {
			sorted = append(sorted, v)
		}
	}
	if len(sorted) == 0 {
		return false
	}
	slices.Sort(sorted)
	best, median, worst := sorted[0], sorted[len(sorted)/2], sorted[len(sorted)-1]
	if median > best {
		worst = min(worst, best+float64(5*(median-best)))
	}
	for i, v := range y {
		if !(v < worst) { // NaN, too
			y[i] = worst
		}
	}
	return true
}
