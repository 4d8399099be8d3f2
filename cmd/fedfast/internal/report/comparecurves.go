package report

import (
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/fedfast/fedfast/fl/study/config"
	"github.com/fedfast/fedfast/internal/figure"
	"github.com/fedfast/fedfast/internal/list"
	"github.com/fedfast/fedfast/internal/stats"
)

// scale is a quantity of a study on the way, with the label of its axis.
type scale struct {
	label string
	of    func(step) float64
}

// testScale is the scale of test errors.
func (s *Study) testScale() scale {
	m := s.errors()
	return scale{"test " + m.name + " of " + s.models() + m.unit, func(p step) float64 { return m.by * p.test }}
}

// scoreScale is the scale of scores.
func (s *Study) scoreScale() scale {
	unit, by := s.unit()
	return scale{s.objective() + unit, func(p step) float64 { return by * p.score }}
}

// figures are the curves of all groups, one picture for each metric, that of a target first.
func figures(all []*group, target string) (pictures []*figure.Figure) {
	for _, q := range []struct {
		name, title string
		of          func(*Study) scale
	}{
		{"test", "Test error of the best trial so far", (*Study).testScale},
		{"score", "Best score of a rung so far (one cohort each)", (*Study).scoreScale},
	} {
		// What is measured in another way has a panel of its own.
		var panels []figure.Panel
		drawn := map[int][]*group{}
		seeds, tunes := false, false
		for _, g := range all {
			y := q.of(g.Studies[0])
			line := g.line(y.of)
			if len(line.Points) == 0 {
				continue
			}
			seeds, tunes = seeds || len(g.Studies) > 1, tunes || g.Studies[0].Mode == config.ModeTune
			at := slices.IndexFunc(panels, func(p figure.Panel) bool { return p.Y.Label == y.label })
			if at < 0 {
				at = len(panels)
				panels = append(panels, figure.Panel{X: figure.Axis{Label: "total rounds of all trials", Zero: true}, Y: figure.Axis{Label: y.label}})
			}
			panels[at].Lines = append(panels[at].Lines, line)
			drawn[at] = append(drawn[at], g)
		}
		for i := range panels {
			if q.name == "test" {
				panels[i].Lines = append(panels[i].Lines, guesses(drawn[i], panels[i].Lines)...)
			}
		}
		if len(panels) == 0 {
			continue
		}
		f := &figure.Figure{Name: q.name, Title: q.title, Panels: panels, Height: row + 60}
		if !tunes {
			f.Title = "Test " + all[0].Studies[0].errors().name + " over rounds"
			for i := range panels {
				panels[i].X.Label = "rounds"
			}
		}
		if len(panels) == 1 {
			f.Width = column
		}
		if seeds {
			f.Note = fmt.Sprintf("Thick line: mean over seeds; band: %.0f %% confidence interval (Student's t); thin lines: single studies.", 100*stats.Confidence)
		}
		pictures = append(pictures, f)
	}
	if all[0].Studies[0].measures() != target {
		slices.Reverse(pictures)
	}
	return pictures
}

// guesses are the trivial predictors of groups, as long as their lines.
func guesses(all []*group, beside []figure.Line) (lines []figure.Line) {
	s, end := all[0].Studies[0], 0.0
	for _, l := range beside {
		if n := len(l.Points); n > 0 {
			end = max(end, l.Points[n-1].X)
		}
	}
	for _, t := range trivials(all, s.measures()) {
		y := s.errors().by * t.error
		lines = append(lines, figure.Line{Name: t.name, Points: []figure.Point{{Y: y}, {X: end, Y: y}}})
	}
	return lines
}

// line is the mean over the seeds from where all have a value to where the first ends.
func (g *group) line(of func(step) float64) figure.Line {
	line := figure.Line{Name: fmt.Sprintf("%s (%d seeds)", g.Name, len(g.Studies)), Step: true}
	if len(g.Studies) == 1 {
		line.Name = g.Name
	}
	end := math.MaxInt
	places := map[int]bool{}
	var runs [][]step
	for _, s := range g.Studies {
		var run []step
		for _, p := range s.online() {
			if x := of(p); !math.IsNaN(x) && !math.IsInf(x, 0) {
				run = append(run, p)
				places[p.spent] = true
			}
		}
		if len(run) == 0 {
			continue // it has not come so far
		}
		end = min(end, run[len(run)-1].spent)
		runs = append(runs, run)
		points := list.Of(run, func(p step) figure.Point { return figure.Point{X: float64(p.spent), Y: of(p)} })
		line.Step = line.Step && s.Mode == config.ModeTune
		if len(g.Studies) > 1 {
			line.Runs = append(line.Runs, thin(points))
			line.Names = append(line.Names, fmt.Sprintf("seed %d", s.Config.Seed))
		}
	}
	for _, x := range slices.Sorted(maps.Keys(places)) {
		var values []float64
		for _, run := range runs {
			at := -1
			for i, p := range run {
				if p.spent <= x {
					at = i
				}
			}
			if at >= 0 {
				values = append(values, of(run[at]))
			}
		}
		if m := stats.Of(values); x <= end && len(values) == len(runs) {
			line.Points = append(line.Points, figure.Point{X: float64(x), Y: m.Mean, Half: m.Half})
		}
	}
	line.Points = thin(line.Points)
	return line
}
