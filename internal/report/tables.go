package report

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/fedfast/fedfast/fl"
	"github.com/fedfast/fedfast/fl/study/config"
	"github.com/fedfast/fedfast/internal/stats"
	"github.com/fedfast/fedfast/internal/view"
	"github.com/fedfast/fedfast/tuners"
)

// errorTable has the errors of the returned model and their percentiles over the clients.
func (s *Study) errorTable() *Table {
	m, errs := s.errors(), s.Errors()
	if errs == nil || errs.Evaluation == nil {
		return nil
	}
	e := errs.Evaluation
	g := &Table{Title: "Errors of the returned model", Head: []string{"model, data", m.name, "P10 of clients", "median", "P90", "clients", "samples"}}
	for _, r := range []struct {
		name string
		fl.Summary
	}{
		{"personalized, test", e.PersonalizedTest},
		{"global, test", e.GlobalTest},
		{"personalized, validation", e.PersonalizedVal},
		{"global, validation", e.GlobalVal},
		{"global, unseen clients", e.Unseen},
		{"adapted, unseen clients", e.UnseenAdapted},
	} {
		if r.Clients == 0 {
			continue
		}
		spread, clients := []string{m.text(r.P10), m.text(r.P50), m.text(r.P90)}, count(r.Clients)
		if r.Central {
			spread, clients = []string{"-", "-", "-"}, "-"
		}
		g.Rows = append(g.Rows, slices.Concat([]string{r.name, m.text(r.Error)}, spread, []string{clients, count(r.Examples)}))
	}
	if len(g.Rows) == 0 {
		return nil
	}
	return g
}

// baselineTable compares the returned model with random search.
func (s *Study) baselineTable() *Table {
	if s.Tune == nil || s.Tune.Baseline == nil || s.Tune.Baseline.Gain == nil {
		return nil
	}
	m, b := s.errors(), s.Tune.Baseline
	g := &Table{
		Title: fmt.Sprintf("Random search: %d configurations of %s rounds", len(b.Trials), count(b.Rounds)),
		Head:  []string{"", b.Target + " test " + m.name, fmt.Sprintf("%.0f %% interval", 100*stats.Confidence), "rounds"},
	}
	interval := func(lo, hi float64) string { return strings.TrimSuffix(m.text(lo), " %") + " to " + m.text(hi) }
	median, gain := "", ""
	if i := b.MedianInterval; i != nil {
		median = interval(i[0], i[1])
	}
	if h := b.GainHalf; h != nil {
		gain = interval(*b.Gain-*h, *b.Gain+*h)
	}
	g.Rows = [][]string{
		{"returned model", m.text(b.BestTest - *b.Gain), "", count(s.Tune.Rounds)},
		{"random search, best", m.text(b.BestTest), "", count(b.Spent())},
		{"random search, median", m.text(b.MedianTest), median, ""},
		{"gain over the best", m.text(*b.Gain), gain, ""},
	}
	return g
}

// trialTables list the trials, the best first, with the hyperparameters in which they
// differ: those that were not pruned, and the pruned ones.
func (s *Study) trialTables() (kept, pruned *Table) {
	if len(s.Trials) == 0 || s.Mode == config.ModeRun {
		return nil, nil
	}
	head := []string{"trial", "state", "rounds", s.objective() + ", all clients", "last rung (one cohort)"}
	dims := s.dims()
	for _, d := range dims {
		head = append(head, d.name)
	}
	reasons := slices.ContainsFunc(s.Trials, func(t view.Trial) bool { return t.Reason() != "" })
	if reasons {
		head = append(head, "reason")
	}
	kept, pruned = &Table{Title: s.trialsTitle(), Head: head}, &Table{Head: head}
	for _, i := range s.Ranked() {
		t := &s.Trials[i]
		row := []string{strconv.Itoa(t.Number), string(t.State), count(t.Rounds), s.Scale().TextOf(s.Place(t).Final), s.Scale().TextOf(t.Score())}
		if i == s.best() && s.Best != nil && s.Best.Returned {
			row[1] = "winner"
		}
		for _, d := range dims {
			if v, ok := t.Params[d.name]; ok {
				row = append(row, short(v))
			} else {
				row = append(row, "")
			}
		}
		if reasons {
			row = append(row, t.Reason())
		}
		if t.State == view.Pruned && i != s.best() {
			pruned.Rows = append(pruned.Rows, row)
		} else {
			kept.Rows = append(kept.Rows, row)
		}
	}
	pruned.Title = fmt.Sprintf("%d pruned trials", len(pruned.Rows))
	if len(pruned.Rows) == 0 {
		pruned = nil
	}
	if len(kept.Rows) == 0 {
		kept, pruned = pruned, nil
	}
	return kept, pruned
}

// trialsTitle says what order the trials are in, and what their hyperparameters are.
func (s *Study) trialsTitle() string {
	if s.Config.ClientTuner.Name != "" {
		return "Trials, best first, with the hyperparameters that they started from"
	}
	return "Trials, best first"
}

// finalistTable has the models among which the study chooses, the best first.
func (s *Study) finalistTable() *Table {
	g := &Table{Title: "Finalists, scored on all clients", Head: []string{"trial", "round", s.objective()}}
	if most := s.Config.Finalists.Clients; most > 0 {
		g.Title = "Finalists, scored on at most " + count(most) + " clients"
	}
	finalists := slices.Clone(s.Finalists)
	slices.SortStableFunc(finalists, func(a, b view.Finalist) int { return better(s.Config.Aim(), a.Score, b.Score) })
	for _, f := range finalists {
		g.Rows = append(g.Rows, []string{strconv.Itoa(f.Trial), count(f.Round), s.Scale().Text(f.Score)})
	}
	if len(g.Rows) == 0 {
		return nil
	}
	return g
}

// cellTable is the table in which clients look their hyperparameters up.
func (s *Study) cellTable() *Table {
	if len(s.table) == 0 {
		return nil
	}
	g := &Table{Title: "Client tuner: reference table", Head: []string{"heterogeneity index", "samples"}}
	g.Head = append(g.Head, s.table[0].Params.Keys()...)
	for _, c := range s.table {
		row := []string{strconv.FormatFloat(c.Keys[tuners.KeyHI], 'g', 4, 64), strconv.FormatFloat(c.Keys[tuners.KeySamples], 'g', -1, 64)}
		for _, key := range s.table[0].Params.Keys() {
			row = append(row, short(c.Params[key]))
		}
		g.Rows = append(g.Rows, row)
	}
	return g
}

func (s *Study) sessionTable() *Table {
	g := &Table{Title: "Sessions", Head: []string{"started", "version", "processor", "instruction set", "workers"}}
	for _, x := range s.Sessions {
		g.Rows = append(g.Rows, []string{stamp(x.At), x.Version, x.CPU, x.Level, strconv.Itoa(x.Workers)})
	}
	if len(g.Rows) == 0 {
		return nil
	}
	return g
}
