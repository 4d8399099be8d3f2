package report

import (
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/fedfast/fedfast/internal/figure"
)

// parallel shows the trials' params and scores on parallel axes.
func (s *Study) parallel() *figure.Figure {
	unit, _ := s.unit()
	p := &figure.Paths{Of: s.objective() + strings.TrimPrefix(unit, ",")}
	dims := s.dims()
	if len(dims) == 0 || len(s.Trials) < 2 {
		return nil
	}
	for _, d := range dims {
		p.Axes = append(p.Axes, figure.PathAxis{Axis: d.axis(), Names: d.names})
	}
	p.Axes = append(p.Axes, figure.PathAxis{Axis: figure.Axis{Label: s.Scale().Metric + unit}})
	best := s.best()
	for i := range s.Trials {
		q := figure.Path{Name: s.trialName(i), Value: s.lastScore(i), Bold: i == best}
		for _, d := range dims {
			q.At = append(q.At, d.at(s.Trials[i].Params))
		}
		p.Paths = append(p.Paths, figure.Path{Name: q.Name, Value: q.Value, Bold: q.Bold, At: append(q.At, q.Value)})
	}
	return &figure.Figure{Name: "parallel", Title: "Hyperparameters and the score at the last rung", Width: broad, Height: 270, Panels: []figure.Panel{{Paths: p}}}
}

// mostScatters is how many params have a panel.
const mostScatters = 8

// scatters shows the score at the first rung against each param.
func (s *Study) scatters() *figure.Figure {
	unit, by := s.unit()
	winner := "best trial so far, at its first rung"
	if s.Best != nil && s.Best.Returned {
		winner = "winner, at its first rung"
	}
	f := &figure.Figure{Name: "scatters", Title: "Score at the first rung by hyperparameter", Width: broad, Height: low}
	for _, d := range s.dims() {
		if d.names != nil || len(f.Panels) == mostScatters {
			continue // parallel coordinates show choices
		}
		first, best := figure.Dots{Name: "a trial at its first rung"}, figure.Dots{Name: winner}
		for i := range s.Trials {
			t := &s.Trials[i]
			x := d.at(t.Params)
			if math.IsNaN(x) || len(t.Rungs) == 0 || math.IsInf(t.Rungs[0].Score, 0) || math.IsNaN(t.Rungs[0].Score) {
				continue
			}
			dots := &first
			if i == s.best() {
				dots = &best
			}
			dots.Points = append(dots.Points, figure.Dot{X: x, Y: by * t.Rungs[0].Score, Name: s.trialName(i)})
		}
		if len(first.Points) > 1 {
			f.Panels = append(f.Panels, figure.Panel{X: d.axis(), Y: figure.Axis{Label: s.Scale().Metric + unit}, Dots: []figure.Dots{first, best}})
		}
	}
	if len(f.Panels) == 0 {
		return nil
	}
	if len(f.Panels) < 3 {
		f.Width, f.Height = column, row
	}
	return f
}

// importance shows which params made the difference.
func (s *Study) importance() *figure.Figure {
	all := s.importances()
	if len(all) == 0 {
		return nil
	}
	names := slices.SortedFunc(maps.Keys(all), func(a, b string) int {
		if all[a] != all[b] {
			if all[a] > all[b] {
				return -1
			}
			return 1
		}
		return strings.Compare(a, b)
	})
	bars := &figure.Spans{Row: "param", Rows: names, Classes: []string{"importance"}}
	for i, name := range names {
		bars.Spans = append(bars.Spans, figure.Span{Row: i, To: 100 * all[name]})
	}
	return &figure.Figure{
		Name: "importance", Title: "Hyperparameter importance for reaching the best quarter at the first rung",
		Note:   "PED-ANOVA on the first rung, where all trials have run for the same number of rounds.",
		Panels: []figure.Panel{{X: figure.Axis{Label: "importance, %", Zero: true}, Spans: bars}},
	}
}
