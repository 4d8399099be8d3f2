package report

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/fedfast/fedfast/fl/study/result"
	"github.com/fedfast/fedfast/fl/study/view"
	"github.com/fedfast/fedfast/internal/figure"
	"github.com/fedfast/fedfast/internal/list"
	"github.com/fedfast/fedfast/tuners"
)

// traces are the notes that are one number, by name, for several trials.
func (s *Study) traces() []*figure.Figure {
	lines := map[string][]figure.Line{}
	for _, n := range s.noted {
		points := map[string][]figure.Point{}
		for i, notes := range n.notes {
			for name, values := range notes {
				if len(values) == 1 && !strings.HasPrefix(name, theta+": ") {
					points[name] = append(points[name], figure.Point{X: float64(n.rounds[i]), Y: values[0]})
				}
			}
		}
		for name, p := range points {
			lines[name] = append(lines[name], figure.Line{Name: fmt.Sprintf("trial %d", n.trial.Number), Points: thin(p)})
		}
	}
	return list.Of(slices.Sorted(maps.Keys(lines)), func(name string) *figure.Figure {
		return curve("note-"+name, "Client tuner: "+name, figure.Axis{Label: name}, lines[name])
	})
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
	h.Rows = append(h.Rows, list.Of(rows, func(r heatRow) string { return r.name })...)
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
	if f := n.theta(); f != nil {
		all = append(all, f)
		maps.DeleteFunc(long, func(name string, _ int) bool { return strings.HasPrefix(name, theta) })
	}
	for _, name := range slices.Sorted(maps.Keys(long)) {
		rows := list.Made(long[name], func(j int) heatRow { return heatRow{strconv.Itoa(j), name, j} })
		all = append(all, &figure.Figure{
			Name: "note-" + name, Title: fmt.Sprintf("Client tuner: %s (trial %d)", name, n.trial.Number),
			Panels: []figure.Panel{{X: figure.Axis{Label: "rounds of the trial"}, Y: figure.Axis{Label: "entry of " + name}, Heat: n.heat(name, rows)}},
		})
	}
	return all
}

// theta is the name of FedEx's note of how likely it picks each configuration; a name
// after it and a colon is of a note with a hyperparameter of each configuration.
const theta = "theta"

// mostConfigs is how many configurations have a row.
const mostConfigs = 12

// theta shows how likely FedEx picks each configuration, the most likely ones at the end
// with their hyperparameters; nil where the notes do not tell those.
func (n *noted) theta() *figure.Figure {
	last := n.notes[len(n.notes)-1][theta]
	var keys []string
	for key, values := range n.notes[0] {
		if strings.HasPrefix(key, theta+": ") && len(values) == len(last) && slices.Max(values) > slices.Min(values) {
			keys = append(keys, key)
		}
	}
	if len(keys) == 0 {
		return nil
	}
	slices.Sort(keys)
	order := list.Made(len(last), func(j int) int { return j })
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(last[b], last[a]) })
	var rows []heatRow
	for _, j := range order[:min(mostConfigs, len(order))] {
		var parts []string
		for _, key := range keys {
			name := strings.TrimPrefix(key, theta+": ")
			parts = append(parts, name[strings.LastIndexByte(name, '.')+1:]+" "+strconv.FormatFloat(n.notes[0][key][j], 'g', 3, 64))
		}
		rows = append(rows, heatRow{strings.Join(parts, ", "), theta, j})
	}
	note := "The most likely configurations at the end come first."
	if left := len(order) - len(rows); left > 0 {
		note += fmt.Sprintf(" %d others are not shown.", left)
	}
	return &figure.Figure{
		Name: "theta", Title: fmt.Sprintf("FedEx: probability of each client configuration (trial %d)", n.trial.Number), Note: note, Width: broad, Height: row,
		Panels: []figure.Panel{{X: figure.Axis{Label: "rounds of the trial"}, Heat: n.heat("probability", rows)}},
	}
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
		all = append(all, curve("set-"+key, key+" set by the client tuner", figure.Axis{Label: key}, lines))
	}
	return all
}

// sides shows what trials on proxy federations came to, unless all cells have one score
// together.
func (s *Study) sides() *figure.Figure {
	if s.Tune == nil || len(s.Tune.Sides) == 0 || len(s.Tune.Sides[0].Table) > 0 {
		return nil
	}
	t := result.BestProxies(s.Tune.Sides, s.Config.Aim())
	h := &figure.Heat{Of: "best score"}
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
	return &figure.Figure{Name: "sides", Title: "Best scores on proxy federations", Width: column, Panels: []figure.Panel{{
		X: figure.Axis{Label: "heterogeneity index"}, Y: figure.Axis{Label: "samples per client"}, Heat: h,
	}}}
}
