package report

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/fedfast/fedfast/fl/study"
	"github.com/fedfast/fedfast/internal/figure"
	"github.com/fedfast/fedfast/internal/view"
	"github.com/fedfast/fedfast/tuners"
)

// tunerPictures show what the client tuner told and set on its way.
func (s *Study) tunerPictures() []*figure.Figure {
	return slices.Concat(s.policies(), s.traces(), s.vectors(), s.planned())
}

// traces are the notes that are one number, by name, for several trials.
func (s *Study) traces() []*figure.Figure {
	lines := map[string][]figure.Line{}
	for _, n := range s.noted {
		points := map[string][]figure.Point{}
		for i, notes := range n.notes {
			for name, values := range notes {
				if len(values) == 1 {
					points[name] = append(points[name], figure.Point{X: float64(n.rounds[i]), Y: values[0]})
				}
			}
		}
		for name, p := range points {
			lines[name] = append(lines[name], figure.Line{Name: fmt.Sprintf("trial %d", n.trial.Number), Points: thin(p)})
		}
	}
	var all []*figure.Figure
	for _, name := range slices.Sorted(maps.Keys(lines)) {
		all = append(all, &figure.Figure{Name: "note-" + name, Title: "Client tuner: " + name, Panels: []figure.Panel{{
			X: figure.Axis{Label: "rounds of the trial", Zero: true}, Y: figure.Axis{Label: name}, Lines: lines[name],
		}}})
	}
	return all
}

// mostColumns is how many rounds a heat map has room for.
const mostColumns = 80

// heatRow is a row of a heat map: the number at a place of a note, or a gap between
// others, without a name.
type heatRow struct {
	name, note string
	at         int
}

// heat maps numbers of notes over the rounds, NaN where a round has none.
func (n *noted) heat(of string, rows []heatRow) *figure.Heat {
	h := &figure.Heat{Of: of, Cells: make([][]float64, len(rows))}
	for _, r := range rows {
		h.Rows = append(h.Rows, r.name)
	}
	every := (len(n.rounds) + mostColumns - 1) / mostColumns
	for i := 0; i < len(n.rounds); i += every {
		h.Columns = append(h.Columns, strconv.Itoa(n.rounds[i]))
		for j, r := range rows {
			x := math.NaN()
			if values := n.notes[i][r.note]; r.at < len(values) {
				x = values[r.at]
			}
			h.Cells[j] = append(h.Cells[j], x)
		}
	}
	return h
}

// vectors are the notes that are several numbers, of the best trial that has any, but
// for those that policies shows.
func (s *Study) vectors() []*figure.Figure {
	if len(s.noted) == 0 {
		return nil
	}
	n := s.noted[0]
	long := map[string]int{}
	for _, notes := range n.notes {
		for name, values := range notes {
			if len(values) > 1 && !strings.HasPrefix(strings.TrimPrefix(name, spreadOf), tuners.ArchPrefix) {
				long[name] = max(long[name], len(values))
			}
		}
	}
	var all []*figure.Figure
	for _, name := range slices.Sorted(maps.Keys(long)) {
		var rows []heatRow
		for j := range long[name] {
			rows = append(rows, heatRow{strconv.Itoa(j), name, j})
		}
		all = append(all, &figure.Figure{
			Name: "note-" + name, Title: fmt.Sprintf("Client tuner: %s (trial %d)", name, n.trial.Number),
			Panels: []figure.Panel{{X: figure.Axis{Label: "rounds of the trial"}, Y: figure.Axis{Label: "entry of " + name}, Heat: n.heat(name, rows)}},
		})
	}
	return all
}

// planned are the hyperparameters that the client tuner set for all clients alike.
func (s *Study) planned() []*figure.Figure {
	keys := map[string]bool{}
	for _, i := range s.named() {
		for _, r := range s.curves[i] {
			for key := range r.Params {
				keys[key] = true
			}
		}
	}
	var all []*figure.Figure
	for _, key := range slices.Sorted(maps.Keys(keys)) {
		var lines []figure.Line
		for _, i := range s.named() {
			if p := points(s.curves[i], func(r *view.Round) float64 { return r.Params.Float(key, math.NaN()) }, 1); len(p) > 0 {
				lines = append(lines, figure.Line{Name: s.trialName(i), Points: p, Step: true})
			}
		}
		if len(lines) > 0 {
			all = append(all, &figure.Figure{Name: "set-" + key, Title: key + " set by the client tuner", Panels: []figure.Panel{{
				X: figure.Axis{Label: "rounds of the trial", Zero: true}, Y: figure.Axis{Label: key}, Lines: lines,
			}}})
		}
	}
	return all
}

// sides shows what trials on proxy federations came to.
func (s *Study) sides() *figure.Figure {
	if s.Tune == nil || len(s.Tune.Sides) == 0 {
		return nil
	}
	t := study.BestSides(s.Tune.Sides)
	h := &figure.Heat{Of: "lowest score"}
	for _, hi := range t.HIs {
		h.Columns = append(h.Columns, strconv.FormatFloat(hi, 'g', 3, 64))
	}
	for i, n := range t.Samples {
		h.Rows, h.Cells = append(h.Rows, strconv.Itoa(n)), append(h.Cells, nil)
		for _, cell := range t.Cells[i] {
			x := math.NaN()
			if cell != nil {
				x = *cell.Score
			}
			h.Cells[i] = append(h.Cells[i], x)
		}
	}
	return &figure.Figure{Name: "sides", Title: "Best scores on proxy federations", Panels: []figure.Panel{{
		X: figure.Axis{Label: "heterogeneity index"}, Y: figure.Axis{Label: "samples per client"}, Heat: h,
	}}}
}

// spreads shows percentiles of the clients' errors: of the returned model, global and
// personalized, and of the best trial as it learned.
func (s *Study) spreads() []*figure.Figure {
	var all []*figure.Figure
	if f := s.endSpread(); f != nil {
		all = append(all, f)
	}
	best := s.best()
	if best < 0 {
		return all
	}
	m := s.errors()
	var lines []figure.Line
	for _, p := range []struct {
		name string
		of   func(*study.Spread) float64
	}{
		{"90th percentile", func(x *study.Spread) float64 { return x.P90 }},
		{"median", func(x *study.Spread) float64 { return x.P50 }},
		{"10th percentile", func(x *study.Spread) float64 { return x.P10 }},
	} {
		if q := points(s.curves[best], func(r *view.Round) float64 {
			if r.TestSpread == nil {
				return math.NaN()
			}
			return p.of(r.TestSpread)
		}, m.by); len(q) > 0 {
			lines = append(lines, figure.Line{Name: p.name, Points: q})
		}
	}
	if len(lines) > 0 {
		all = append(all, &figure.Figure{Name: "spread", Title: "Per-client test error, " + s.trialName(best), Panels: []figure.Panel{{
			X: figure.Axis{Label: "rounds of the trial", Zero: true}, Y: figure.Axis{Label: "test " + m.name + " of the global model" + m.unit}, Lines: lines,
		}}})
	}
	return all
}

// endSpread is that of the model that the study returned.
func (s *Study) endSpread() *figure.Figure {
	spans, m := &figure.Spans{Row: "model", Classes: []string{"global"}}, s.errors()
	for _, row := range s.evaluated() {
		if row.P90 < row.P10 || row.Clients == 0 {
			continue
		}
		class := 0
		if row.Personalized {
			class, spans.Classes = 1, []string{"global", "personalized"}
		}
		mark := m.by * row.P50
		spans.Spans = append(spans.Spans, figure.Span{Row: len(spans.Rows), Class: class, From: m.by * row.P10, To: m.by * row.P90, Mark: &mark})
		spans.Rows = append(spans.Rows, row.Name)
	}
	if len(spans.Spans) == 0 {
		return nil
	}
	return &figure.Figure{
		Name: "clients", Title: "Per-client error of the returned model", Note: "From the 10th to the 90th percentile, with the median marked.",
		Panels: []figure.Panel{{X: figure.Axis{Label: m.name + m.unit, Zero: true}, Spans: spans}},
	}
}
