// Package bo is the built-in tuner `bo`: Bayesian optimization. After some random
// trials it models the score as a Gaussian process over the search space (package
// gp) and runs the point of largest expected improvement next.
//
// Given the scores, decisions are the same on every amd64 CPU, whatever its level.
// Between architectures that is not promised: gonum finds the model's
// hyperparameters, its last bits differ between amd64 and arm64, and where the
// likelihood is flat the search may then stop at another point. Everything else is
// the same everywhere: given the hyperparameters, the posterior and the expected
// improvement are plain Go with written-out roundings, and the maximum is taken
// over a finite list, ties to its first.
package bo

import (
	"github.com/fedfast/fedfast/internal/list"
	"github.com/fedfast/fedfast/internal/tuner/internal/gp"
	"github.com/fedfast/fedfast/internal/tuner/internal/guided"
	"github.com/fedfast/fedfast/internal/tuner/internal/options"
	"github.com/fedfast/fedfast/internal/tuner/internal/points"
	"github.com/fedfast/fedfast/tuners"
)

// The ends of the options.
const (
	maxTrials     = 500 // each proposal takes time that grows with the square of the trials before it, each fit with the cube
	maxCandidates = 16384
)

// Tuner is Bayesian optimization.
var Tuner = options.Tuner[plan]{About: options.About("bo"), Plan: newPlan, Study: open}

// plan is what the options and the budget fix.
type plan struct {
	guided.Plan
	candidates int
}

// newPlan reads the options.
func newPlan(r *options.Reader, req tuners.ValidateRequest) plan {
	return plan{candidates: r.Whole("candidates", 1, maxCandidates), Plan: guided.ReadPlan(r, req.Budget, 1, maxTrials)}
}

func open(req tuners.OpenRequest, p plan) (tuners.Session, error) {
	return guided.Open("bo", req, p.Plan, &model{req: req, scale: points.Scale{Space: req.Space}, candidates: p.candidates})
}

type point = points.Point

// model proposes points by a Gaussian process.
type model struct {
	req        tuners.OpenRequest
	scale      points.Scale
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
	if !gp.Tame(y) {
		return nil, nil
	}
	features := list.Of(x, func(p point) []float64 { return m.scale.Features(p) })
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
		p := r.choose(candidates(m.scale, m.req.Seed, len(trials)+i, m.candidates))
		if err := r.launch(p); err != nil {
			return nil, err
		}
		out = append(out, p)
	}
	return out, nil
}
