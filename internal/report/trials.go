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
	p.Axes = append(p.Axes, figure.PathAxis{Axis: figure.Axis{Label: "score" + unit}})
	best := s.best()
	for i := range s.Trials {
		q := figure.Path{Name: s.trialName(i), Value: s.lastScore(i), Bold: i == best}
		for _, d := range dims {
			q.At = append(q.At, d.at(s.Trials[i].Params))
		}
		p.Paths = append(p.Paths, figure.Path{Name: q.Name, Value: q.Value, Bold: q.Bold, At: append(q.At, q.Value)})
	}
	return &figure.Figure{Name: "parallel", Title: "Hyperparameters and the score at the last rung", Panels: []figure.Panel{{Paths: p}}}
}

// slices shows the score at the first rung against each param.
func (s *Study) slices() []*figure.Figure {
	unit, by := s.unit()
	var all []*figure.Figure
	for _, d := range s.dims() {
		if d.names != nil {
			continue // parallel coordinates show choices
		}
		first := figure.Dots{Name: "a trial at its first rung"}
		last := figure.Dots{Name: "best trial so far, at its first rung"}
		if s.Best != nil && s.Best.Returned {
			last.Name = "winner, at its first rung"
		}
		for i := range s.Trials {
			t := &s.Trials[i]
			x := d.at(t.Params)
			if math.IsNaN(x) || len(t.Rungs) == 0 || math.IsInf(t.Rungs[0].Score, 0) || math.IsNaN(t.Rungs[0].Score) {
				continue
			}
			dot := figure.Dot{X: x, Y: by * t.Rungs[0].Score, Name: s.trialName(i)}
			if i == s.best() {
				last.Points = append(last.Points, dot)
			} else {
				first.Points = append(first.Points, dot)
			}
		}
		if len(first.Points) > 1 {
			all = append(all, &figure.Figure{Name: "slice-" + d.name, Title: "Score by " + d.name, Panels: []figure.Panel{{
				X: d.axis(), Y: figure.Axis{Label: s.objective() + unit}, Dots: []figure.Dots{first, last},
			}}})
		}
	}
	return all
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
