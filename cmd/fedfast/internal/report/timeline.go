package report

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/fedfast/fedfast/fl/study/view"
	"github.com/fedfast/fedfast/internal/figure"
)

// clock says how long after the study's beginning a moment was, on the axis of a
// timeline: in seconds, minutes or hours by how long the study took.
func clock(o *view.Overview) (axis figure.Axis, at func(time.Time) float64) {
	name, by := timeUnit(o.Last.Sub(o.Started).Seconds())
	at = func(t time.Time) float64 { return float64(t.UnixMilli()-o.Started.UnixMilli()) / (1000 * by) }
	return figure.Axis{Label: name + " since the study started", Zero: true}, at
}

// timeline shows when each trial trained.
func (s *Study) timeline() *figure.Figure {
	axis, at := clock(s.Overview)
	spans := &figure.Spans{Row: "trial", Classes: []string{"training to the next rung", "failed"}}
	for i := range s.Trials {
		t := &s.Trials[i]
		if len(s.curves[i]) == 0 {
			continue
		}
		row := len(spans.Rows)
		spans.Rows = append(spans.Rows, fmt.Sprintf("trial %d", t.Number))
		ends := map[int]bool{}
		for _, r := range t.Rungs {
			ends[r.Round] = true
		}
		from := -1
		for j := range s.curves[i] {
			r := &s.curves[i][j]
			if from < 0 {
				from = j
			}
			pause := j+1 < len(s.curves[i]) && s.paused(r, &s.curves[i][j+1])
			if ends[r.Round] || pause || j+1 == len(s.curves[i]) {
				class := 0
				if t.Failed != "" && j+1 == len(s.curves[i]) {
					class = 1
				}
				spans.Spans = append(spans.Spans, figure.Span{Row: row, Class: class, From: at(s.curves[i][from].At), To: at(r.At)})
				from = -1
			}
		}
	}
	if len(spans.Spans) == 0 {
		return nil
	}
	if !slices.ContainsFunc(spans.Spans, func(x figure.Span) bool { return x.Class == 1 }) {
		spans.Classes = spans.Classes[:1]
	}
	return &figure.Figure{Name: "timeline", Title: "Timeline of trials", Panels: []figure.Panel{{X: axis, Spans: spans}}}
}

// paused says whether a process ended between two rounds.
func (s *Study) paused(a, b *view.Round) bool {
	for _, p := range s.Sessions {
		if p.At.After(a.At) && p.At.Before(b.At) {
			return true
		}
	}
	return false
}

// Shifts shows which worker trained which trial of a study when, as view.Study.Workers
// tells it, nil for a study that no workers elsewhere have trained. Rounds that they
// trained together are in the row of each.
func Shifts(o *view.Overview, workers []view.Worker, stretches []view.Stretch) *figure.Figure {
	if len(stretches) == 0 {
		return nil
	}
	axis, at := clock(o)
	spans := &figure.Spans{Row: "worker"}
	rows := map[string]int{}
	for _, w := range workers {
		rows[w.Worker] = len(spans.Rows)
		spans.Rows = append(spans.Rows, w.Worker)
	}
	classes := map[int]int{} // by trial
	for _, x := range stretches {
		row, ok := rows[x.Worker]
		if !ok { // by no lease
			row = len(spans.Rows)
			rows[x.Worker] = row
			spans.Rows = append(spans.Rows, "study process")
		}
		class, ok := classes[x.Trial]
		if !ok {
			class = len(spans.Classes)
			classes[x.Trial] = class
			spans.Classes = append(spans.Classes, fmt.Sprintf("trial %d", x.Trial))
		}
		spans.Spans = append(spans.Spans, figure.Span{Row: row, Class: class, From: at(x.From), To: at(x.To), Text: strconv.Itoa(x.Trial)})
	}
	return &figure.Figure{
		Name: "workers", Title: "Timeline of workers",
		Note: "Bars run from the assignment of a trial to a worker to the last round it trained before a rung or a move " +
			"to another worker. Numbers are trials; colors alternate between neighbouring ones.",
		Panels: []figure.Panel{{X: axis, Spans: spans}},
	}
}

// workerTable tells the workers of a study with a cluster.
func (s *Study) workerTable() *Table {
	g := &Table{Title: "Workers", Head: []string{"worker", "machine", "processor", "instruction set", "concurrent clients", "joined", "state", "trials", "rounds"}}
	for i := range s.workers {
		w := &s.workers[i]
		g.Rows = append(g.Rows, []string{w.Worker, w.Host, w.CPU, w.Level, strconv.Itoa(w.Workers), stamp(w.Joined), w.Standing(), count(w.Trials), count(w.Rounds)})
	}
	if len(g.Rows) == 0 {
		return nil
	}
	return g
}
