// Package fedtune is the built-in tuner `fedtune-hrt`: the Hyperparameter Reference
// Table of FedTune (Demystifying Hyperparameter Optimization in Federated Learning,
// ICLR 2022 submission). Before the first trial it tunes the clients' learning
// rate, batch and local epochs for every cell of a table, by how heterogeneous a
// client is and by how many samples it has, on small proxy federations that are
// drawn from proxy samples. Then every client looks its own cell up, by facts that
// it tells nobody.
//
// It is a client tuner: put it under `random` or `sha`, which draw the server's
// hyperparameters; alone it runs one trial of budget.trial_rounds rounds. The study
// must set samples apart for the proxy federations (data.proxy).
//
// Several studies, such as one of several seeds, can look up one table: the option
// "table" holds one that is ready, and TableOf writes that of a study that filled
// its own. A study that is given the table which it would fill trains the same
// weights.
package fedtune

import (
	"cmp"
	"context"
	"slices"

	"github.com/fedfast/fedfast/internal/tuner/internal/options"
	"github.com/fedfast/fedfast/tuners"
)

// The params that the table holds.
const (
	lr     = "client.lr"
	epochs = "client.epochs"
	size   = "client.batch"
)

// The ways to search a cell.
const (
	Bayes  = "bo"     // Bayesian optimization: a Gaussian process, and the point of largest expected improvement next
	Random = "random" // random points, none twice
	Grid   = "grid"   // points spread evenly over the list of all
)

// Tuner is fedtune-hrt.
var Tuner = tuner{options.Tuner[plan]{Plan: readPlan, Trial: open, About: options.About("fedtune")}}

type tuner struct{ options.Tuner[plan] }

// Work returns the trials on proxy federations and the points of their cells.
func (t tuner) Work(_ context.Context, req tuners.ValidateRequest) (tuners.Work, error) {
	p, problems := t.Read(req)
	if err := options.First("fedtune-hrt", problems); err != nil {
		return tuners.Work{}, err
	}
	return p.work(), nil
}

// open starts the session that fills the table, or that of one trial.
func open(req tuners.OpenRequest, p plan) (tuners.Session, error) {
	if req.Trial == tuners.PrepareSession {
		return newSearch(req, p)
	}
	return newLookup(req, p)
}

// all is the cell of a trial in which every cell of a mixed proxy federation has one point.
const all = -1

// nextMixed returns the points that are tried next on the mixed proxy federation, and of
// which cell; no points when the table is full. First all cells together are searched as one
// cell is. Then each cell in turn tries the next best points of these trials, while the
// others keep what was best until then. Scores are of one federation, so that the best trial
// of all holds the table.
func (s *search) nextMixed() (cell int, points []int, err error) {
	if points, err = s.next(all); err != nil || len(points) > 0 {
		return all, points, err
	}
	o := s.req.Objective
	ranked := slices.DeleteFunc(s.state.of(all), func(t trial) bool { return t.Failed })
	slices.SortStableFunc(ranked, func(a, b trial) int { return o.Compare(a.Score, b.Score) })
	if len(ranked) < 2 {
		return all, nil, nil
	}
	for _, t := range ranked[1:min(len(ranked), 1+s.choices)] {
		points = append(points, t.Point)
	}
	cell = s.state.Trials[len(s.state.Trials)-1].Cell + 1
	if cell == s.cells() {
		return all, nil, nil
	}
	return cell, points, nil
}

// assigned returns the point of every cell in a trial of a mixed search.
func (p plan) assigned(trials []trial, i int, o tuners.Objective) []int {
	t := trials[i]
	// What came before its cell is a prefix of the trials.
	before, _ := slices.BinarySearchFunc(trials, t.Cell, func(u trial, cell int) int { return cmp.Compare(u.Cell, cell) })
	best := bestOf(trials[:before], o)
	if best < 0 {
		return slices.Repeat([]int{t.Point}, p.cells())
	}
	points := p.assigned(trials, best, o)
	points[t.Cell] = t.Point
	return points
}

// tableOf returns the table that holds a point for every cell, with the numbers of samples
// of the clients that look it up, or with those of the mixed proxy federation.
func (p plan) tableOf(points []int, proxy bool) []tuners.Cell {
	var table []tuners.Cell
	for cell, point := range points {
		c := p.cell(cell, point)
		if proxy {
			c.Keys[tuners.KeySamples] = float64(p.shrink(c.Keys[tuners.KeySamples]))
		}
		table = append(table, c)
	}
	return table
}
