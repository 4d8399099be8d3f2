package report

import (
	"cmp"
	"slices"

	"github.com/fedfast/fedfast/fl/study/result"
	"github.com/fedfast/fedfast/fl/study/view"
	"github.com/fedfast/fedfast/internal/figure"
	"github.com/fedfast/fedfast/tuners"
)

// front shows the trials in the objective and each further one, and which of them are on
// the Pareto front; nil with one objective.
func (s *Study) front() *figure.Figure {
	aims := s.Config.Aims()
	values := make([]map[string]float64, len(s.Trials))
	counted := 0
	for i := range s.Trials {
		if t := &s.Trials[i]; t.State == view.Completed && !t.Reference && t.Values() != nil {
			values[i] = t.Values()
			counted++
		}
	}
	if len(aims.Objectives) < 2 || counted == 0 {
		return nil
	}
	best := result.Front(aims, values)
	unit, by := s.unit()
	f := &figure.Figure{Name: "pareto", Title: "Pareto front of the trials", Width: column, Height: row}
	if len(aims.Objectives) > 2 {
		f.Width, f.Note = broad, "A trial is on the front if no other one is better in one objective and worse in none, of all that there are."
	}
	for _, other := range aims.Objectives[1:] {
		all := []figure.Dots{{Name: "trial"}, {Name: "on the front"}, {Name: "beyond a constraint"}}
		for i, v := range values {
			if v == nil {
				continue
			}
			at := 0
			switch {
			case aims.Violation(v) > 0:
				at = 2
			case slices.Contains(best, i):
				at = 1
			}
			all[at].Points = append(all[at].Points, figure.Dot{X: s.scaled(other, v[other.Metric]), Y: by * v[aims.Objectives[0].Metric], Name: s.trialName(i)})
		}
		line := figure.Line{Name: "front", Step: true}
		if len(aims.Objectives) == 2 {
			for _, d := range all[1].Points {
				line.Points = append(line.Points, figure.Point{X: d.X, Y: d.Y})
			}
			slices.SortStableFunc(line.Points, func(a, b figure.Point) int { return cmp.Compare(a.X, b.X) })
		}
		p := figure.Panel{X: figure.Axis{Label: other.Metric + s.percent(other)}, Y: figure.Axis{Label: s.Scale().Metric + unit}}
		if len(line.Points) > 1 {
			p.Lines = []figure.Line{line}
		}
		for _, d := range all {
			if len(d.Points) > 0 {
				p.Dots = append(p.Dots, d)
			}
		}
		f.Panels = append(f.Panels, p)
	}
	return f
}

// percent is the unit of an objective beside the first.
func (s *Study) percent(o tuners.Objective) string {
	switch o.Metric {
	case tuners.MetricError, tuners.MetricErrorP90, tuners.MetricErrorWorst, tuners.MetricErrorUnseen, tuners.MetricUnseenAdapted, tuners.MetricAccuracy, tuners.MetricRecall:
		if unit, _ := s.unit(); unit != "" {
			return unit
		}
	}
	return ""
}

// scaled is a value of such an objective in its unit.
func (s *Study) scaled(o tuners.Objective, x float64) float64 {
	if s.percent(o) != "" {
		return 100 * x
	}
	return x
}
