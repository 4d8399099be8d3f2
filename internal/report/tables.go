package report

import (
	_ "embed" // the page
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/fedfast/fedfast/fl"
	"github.com/fedfast/fedfast/fl/study"
	"github.com/fedfast/fedfast/fl/study/config"
	"github.com/fedfast/fedfast/internal/stats"
	"github.com/fedfast/fedfast/tuners"
)

// evaluatedRow is one part of the evaluation of the returned model.
type evaluatedRow struct {
	Name         string
	Personalized bool
	fl.Summary
}

// evaluated are the parts of the evaluation of the returned model that have clients.
func (s *Study) evaluated() []evaluatedRow {
	var errs *study.Errors
	switch {
	case s.Tune != nil:
		errs = &s.Tune.Errors
	case s.Run != nil:
		errs = &s.Run.Errors
	}
	if errs == nil || errs.Evaluation == nil {
		return nil
	}
	e := errs.Evaluation
	var rows []evaluatedRow
	for _, r := range []evaluatedRow{
		{"global, validation", false, e.GlobalVal},
		{"personalized, validation", true, e.PersonalizedVal},
		{"global, test", false, e.GlobalTest},
		{"personalized, test", true, e.PersonalizedTest},
		{"global, unseen clients", false, e.Unseen},
	} {
		if r.Clients > 0 {
			rows = append(rows, r)
		}
	}
	return rows
}

func (s *Study) errorTable() *sheetTable {
	m := s.errors()
	g := &sheetTable{Title: "Errors of the returned model", Head: []string{"model and examples", m.name, "loss", "10th percentile of clients", "median", "90th percentile", "clients", "examples"}}
	for _, r := range s.evaluated() {
		spread := []string{m.text(r.P10), m.text(r.P50), m.text(r.P90), count(r.Clients)}
		if r.Central {
			spread = slices.Repeat([]string{"-"}, len(spread))
		}
		g.Rows = append(g.Rows, slices.Concat([]string{r.Name, m.text(r.Error), strconv.FormatFloat(r.Loss, 'f', 4, 64)}, spread, []string{count(r.Examples)}))
	}
	if len(g.Rows) == 0 {
		return nil
	}
	return g
}

// baselineTable compares the returned model with random search.
func (s *Study) baselineTable() *sheetTable {
	if s.Tune == nil || s.Tune.Baseline == nil || s.Tune.Baseline.Gain == nil {
		return nil
	}
	m, b := s.errors(), s.Tune.Baseline
	g := &sheetTable{
		Title: fmt.Sprintf("Comparison with random search: %d configurations of %s rounds", len(b.Trials), count(b.Rounds)),
		Head:  []string{"", b.Target + " test " + m.name, fmt.Sprintf("%.0f %% confidence interval", 100*stats.Confidence), "rounds"},
	}
	interval := func(lo, hi float64) string { return strings.TrimSuffix(m.text(lo), " %") + " to " + m.text(hi) }
	median, gain := "", ""
	if i := b.MedianInterval; i != nil {
		median = interval(i[0], i[1]) + ", over configurations"
	}
	if h := b.GainHalf; h != nil {
		gain = interval(*b.Gain-*h, *b.Gain+*h) + ", over clients"
	}
	g.Rows = [][]string{
		{"returned model", m.text(b.BestTest - *b.Gain), "", count(s.Tune.Rounds)},
		{"random search, best by validation", m.text(b.BestTest), "", count(b.Spent())},
		{"random search, median", m.text(b.MedianTest), median, ""},
		{"gain over the best", m.text(*b.Gain), gain, ""},
	}
	return g
}

func (s *Study) trialTable() *sheetTable {
	g := &sheetTable{Title: "Trials", Head: []string{"trial", "state", "rounds", s.objective() + ", one cohort"}}
	keys := map[string]bool{}
	var params []string
	reasons := false
	for i := range s.Trials {
		for _, key := range s.Trials[i].Params.Keys() {
			if !keys[key] {
				keys[key], params = true, append(params, key)
			}
		}
		reasons = reasons || s.Trials[i].Reason() != ""
	}
	slices.Sort(params)
	g.Head = append(g.Head, params...)
	if reasons {
		g.Head = append(g.Head, "reason")
	}
	for i := range s.Trials {
		t := &s.Trials[i]
		score := ""
		if x := t.Score(); x != nil {
			score = s.Scale().Text(*x)
		}
		row := []string{strconv.Itoa(t.Number), string(t.State), count(t.Rounds), score}
		for _, key := range params {
			if v, ok := t.Params[key]; ok {
				row = append(row, short(v))
			} else {
				row = append(row, "")
			}
		}
		if reasons {
			row = append(row, t.Reason())
		}
		g.Rows = append(g.Rows, row)
	}
	if len(g.Rows) == 0 {
		return nil
	}
	return g
}

func (s *Study) finalistTable() *sheetTable {
	g := &sheetTable{Title: "Finalists", Head: []string{"trial", "round", s.objective()}}
	for _, f := range s.Finalists {
		g.Rows = append(g.Rows, []string{strconv.Itoa(f.Trial), count(f.Round), s.Scale().Text(f.Score)})
	}
	if len(g.Rows) == 0 {
		return nil
	}
	return g
}

// cellTable is the table in which clients look their hyperparameters up.
func (s *Study) cellTable() *sheetTable {
	if len(s.table) == 0 {
		return nil
	}
	g := &sheetTable{Title: "Client tuner: reference table", Head: []string{"heterogeneity index", "samples"}}
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

func (s *Study) sessionTable() *sheetTable {
	g := &sheetTable{Title: "Sessions", Head: []string{"when", "version", "processor", "level", "workers"}}
	for _, x := range s.Sessions {
		g.Rows = append(g.Rows, []string{stamp(x.At), x.Version, x.CPU, x.Level, strconv.Itoa(x.Workers)})
	}
	if len(g.Rows) == 0 {
		return nil
	}
	return g
}

// paramsText says why importances are not shown.
func (s *Study) paramsText() string {
	if s.Mode == config.ModeTune && s.importances() == nil && len(s.dims()) > 0 {
		return fmt.Sprintf("Hyperparameter importance needs at least %d trials (this study has %d).", leastArms, len(s.Trials))
	}
	return ""
}
