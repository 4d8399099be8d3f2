package report

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/fedfast/fedfast/fl/study/view"
	"github.com/fedfast/fedfast/internal/figure"
	"github.com/fedfast/fedfast/internal/list"
	"github.com/fedfast/fedfast/internal/stats"
	"github.com/fedfast/fedfast/internal/sys/memory"
	"github.com/fedfast/fedfast/tuners"
)

// Comparison is what several studies came to together.
type Comparison struct {
	// Name is the name of the one group that all studies are in, empty for several.
	Name string
	// Answer tells in sentences which are the best, by how much others differ from the first,
	// what a trivial predictor reaches, and what is wrong with their models; of repeats with
	// several seeds alone how good they are in the mean.
	Answer []string
	// Tables are the tables of the studies, with a row for each and before those of several seeds one
	// with their mean, and the keys in which configurations differ, if these are few; those of
	// differences from the first one; and these keys, if they are many.
	Tables []Table
	// Figures are the curves of all of them.
	Figures []*figure.Figure
}

// Compare lays several studies side by side.
func Compare(studies []*Study) (*Comparison, error) {
	all, err := groups(studies)
	if err != nil {
		return nil, err
	}
	c, targets := &Comparison{}, judged(all)
	first := all[0].Studies[0].Told()
	other := slices.IndexFunc(all, func(g *group) bool { return g.Studies[0].Told() != first })
	switch {
	case len(all) == 1:
		c.Name = all[0].Name
	case other < 0:
		c.Answer = order(all, targets[0])
	default:
		c.Answer = []string{fmt.Sprintf("Not compared: %s has the test %s, %s the test %s.", all[0].Name, first.Metric, all[other].Name, all[other].Studies[0].Told().Metric)}
	}
	if means := all[0].seeds().Means(targets...); len(all) == 1 && means != "" {
		c.Answer = append(c.Answer, all[0].Name+": "+means+".")
	}
	for _, g := range all {
		for _, text := range g.seeds().Federation() {
			c.Answer = append(c.Answer, g.Name+": "+text+".")
		}
	}
	if other < 0 && first.Of == "" {
		for _, t := range trivials(all, targets[0]) {
			c.Answer = append(c.Answer, fmt.Sprintf("A%s: %s %s test %s.", t.name[1:], all[0].Studies[0].ErrorText(t.error), t.target, first.Metric))
		}
	}
	if slices.ContainsFunc(all, func(g *group) bool { return len(g.Studies) != len(all[0].Studies) }) {
		c.Answer = append(c.Answer, "Warning: numbers of seeds differ; paired differences are over seeds in common.")
	}
	for _, g := range all {
		for _, s := range g.Studies {
			if err := s.settle(); err != nil {
				return nil, err
			}
		}
		c.Answer = append(c.Answer, g.notes(len(all) > 1)...)
	}
	keys := differing(all)
	var many []Table
	if len(keys) > mostKeys {
		many, keys = []Table{*diff(all, keys)}, nil
	}
	c.Tables = []Table{table(all, targets, keys)}
	for _, target := range targets {
		if d := differences(all, target); d != nil {
			c.Tables = append(c.Tables, differencesTable(all, target, d))
		}
	}
	for _, g := range all {
		for _, t := range []*Table{view.MeasureTable(g.seeds().Errors()...), g.seeds().WithoutTable()} {
			if t != nil {
				t.Title += ": " + g.Name
				c.Tables = append(c.Tables, *t)
			}
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

// quantity is a column of the table of studies.
type quantity struct {
	name string
	of   func(*view.Overview) float64
}

// quantities are the columns of a table of studies, by targets.
func quantities(name string, targets []string) []quantity {
	return []quantity{
		{targets[0] + " test " + name, view.TestOf(targets[0])},
		{"P90 of clients, " + targets[0], func(o *view.Overview) float64 {
			if _, p90 := o.Test(targets[0]); p90 != nil && o.Told().Of == "" {
				return *p90
			}
			return math.NaN()
		}},
		{targets[1] + " test " + name, view.TestOf(targets[1])},
		{"unseen clients", func(o *view.Overview) float64 { return o.ToldOf(view.Parts[4]) }},
		{"unseen clients, adapted", func(o *view.Overview) float64 { return o.ToldOf(view.Parts[5]) }},
	}
}

// table has a row for each study.
func table(all []*group, targets, keys []string) Table {
	told := all[0].Studies[0].Told()
	name := told.Metric
	used := slices.DeleteFunc(quantities(name, targets), func(q quantity) bool {
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
	sent := !slices.ContainsFunc(all, func(g *group) bool {
		return slices.ContainsFunc(g.Studies, func(s *Study) bool { return s.Run == nil || s.Run.Traffic == nil })
	})
	if sent {
		t.Head = append(t.Head, "sent by clients")
	}
	add := func(name string, g *group, state, seed string) {
		row := []string{name}
		for _, q := range used {
			row = append(row, g.mean(q.of))
		}
		row = append(row, list.Of(keys, g.setting)...)
		rounds, worked, bytes := 0, time.Duration(0), int64(0)
		for _, s := range g.Studies {
			if rounds, worked = rounds+s.Rounds, worked+s.Worked; sent {
				bytes += s.Run.Traffic.Up
			}
		}
		row = append(row, state, seed, count(rounds), worked.Round(100*time.Millisecond).String())
		if sent {
			row = append(row, memory.Size(bytes))
		}
		t.Rows = append(t.Rows, row)
	}
	for _, g := range all {
		if len(g.Studies) > 1 {
			add(g.Name, g, "", strconv.Itoa(len(g.Studies))+" seeds")
		}
		for _, s := range g.Studies {
			add(s.Dir, &group{Studies: []*Study{s}}, string(s.State), strconv.FormatUint(s.Config.Seed, 10))
		}
	}
	for _, guess := range trivials(all, targets...) {
		if told.Of != "" {
			break // a table of measures has them
		}
		row := make([]string, len(t.Head))
		row[0] = guess.name
		if at := slices.IndexFunc(used, func(q quantity) bool { return q.name == guess.target+" test "+name }); at >= 0 {
			row[at+1] = all[0].Studies[0].ErrorText(guess.error)
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

// differencesTable has a row for each group but the first.
func differencesTable(all []*group, target string, found []difference) Table {
	s := all[0].Studies[0]
	share := s.Told().Percent
	t := Table{
		Title: fmt.Sprintf("Differences of the %s test %s from %s, paired by seed (± %.0f %% confidence interval; p of "+
			"Student's paired test by Holm's method)", target, s.Told().Metric, all[0].Name, 100*stats.Confidence),
		Head: []string{"study", "seeds", "difference", "p", "verdict"},
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

// randomSearch is what random search beside the study would have found after each of its
// configurations: their order is chance, so the band shows what another order gives.
func (s *Study) randomSearch() (line figure.Line) {
	if s.Baseline == nil {
		return line
	}
	_, by := s.unit()
	aim := s.Config.Aim()
	var scores []float64
	for _, t := range s.Baseline.Done {
		if x := float64(t.Score); !math.IsNaN(x) && !math.IsInf(x, 0) {
			scores = append(scores, by*x)
		}
	}
	slices.SortFunc(scores, aim.Compare)
	line.Name = fmt.Sprintf("random search, best of up to %d (all clients; mean and standard deviation over orders)", s.Baseline.Configurations)
	for i, m := range bestOf(scores) {
		line.Points = append(line.Points, figure.Point{X: float64((i + 1) * s.Baseline.Rounds), Y: m.mean, Half: m.sd})
	}
	return line
}

// moments are the moments of a random number.
type moments struct{ mean, sd float64 }

// bestOf returns the moments of the best of k scores that are drawn without putting back,
// for each k from 1; the scores stand in order, the best first.
func bestOf(scores []float64) (all []moments) {
	n := len(scores)
	for k := 1; k <= n; k++ {
		p := float64(k) / float64(n) // the chance that the best of k is scores[i]
		mean, square := 0.0, 0.0
		for i := 0; i <= n-k; i++ {
			mean += p * scores[i]
			square += p * scores[i] * scores[i]
			p *= float64(n-k-i) / max(1, float64(n-1-i))
		}
		all = append(all, moments{mean, math.Sqrt(max(0, square-mean*mean))})
	}
	return all
}
