package report

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/fedfast/fedfast/fl/study"
	"github.com/fedfast/fedfast/fl/study/config"
	"github.com/fedfast/fedfast/internal/figure"
	"github.com/fedfast/fedfast/internal/stats"
)

// group are studies that differ in their seed alone.
type group struct {
	// Name is that of the studies; where another group has it too, with the directory
	// of the first of them.
	Name    string
	Studies []*Study
	Table   sheetTable
}

// groups puts studies together that differ in their seed alone.
func groups(studies []*Study) ([]group, error) {
	var all []group
	place := map[string]int{}
	names := map[string]int{} // how many groups have it
	for _, s := range studies {
		c := *s.Config
		c.Seed = 0
		text, err := config.Encode(&c)
		if err != nil {
			return nil, err
		}
		key := s.Mode + string(text)
		if _, ok := place[key]; !ok {
			names[s.Name]++
			place[key] = len(all)
			all = append(all, group{Name: s.Name})
		}
		g := &all[place[key]]
		g.Studies = append(g.Studies, s)
	}
	for i := range all {
		if g := &all[i]; names[g.Name] > 1 {
			g.Name += ", " + g.Studies[0].Dir
		}
	}
	return all, nil
}

// compare shows what several studies came to together.
func compare(studies []*Study) ([]group, []picture, error) {
	all, err := groups(studies)
	if err != nil {
		return nil, nil, err
	}
	for i := range all {
		all[i].Table = all[i].summary()
	}
	var pictures []picture
	for _, q := range []struct {
		name, title string
		of          func(*Study) scale
	}{
		{"test", "Test error of the best trial so far", (*Study).testScale},
		{"score", "Best score of a rung so far", (*Study).scoreScale},
	} {
		// What is measured in another way has a panel of its own.
		var panels []figure.Panel
		for i := range all {
			y := q.of(all[i].Studies[0])
			line := all[i].line(y.of)
			if len(line.Points) == 0 {
				continue
			}
			at := slices.IndexFunc(panels, func(p figure.Panel) bool { return p.Y.Label == y.label })
			if at < 0 {
				at = len(panels)
				panels = append(panels, figure.Panel{X: figure.Axis{Label: "total rounds of all trials", Zero: true}, Y: figure.Axis{Label: y.label}})
			}
			panels[at].Lines = append(panels[at].Lines, line)
		}
		if len(panels) == 0 {
			continue
		}
		p, err := draw("all", &figure.Figure{
			Name: q.name, Title: q.title, Panels: panels,
			Note: fmt.Sprintf("Thick line: mean over seeds; band: %.0f %% confidence interval (Student's t); thin lines: single studies.", 100*stats.Confidence),
		})
		if err != nil {
			return nil, nil, err
		}
		pictures = append(pictures, p)
	}
	return all, pictures, nil
}

// scale is a quantity of a study on the way, with the label of its axis.
type scale struct {
	label string
	of    func(step) float64
}

// testScale is that of test errors.
func (s *Study) testScale() scale {
	m := s.errors()
	return scale{"test " + m.name + m.unit, func(p step) float64 { return m.by * p.test }}
}

// scoreScale is that of scores.
func (s *Study) scoreScale() scale {
	unit, by := s.unit()
	return scale{s.objective() + unit, func(p step) float64 { return by * p.score }}
}

// line is the mean over the seeds from where all have a value to where the first ends.
func (g *group) line(of func(step) float64) figure.Line {
	line := figure.Line{Name: fmt.Sprintf("%s (%d studies)", g.Name, len(g.Studies)), Step: true}
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
		var points []figure.Point
		for _, p := range run {
			points = append(points, figure.Point{X: float64(p.spent), Y: of(p)})
		}
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

// summary sums up what the finished studies returned.
func (g *group) summary() sheetTable {
	var names []string
	values := map[string][]float64{}
	add := func(name string, x *float64) {
		if x == nil || math.IsNaN(*x) {
			return
		}
		if values[name] == nil {
			names = append(names, name)
		}
		values[name] = append(values[name], *x)
	}
	finished := 0
	for _, s := range g.Studies {
		var r *study.Rates
		switch {
		case s.Tune != nil:
			r = &s.Tune.Rates
		case s.Run != nil:
			r = &s.Run.Rates
		}
		if r == nil {
			continue
		}
		finished++
		add("global validation error", r.GlobalVal)
		add("global test error", r.GlobalTest)
		add("personalized validation error", r.PersonalizedVal)
		add("personalized test error", r.PersonalizedTest)
		add("test error of unseen clients", r.UnseenTest)
	}
	t := sheetTable{Head: []string{"metric of the returned models", "studies", "mean", fmt.Sprintf("%.0f %% confidence interval", 100*stats.Confidence), "standard deviation"}}
	t.Title = fmt.Sprintf("%s: %d of %d studies are completed", g.Name, finished, len(g.Studies))
	text := g.Studies[0].errors().text
	for _, name := range names {
		m := stats.Of(values[name])
		row := []string{name, count(m.N), text(m.Mean), "", text(m.SD)}
		if !math.IsNaN(m.Half) {
			row[3] = strings.TrimSuffix(text(m.Mean-m.Half), " %") + " to " + text(m.Mean+m.Half)
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}
