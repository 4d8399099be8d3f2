package fedtune

import (
	"cmp"
	"slices"

	"github.com/fedfast/fedfast/tuners"
)

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
