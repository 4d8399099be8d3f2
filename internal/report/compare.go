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
	"github.com/fedfast/fedfast/internal/view"
	"github.com/fedfast/fedfast/tuners"
)

// Comparison is what several studies came to together.
type Comparison struct {
	// Name is that of the one group that all studies are in, empty for several.
	Name string
	// Answer tells in sentences which are the best, by how much others differ from the first,
	// what a trivial predictor reaches, and what is wrong with their models; of repeats with
	// several seeds alone how good they are in the mean.
	Answer []string
	// Tables are that of the studies, with a row for each and before those of several seeds one
	// with their mean, and the keys in which configurations differ, if these are few; those of
	// differences from the first one; and these keys, if they are many.
	Tables []Table
	// Figures are the curves of all of them.
	Figures []*figure.Figure
}

// group are studies that differ in their seed alone.
type group struct {
	// Name is the directory of the first of them, or that of all seeds. Groups whose studies
	// have names of their own have these.
	Name    string
	Studies []*Study
}

// groups puts studies together that differ in their seed alone. One that has a seed which its
// group has already is the same study again: it begins another group.
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
		for place[key] != nil && slices.ContainsFunc(place[key].Studies, func(o *Study) bool { return o.Config.Seed == s.Config.Seed }) {
			key += "again"
		}
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
	c, targets := &Comparison{}, judged(all)
	first := all[0].Studies[0].errors()
	other := slices.IndexFunc(all, func(g *group) bool { return g.Studies[0].errors() != first })
	switch {
	case len(all) == 1:
		c.Name = all[0].Name
	case other < 0:
		c.Answer = order(all, targets[0])
	default:
		c.Answer = []string{fmt.Sprintf("Not compared: %s has the test %s, %s the test %s.", all[0].Name, first.name, all[other].Name, all[other].Studies[0].errors().name)}
	}
	if answer := all[0].answer(targets); len(all) == 1 && answer != "" {
		c.Answer = append(c.Answer, answer)
	}
	if other < 0 {
		for _, t := range trivials(all, targets[0]) {
			c.Answer = append(c.Answer, fmt.Sprintf("A%s: %s %s test %s.", t.name[1:], all[0].Studies[0].ErrorText(t.error), t.target, first.name))
		}
	}
	settings := make([]map[string]string, len(all))
	for i, g := range all {
		if settings[i], err = config.Settings(g.Studies[0].Config); err != nil {
			return nil, err
		}
		delete(settings[i], "seed")
		c.Answer = append(c.Answer, g.warnings(len(all) > 1)...)
	}
	keys := differing(settings)
	for i, g := range all {
		if err := fill(settings[i], keys, g.Studies[0].Text); err != nil {
			return nil, err
		}
	}
	var many []Table
	if len(keys) > mostKeys {
		many, keys = []Table{*diff(all, settings, keys)}, nil
	}
	c.Tables = []Table{table(all, targets, settings, keys)}
	for _, target := range targets {
		if d := differences(all, target); d != nil {
			c.Tables = append(c.Tables, differencesTable(all, target, d))
		}
	}
	c.Tables = append(c.Tables, many...)
	c.Figures = figures(all, targets[0])
	return c, nil
}

// judged are both targets, the one first by which groups are ranked: the personalized one where
// any of them is told by that.
func judged(all []*group) []string {
	for _, g := range all {
		if g.Studies[0].Judged() == tuners.TargetPersonalized {
			return []string{tuners.TargetPersonalized, tuners.TargetGlobal}
		}
	}
	return []string{tuners.TargetGlobal, tuners.TargetPersonalized}
}

// mostOrdered is how many groups order names.
const mostOrdered = 4

// order tells which groups have the lowest test errors of a target, and how they differ from the
// first one. The errors of all are of one kind.
func order(all []*group, target string) []string {
	first := all[0].Studies[0]
	type place struct {
		error float64
		text  string
	}
	var places []place
	of := testOf(target)
	for _, g := range all {
		if x := g.sample(of).Mean; !math.IsNaN(x) {
			places = append(places, place{x, g.Name + " " + g.mean(of)})
		}
	}
	if len(places) < 2 {
		return nil
	}
	slices.SortStableFunc(places, func(a, b place) int { return cmp.Compare(a.error, b.error) })
	var texts, told []string
	for _, p := range places[:min(mostOrdered, len(places))] {
		texts = append(texts, p.text)
	}
	said := []string{fmt.Sprintf("Lowest %s test %s: %s, before %s.", target, first.errors().name, texts[0], strings.Join(texts[1:], ", "))}
	_, share := study.MeasureName(first.Measure())
	most := 0
	for _, d := range differences(all, target) {
		if most = max(most, d.N); d.N > 1 && len(told) < mostOrdered {
			text := d.name + " is " + view.Difference(d.Mean, &d.Half, share)
			if d.verdict == untold {
				text += view.Untold
			}
			told = append(told, text)
		}
	}
	switch {
	case len(told) > 0:
		said = append(said, fmt.Sprintf("Against %s, paired by seed (%.0f %% intervals): %s.", all[0].Name, 100*stats.Confidence, strings.Join(told, ", ")))
	case most > 0:
		said = append(said, "With one seed in common, lower or higher cannot be told; train with --seeds 5.")
	default:
		said = append(said, "Without a seed in common, lower or higher cannot be told.")
	}
	return said
}

// difference is how the test error of a group differs from that of the first, over the seeds that
// both have.
type difference struct {
	name string
	stats.Sample
	p       float64 // by Student's paired test, for all groups together
	verdict string
}

// untold is the verdict about a difference that may be chance.
const untold = "cannot be told"

// differences compares each group with the first.
func differences(all []*group, target string) (found []difference) {
	of := testOf(target)
	var ps []float64
	for _, g := range all[1:] {
		var values []float64
		for _, s := range g.Studies {
			for _, r := range all[0].Studies {
				if x := of(s) - of(r); s.Config.Seed == r.Config.Seed && !math.IsNaN(x) && s.errors() == r.errors() {
					values = append(values, x)
				}
			}
		}
		d := difference{name: g.Name, verdict: untold}
		if d.Sample, d.p = stats.Paired(values); !math.IsNaN(d.p) {
			ps = append(ps, d.p)
		}
		if d.N > 0 {
			found = append(found, d)
		}
	}
	ps = stats.Holm(ps)
	for i := range found {
		d := &found[i]
		if math.IsNaN(d.p) {
			continue
		}
		d.p, ps = ps[0], ps[1:]
		switch {
		case d.p >= 1-stats.Confidence:
		case d.Mean < 0:
			d.verdict = "lower"
		default:
			d.verdict = "higher"
		}
	}
	return found
}

// differencesTable has a row for each group but the first.
func differencesTable(all []*group, target string, found []difference) Table {
	s := all[0].Studies[0]
	_, share := study.MeasureName(s.Measure())
	t := Table{
		Title: fmt.Sprintf("Differences of the %s test %s from %s, paired by seed (± %.0f %% confidence interval; p of Student's paired test by Holm's method)", target, s.errors().name, all[0].Name, 100*stats.Confidence),
		Head:  []string{"study", "seeds", "difference", "p", "verdict"},
	}
	for _, d := range found {
		p := ""
		if !math.IsNaN(d.p) {
			p = strconv.FormatFloat(d.p, 'g', 2, 64)
		}
		t.Rows = append(t.Rows, []string{d.name, strconv.Itoa(d.N), view.Difference(d.Mean, &d.Half, share), p, d.verdict})
	}
	return t
}

// trivial is a predictor that looks at no input, with its test error under a target.
type trivial struct {
	name, target, group string
	error               float64
}

// trivials are those of groups, with the group's name where they differ.
func trivials(all []*group, targets ...string) (found []trivial) {
	for _, target := range targets {
		var own []trivial
		for _, g := range all {
			t := trivial{target: target, group: g.Name}
			t.error = g.sample(func(s *Study) (x float64) {
				if e := s.Errors(); e != nil {
					t.name, x = e.Trivial.Of(target)
					return x
				}
				return math.NaN()
			}).Mean
			write := g.Studies[0].ErrorText
			if !math.IsNaN(t.error) && !slices.ContainsFunc(own, func(o trivial) bool { return write(o.error) == write(t.error) }) {
				own = append(own, t)
			}
		}
		for i := range own {
			if own[i].name = "always " + own[i].name; len(own) > 1 {
				own[i].name += " (" + own[i].group + ")"
			}
		}
		found = append(found, own...)
	}
	return found
}

// warnings say what is wrong with the models of a group, with its name where there are others.
func (g *group) warnings(others bool) (all []string) {
	var verdicts [][]string
	for _, s := range g.Studies {
		verdicts = append(verdicts, s.Verdict())
	}
	texts := verdicts[0]
	if len(verdicts) > 1 {
		texts = view.Warnings(verdicts, "seed")
	}
	for _, text := range texts {
		if others {
			text = g.Name + ": " + text
		}
		all = append(all, "Warning: "+text+".")
	}
	return all
}

// quantity is a column of the table of studies.
type quantity struct {
	name string
	of   func(*Study) float64
}

// testOf reads the test error of the returned model under a target.
func testOf(target string) func(*Study) float64 {
	return func(s *Study) float64 {
		if test, _ := s.Test(target); test != nil {
			return *test
		}
		return math.NaN()
	}
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

// quantities are the columns of a table of studies, by targets.
func quantities(targets []string) []quantity {
	return []quantity{
		{targets[0] + " test error", testOf(targets[0])},
		{"P90 of clients, " + targets[0], func(s *Study) float64 {
			if _, p90 := s.Test(targets[0]); p90 != nil {
				return *p90
			}
			return math.NaN()
		}},
		{targets[1] + " test error", testOf(targets[1])},
		{"unseen clients", rate(func(e *study.Errors) *float64 { return e.UnseenTest })},
		{"unseen clients, adapted", rate(func(e *study.Errors) *float64 { return e.UnseenAdapted })},
	}
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
func (g *group) answer(targets []string) string {
	if len(g.Studies) < 2 {
		return ""
	}
	var parts []string
	for _, target := range targets {
		if x := g.mean(testOf(target)); x != "" {
			parts = append(parts, target+" test "+g.Studies[0].errors().name+" "+x)
		}
	}
	if len(parts) == 0 {
		return ""
	}
	return fmt.Sprintf("%s: %s (mean over %d seeds, %.0f %% confidence interval).", g.Name, strings.Join(parts, ", "), len(g.Studies), 100*stats.Confidence)
}

// table has a row for each study.
func table(all []*group, targets []string, settings []map[string]string, keys []string) Table {
	used := slices.DeleteFunc(quantities(targets), func(q quantity) bool {
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
	for _, guess := range trivials(all, targets...) {
		row := make([]string, len(t.Head))
		row[0] = guess.name
		if at := slices.IndexFunc(used, func(q quantity) bool { return q.name == guess.target+" test error" }); at >= 0 {
			row[at+1] = all[0].Studies[0].ErrorText(guess.error)
		}
		t.Rows = append(t.Rows, row)
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
	return scale{"test " + m.name + " of " + s.models() + m.unit, func(p step) float64 { return m.by * p.test }}
}

// scoreScale is that of scores.
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
