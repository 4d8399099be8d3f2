package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/fedfast/fedfast/fl/study/view"
	"github.com/fedfast/fedfast/internal/figure"
	"github.com/fedfast/fedfast/internal/sys/oneline"
)

// fleetTrial is the place of the trial whose clients are shown: the best one, else the
// first of Ranked; -1 without a fleet.
func (s *Study) fleetTrial() int {
	i := s.best()
	if all := s.Ranked(); i < 0 && len(all) > 0 {
		i = all[0]
	}
	if i < 0 || len(s.curves[i]) == 0 || s.curves[i][0].Fleet == nil {
		return -1
	}
	return i
}

// simulated is an axis of simulated time up to an end in seconds, and what seconds are
// divided by.
func simulated(end float64) (axis figure.Axis, by float64) {
	name, by := timeUnit(end)
	return figure.Axis{Label: "simulated time, " + name, Zero: true}, by
}

// timeUnit is the unit of an axis up to an end in seconds, and what seconds are divided by.
func timeUnit(end float64) (name string, by float64) {
	switch {
	case end < 180:
		return "seconds", 1
	case end < 3*3600:
		return "minutes", 60
	}
	return "hours", 3600
}

// clockOf is the simulated time of a trial so far, in seconds.
func clockOf(rounds []view.Round) float64 {
	if n := len(rounds); n > 0 && rounds[n-1].Fleet != nil {
		return float64(rounds[n-1].Fleet.Clock)
	}
	return 0
}

// clockCurve is the test error over simulated time, for comparison with that over rounds.
func (s *Study) clockCurve() *figure.Figure {
	m, end := s.errors(), 0.0
	named := s.named()
	for _, i := range named {
		end = max(end, clockOf(s.curves[i]))
	}
	axis, by := simulated(end)
	var lines []figure.Line
	for _, i := range named {
		line := figure.Line{Name: s.trialName(i)}
		for _, r := range s.curves[i] {
			if r.Fleet != nil && !math.IsNaN(r.TestError) {
				line.Points = append(line.Points, figure.Point{X: float64(r.Fleet.Clock) / by, Y: m.by * r.TestError})
			}
		}
		if line.Points = thin(line.Points); len(line.Points) > 0 {
			lines = append(lines, line)
		}
	}
	y := figure.Axis{Label: "test " + m.name + m.unit}
	return plot("clock", "Test error of "+s.models()+" over simulated time", axis, y, lines)
}

// The bounds of the timeline of clients.
const (
	mostClients = 30
	mostJobs    = 300
)

// clientTimeline shows what the first clients do from the start on.
func (s *Study) clientTimeline() *figure.Figure {
	rounds, jobs := s.atWork, 0
	for n := range rounds {
		if jobs += len(rounds[n].Fleet.Jobs); jobs > mostJobs && n > 0 {
			rounds = rounds[:n]
			break
		}
	}
	axis, by := simulated(clockOf(rounds))
	spans := &figure.Spans{Row: "client", Classes: []string{"receiving", "training", "sending", "lost", "waiting for the step"}}
	rows, names := map[int]int{}, map[int]string{}
	for _, c := range s.clients {
		names[c.Client] = oneline.Name(c.Name)
	}
	for n := range rounds {
		f := rounds[n].Fleet
		for _, j := range f.Jobs {
			row, ok := rows[j.Client]
			if !ok {
				if len(rows) == mostClients {
					continue
				}
				row = len(rows)
				rows[j.Client] = row
				spans.Rows = append(spans.Rows, cmp.Or(names[j.Client], strconv.Itoa(j.Client)))
			}
			at := []float64{float64(j.Start), float64(j.Received), float64(j.Computed), float64(j.End), float64(f.Clock)}
			if j.Fate != "" {
				spans.Spans = append(spans.Spans, figure.Span{Row: row, Class: 3, From: at[0] / by, To: at[3] / by})
				continue
			}
			for part, class := range []int{0, 1, 2, 4} {
				if at[part+1] > at[part] {
					spans.Spans = append(spans.Spans, figure.Span{Row: row, Class: class, From: at[part] / by, To: at[part+1] / by})
				}
			}
		}
	}
	if len(spans.Spans) == 0 {
		return nil
	}
	return &figure.Figure{
		Name: "clients-at-work", Title: fmt.Sprintf("Clients of %s at work", s.trialName(s.fleetTrial())), Width: broad,
		Note:   fmt.Sprintf("The first %d clients in the first %d rounds.", len(rows), len(rounds)),
		Panels: []figure.Panel{{X: axis, Y: figure.Axis{Label: "client"}, Spans: spans}},
	}
}

// columns is of how many parts the time of the fleet's use is.
const columns = 100

// fleetUse shows how many clients are at work over simulated time.
func (s *Study) fleetUse() *figure.Figure {
	end := clockOf(s.atWork)
	axis, by := simulated(end)
	names := []string{"training", "receiving or sending", "work that is lost"}
	busy := make([][columns]float64, len(names)) // seconds of clients
	width := end / columns
	add := func(what int, from, to float64) {
		to = min(to, end)
		for c := int(from / width); c < columns && float64(c)*width < to; c++ {
			if d := min(to, float64(c+1)*width) - max(from, float64(c)*width); d > 0 {
				busy[what][c] += d
			}
		}
	}
	for n := range s.atWork {
		for _, j := range s.atWork[n].Fleet.Jobs {
			start, received, computed, end := float64(j.Start), float64(j.Received), float64(j.Computed), float64(j.End)
			if j.Fate != "" {
				add(2, start, end)
				continue
			}
			add(0, received, computed)
			add(1, start, received)
			add(1, computed, end)
		}
	}
	var lines []figure.Line
	for what, name := range names {
		line := figure.Line{Name: name, Step: true}
		for c, x := range busy[what] {
			line.Points = append(line.Points, figure.Point{X: float64(c) * width / by, Y: x / width})
		}
		if slices.Max(busy[what][:]) > 0 {
			lines = append(lines, line)
		}
	}
	if !(width > 0) || lines == nil {
		return nil
	}
	f := plot("fleet-use", "Clients at work over simulated time", axis, figure.Axis{Label: "clients", Zero: true}, lines)
	f.Note = "Means over a hundredth of the time. Jobs at work at the end are not counted."
	return f
}

// staleness counts the updates by how many steps the server made while their clients
// worked.
func (s *Study) staleness() *figure.Figure {
	var counts []int
	for n := range s.atWork {
		for _, j := range s.atWork[n].Fleet.Jobs {
			if j.Fate != "" {
				continue
			}
			for len(counts) <= j.Staleness && len(counts) < mostRuns {
				counts = append(counts, 0)
			}
			counts[min(j.Staleness, mostRuns-1)]++
		}
	}
	if len(counts) < 2 {
		return nil
	}
	line := figure.Line{Name: "updates", Step: true}
	for tau, n := range append(counts, 0) {
		line.Points = append(line.Points, figure.Point{X: float64(tau), Y: float64(n)})
	}
	x := figure.Axis{Label: "steps of the server since the client began", Zero: true, Whole: true}
	return plot("staleness", "Updates by staleness", x, figure.Axis{Label: "updates", Zero: true}, []figure.Line{line})
}

// fleetTable sums up the clients' work in a trial.
func (s *Study) fleetTable() *Table {
	if s.atWork == nil {
		return nil
	}
	fates, jobs, each := map[string]int{}, 0, map[int]int{}
	var spent, wasted float64
	for n := range s.atWork {
		for _, j := range s.atWork[n].Fleet.Jobs {
			jobs++
			fates[j.Fate]++
			if took := float64(j.End - j.Start); j.Fate == "" {
				each[j.Client]++
				spent += took
			} else {
				wasted += took
			}
		}
	}
	most := 0
	for _, n := range each {
		most = max(most, n)
	}
	percent := func(x, of float64) string { return strconv.FormatFloat(100*x/max(of, 1e-9), 'f', 1, 64) + " %" }
	clock := time.Duration(clockOf(s.atWork) * 1e9).Round(time.Millisecond)
	return &Table{
		Title: "Clients of " + s.trialName(s.fleetTrial()), Head: []string{
			"simulated time", "updates", "late", "vanished",
			"too stale", "lost work", "clients that contributed", "most updates of a client",
		},
		Rows: [][]string{{clock.String(), count(fates[""]), count(fates["late"]), count(fates["vanished"]), count(fates["stale"]), percent(wasted, spent+wasted), count(len(each)), count(most)}},
	}
}
