// Package flora is the built-in tuner `flora`: FLoRA (Zhou et al. 2022, arXiv 2202.08338).
// Every client trains by itself with the same configurations and tells their scores; the server
// models the score over the search space, and the point where the model is lowest is trained by
// all clients together. The models are Gaussian processes, as those of the tuner `bo`, where
// the paper has random forests.
package flora

import (
	"cmp"
	"errors"
	"math"
	"slices"

	"github.com/fedfast/fedfast/internal/list"
	"github.com/fedfast/fedfast/internal/tuner/internal/gp"
	"github.com/fedfast/fedfast/internal/tuner/internal/oneshot"
	"github.com/fedfast/fedfast/internal/tuner/internal/options"
	"github.com/fedfast/fedfast/internal/tuner/internal/points"
	"github.com/fedfast/fedfast/tuners"
)

// The values of the option surface, by the paper's names.
const (
	pooled = "pooled" // SGM: one surface of all clients' scores
	mean   = "mean"   // APLM: the mean of the clients' surfaces
	worst  = "max"    // MPLM: the maximum of the clients' surfaces
)

const maxCandidates = 16384

// Tuner is FLoRA.
var Tuner = options.Tuner[plan]{About: options.About("flora", oneshot.Options...), Plan: newPlan, Study: open}

// plan is what the options fix.
type plan struct {
	oneshot.Plan
	surface    string
	candidates int
}

func newPlan(r *options.Reader, req tuners.ValidateRequest) plan {
	p := plan{oneshot.ReadPlan(r, req), r.OneOf("surface", pooled, mean, worst), r.Whole("candidates", 1, maxCandidates)}
	if req.Private && p.surface != pooled {
		r.Problem("options.surface", "%q needs the scores of each client, and a private study tells means over clients alone; use %q", p.surface, pooled)
	}
	return p
}

func open(req tuners.OpenRequest, p plan) (tuners.Session, error) {
	return oneshot.Open("flora", req, p.Plan, func(configs []tuners.Params, r tuners.TrialReport) (tuners.Params, error) {
		s, err := newSurface(req, p.surface, configs, r.Measured)
		if err != nil {
			return nil, err
		}
		return s.lowest(req.Seed, p.candidates).Params(req.Space), nil
	})
}

// surface is what scores are expected over the space, lower ones being better.
type surface struct {
	points.Scale
	processes []*gp.Process // one of all clients, or one each
	worst     bool          // it is their maximum, else their mean
	tried     []points.Point
}

// fitIterations bounds each search of a fit.
const fitIterations = 50

// newSurface fits a surface of a kind to what clients measured at configurations.
func newSurface(req tuners.OpenRequest, kind string, configs []tuners.Params, measured []tuners.Measured) (*surface, error) {
	s := &surface{Scale: points.Scale{Space: req.Space}, worst: kind == worst}
	features := make([][]float64, len(configs))
	for i, c := range configs {
		p := points.Of(req.Space, c)
		s.tried, features[i] = append(s.tried, p), s.Features(p)
	}
	sign := 1.0
	if req.Objective.Direction == tuners.Maximize {
		sign = -1
	}
	fit := func(of func(tuners.Measured) float64) error {
		y := list.Of(measured, func(m tuners.Measured) float64 { return sign * of(m) })
		if !gp.Tame(y) {
			return nil
		}
		process, err := gp.New(gp.Fit(features, y, fitIterations), features, y)
		s.processes = append(s.processes, process)
		return err
	}
	var err error
	switch clients := len(measured[0].Clients); {
	case kind == pooled:
		// With a score of every client at every point, the surface of all is the surface of the means.
		err = fit(func(m tuners.Measured) float64 { return m.Score })
	case clients == 0:
		return nil, errors.New("no scores of single clients were reported")
	default:
		for c := 0; c < clients && err == nil; c++ {
			err = fit(func(m tuners.Measured) float64 { return m.Clients[c] })
		}
	}
	if err == nil && s.processes == nil {
		err = errors.New("no client's own training gave a finite score with any of the configurations; narrow the space")
	}
	return s, err
}

// at is the height of the surface.
func (s *surface) at(p points.Point) float64 {
	sum, most, x := 0.0, math.Inf(-1), s.Features(p)
	for _, process := range s.processes {
		height, _ := process.Predict(x)
		sum += height / float64(len(s.processes))
		most = max(most, height)
	}
	if s.worst {
		return most
	}
	return sum
}

// refined is how many of the best candidates are refined, by steps that are shares of each
// dimension, one after the other.
const refined = 4

var steps = [...]float64{0.1, 0.05, 0.02, 0.01}

// place is a point with its height.
type place struct {
	point  points.Point
	height float64
}

// lowest returns the lowest point that is found: of the configurations and of n others that are
// drawn, the best few of which are followed downhill. Ties keep the earlier one.
func (s *surface) lowest(seed uint64, n int) points.Point {
	var all []place
	add := func(p points.Point) { all = append(all, place{p, s.at(p)}) }
	for _, p := range s.tried {
		add(p)
	}
	draws := tuners.NewDraws(seed, tuners.StudySession, 0, "flora candidates")
	for range n {
		add(s.Draw(draws))
	}
	slices.SortStableFunc(all, func(a, b place) int { return cmp.Compare(a.height, b.height) })
	best := all[0]
	for _, at := range all[:min(refined, len(all))] {
		if at = s.downhill(at); at.height < best.height {
			best = at
		}
	}
	return best.point
}

// downhill moves to the lowest neighbour as long as there is a lower one.
func (s *surface) downhill(from place) place {
	for _, step := range steps {
		for {
			next := from
			for _, p := range s.Near(from.point, step) {
				if height := s.at(p); height < next.height {
					next = place{p, height}
				}
			}
			if next.height == from.height {
				break
			}
			from = next
		}
	}
	return from
}
