package report

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/fedfast/fedfast/fl/study/view"
	"github.com/fedfast/fedfast/internal/figure"
	"github.com/fedfast/fedfast/internal/sys/oneline"
)

// parallel shows the trials' params and scores on parallel axes.
func (s *Study) parallel() *figure.Figure {
	unit, by := s.unit()
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
	where, scores := s.AtRung(func(*view.Trial) bool { return true })
	for _, i := range slices.Sorted(maps.Keys(scores)) {
		q := figure.Path{Name: s.trialName(i), Value: math.NaN(), Bold: i == best}
		if x := scores[i]; !math.IsInf(x, 0) {
			q.Value = by * x
		}
		for _, d := range dims {
			q.At = append(q.At, d.at(s.Trials[i].Params))
		}
		p.Paths = append(p.Paths, figure.Path{Name: q.Name, Value: q.Value, Bold: q.Bold, At: append(q.At, q.Value)})
	}
	return &figure.Figure{
		Name: "parallel", Title: fmt.Sprintf("Hyperparameters and the score at %s, of the %s that "+
			"reached it", where, oneline.Count(len(scores), "trial")), Width: broad, Height: 270,
		Panels: []figure.Panel{{Paths: p}},
	}
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
		for i := range s.Suggested() {
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
	arms, at := s.arms()
	all := s.importances(arms)
	if len(all) == 0 {
		return nil
	}
	bars := &figure.Spans{Row: "param", Classes: []string{"90 % interval"}}
	var alike []string
	for i, w := range all {
		bars.Rows = append(bars.Rows, w.name)
		bars.Spans = append(bars.Spans, figure.Span{Row: i, From: 100 * w.least, To: 100 * w.most, Mark: new(100 * w.value)})
		if i > 0 && w.most >= all[i-1].least {
			alike = append(alike, all[i-1].name+" and "+w.name)
		}
	}
	f := &figure.Figure{
		Name: "importance", Title: "Hyperparameter importance for reaching the best quarter at " + at,
		Note:   fmt.Sprintf("PED-ANOVA on the %d trials that reached %s; bar: 90 %% interval (bootstrap over trials); mark: estimate.", len(arms), at),
		Panels: []figure.Panel{{X: figure.Axis{Label: "importance, %", Zero: true}, Spans: bars}},
	}
	switch len(alike) {
	case 0:
	case len(all) - 1:
		f.Note += " The order cannot be told."
	default:
		f.Note += " The order cannot be told of " + strings.Join(alike, ", ") + "."
	}
	return f
}
