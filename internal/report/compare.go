package report

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/fedfast/fedfast/fl/study"
	"github.com/fedfast/fedfast/fl/study/config"
	"github.com/fedfast/fedfast/internal/figure"
	"github.com/fedfast/fedfast/internal/stats"
	"github.com/fedfast/fedfast/tuners"
)

// Comparison is what several studies came to together.
type Comparison struct {
	// Name is that of the one group that all studies are in, empty for several.
	Name string
	// Answer tells which are the best, and of repeats with several seeds how good they
	// are in the mean.
	Answer []string
	// Table has a row for each study, and before those of several seeds one with their
	// mean. It has the keys in which configurations differ, if these are few.
	Table Table
	// Figures are the curves of all of them.
	Figures []*figure.Figure
	// Diff has the keys in which the configurations differ, if these are many.
	Diff *Table
}

// group are studies that differ in their seed alone.
type group struct {
	// Name is the directory of the first of them, or that of all seeds. Groups whose studies
	// have names of their own have these.
	Name    string
	Studies []*Study
}

// groups puts studies together that differ in their seed alone.
func groups(studies []*Study) ([]*group, error) {
	var all []*group
	place := map[string]*group{}
	for _, s := range studies {
		c := *s.Config
		c.Seed = 0
		text, err := config.Encode(&c)
		if err != nil {
			return nil, err
		}
		key := s.Mode + string(text)
		if place[key] == nil {
			place[key] = &group{Name: s.Dir}
			all = append(all, place[key])
		}
		place[key].Studies = append(place[key].Studies, s)
	}
	for _, g := range all {
		if len(g.Studies) > 1 {
			g.Name = strings.TrimSuffix(g.Name, fmt.Sprintf("/seed-%d", g.Studies[0].Config.Seed))
		}
	}
	own := map[string]bool{"": true}
	for _, g := range all {
		own[g.Studies[0].Config.Name] = true
	}
	if len(own) == len(all)+1 && len(all) > 1 {
		for _, g := range all {
			g.Name = g.Studies[0].Config.Name
		}
	}
	return all, nil
}

// Compare lays several studies beside each other.
func Compare(studies []*Study) (*Comparison, error) {
	all, err := groups(studies)
	if err != nil {
		return nil, err
	}
	c := &Comparison{}
	if len(all) == 1 {
		c.Name = all[0].Name
	} else if answer := order(all); answer != "" {
		c.Answer = append(c.Answer, answer)
	}
	settings := make([]map[string]string, len(all))
	for i, g := range all {
		if settings[i], err = config.Settings(g.Studies[0].Config); err != nil {
			return nil, err
		}
		delete(settings[i], "seed")
		if answer := g.answer(); answer != "" {
			c.Answer = append(c.Answer, answer)
		}
	}
	keys := differing(settings)
	for i, g := range all {
		if err := fill(settings[i], keys, g.Studies[0].Text); err != nil {
			return nil, err
		}
	}
	if len(keys) > mostKeys {
		c.Diff, keys = diff(all, settings, keys), nil
	}
	c.Table = table(all, settings, keys)
	c.Figures = figures(all)
	return c, nil
}

// mostOrdered is how many groups order names.
const mostOrdered = 4

// order tells which groups have the lowest test errors, empty where these cannot be
// compared.
func order(all []*group) string {
	at, first := 2, all[0].Studies[0]
	if first.Config.Aim().Target != tuners.TargetGlobal {
		at = 0
	}
	q := quantities[at]
	type place struct {
		error float64
		text  string
	}
	var places []place
	for _, g := range all {
		s := g.Studies[0]
		if s.Config.Aim().Target != first.Config.Aim().Target || s.errors() != first.errors() {
			return ""
		}
		if x := g.sample(q.of).Mean; !math.IsNaN(x) {
			places = append(places, place{x, g.Name + " " + g.mean(q.of)})
		}
	}
	if len(places) < 2 {
		return ""
	}
	slices.SortStableFunc(places, func(a, b place) int { return cmp.Compare(a.error, b.error) })
	var texts []string
	for _, p := range places[:min(mostOrdered, len(places))] {
		texts = append(texts, p.text)
	}
	return "Lowest " + q.name + ": " + texts[0] + ", before " + strings.Join(texts[1:], ", ") + "."
}

// quantity is a column of the table of studies.
type quantity struct {
	name string
	of   func(*Study) float64
}

// rate reads an error of the returned model.
func rate(of func(*study.Errors) *float64) func(*Study) float64 {
	return func(s *Study) float64 {
		if e := s.Errors(); e != nil {
			if x := of(e); x != nil {
				return *x
			}
		}
		return math.NaN()
	}
}

var quantities = []quantity{
	{"personalized test error", rate(func(e *study.Errors) *float64 { return e.PersonalizedTest })},
	{"P90 of clients", rate(func(e *study.Errors) *float64 {
		if e.Evaluation == nil || e.Evaluation.PersonalizedTest.Clients == 0 {
			return nil
		}
		return &e.Evaluation.PersonalizedTest.P90
	})},
	{"global test error", rate(func(e *study.Errors) *float64 { return e.GlobalTest })},
	{"unseen clients", rate(func(e *study.Errors) *float64 { return e.UnseenTest })},
	{"unseen clients, adapted", rate(func(e *study.Errors) *float64 { return e.UnseenAdapted })},
}

// sample sums up a quantity of the studies that have it.
func (g *group) sample(of func(*Study) float64) stats.Sample {
	var values []float64
	for _, s := range g.Studies {
		if x := of(s); !math.IsNaN(x) {
			values = append(values, x)
		}
	}
	return stats.Of(values)
}

// mean writes the mean over studies with its interval.
func (g *group) mean(of func(*Study) float64) string {
	m := g.sample(of)
	if m.N == 0 {
		return ""
	}
	text := g.Studies[0].ErrorText
	if math.IsNaN(m.Half) {
		return text(m.Mean)
	}
	return strings.TrimSuffix(text(m.Mean), " %") + " ± " + text(m.Half)
}

// answer tells of several seeds how good they are in the mean.
func (g *group) answer() string {
	if len(g.Studies) < 2 {
		return ""
	}
	var parts []string
	for _, q := range quantities[:3:3] {
		if x := g.mean(q.of); x != "" && q.name != "P90 of clients" {
			parts = append(parts, q.name+" "+x)
		}
	}
	if len(parts) == 0 {
		return ""
	}
	return fmt.Sprintf("%s: %s (mean over %d seeds, %.0f %% confidence interval).", g.Name, strings.Join(parts, ", "), len(g.Studies), 100*stats.Confidence)
}

// table has a row for each study.
func table(all []*group, settings []map[string]string, keys []string) Table {
	used := slices.DeleteFunc(slices.Clone(quantities), func(q quantity) bool {
		return !slices.ContainsFunc(all, func(g *group) bool { return g.mean(q.of) != "" })
	})
	t := Table{Title: fmt.Sprintf("Studies (± %.0f %% confidence interval over seeds)", 100*stats.Confidence), Head: []string{"study"}}
	if !slices.ContainsFunc(all, func(g *group) bool { return len(g.Studies) > 1 }) {
		t.Title = "Studies"
	}
	for _, q := range used {
		t.Head = append(t.Head, q.name)
	}
	t.Head = append(append(t.Head, keys...), "state", "seed", "total rounds", "training time")
	add := func(name string, set map[string]string, g *group, state, seed string) {
		row := []string{name}
		for _, q := range used {
			row = append(row, g.mean(q.of))
		}
		for _, key := range keys {
			row = append(row, set[key])
		}
		rounds, worked := 0, time.Duration(0)
		for _, s := range g.Studies {
			rounds, worked = rounds+s.Rounds, worked+s.Worked
		}
		t.Rows = append(t.Rows, append(row, state, seed, count(rounds), worked.Round(100*time.Millisecond).String()))
	}
	for i, g := range all {
		if len(g.Studies) > 1 {
			add(g.Name, settings[i], g, "", strconv.Itoa(len(g.Studies))+" seeds")
		}
		for _, s := range g.Studies {
			add(s.Dir, settings[i], &group{Studies: []*Study{s}}, string(s.State), strconv.FormatUint(s.Config.Seed, 10))
		}
	}
	return t
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

// figures are the curves of all groups, one picture for each metric.
func figures(all []*group) (pictures []*figure.Figure) {
	for _, q := range []struct {
		name, title string
		of          func(*Study) scale
	}{
		{"test", "Test error of the best trial so far", (*Study).testScale},
		{"score", "Best score of a rung so far (one cohort each)", (*Study).scoreScale},
	} {
		// What is measured in another way has a panel of its own.
		var panels []figure.Panel
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
		}
		if len(panels) == 0 {
			continue
		}
		f := &figure.Figure{Name: q.name, Title: q.title, Panels: panels, Height: row + 60}
		if !tunes {
			f.Title = "Test " + all[0].Studies[0].errors().name + " of " + all[0].Studies[0].Config.Eval.Models()
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
	return pictures
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
		var points []figure.Point
		for _, p := range run {
			points = append(points, figure.Point{X: float64(p.spent), Y: of(p)})
		}
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
