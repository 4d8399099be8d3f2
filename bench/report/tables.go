package report

import (
	_ "embed" // the page
	"fmt"
	"slices"
	"strconv"

	"github.com/fedfast/fedfast/fl"
	"github.com/fedfast/fedfast/fl/study"
	"github.com/fedfast/fedfast/fl/study/config"
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
		{"global, clients that never train", false, e.Unseen},
	} {
		if r.Clients > 0 {
			rows = append(rows, r)
		}
	}
	return rows
}

func (s *Study) errorTable() *sheetTable {
	m := s.errors()
	g := &sheetTable{Title: "Errors of the returned model", Head: []string{"model and examples", m.name, "loss", "10th percentile of the clients", "median", "90th percentile", "clients", "examples"}}
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

func (s *Study) trialTable() *sheetTable {
	g := &sheetTable{Title: "Trials", Head: []string{"trial", "state", "rounds", "last score"}}
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
			score = scoreText(*x)
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
	g := &sheetTable{Title: "Finalists", Head: []string{"trial", "round", "score"}}
	for _, f := range s.Finalists {
		g.Rows = append(g.Rows, []string{strconv.Itoa(f.Trial), count(f.Round), scoreText(f.Score)})
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
	g := &sheetTable{Title: "Table of the client tuner", Head: []string{"heterogeneity index", "samples"}}
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
	g := &sheetTable{Title: "Begun and resumed", Head: []string{"when", "version", "processor", "level", "workers"}}
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
		return fmt.Sprintf("Importances are not shown: they need %d trials at the first rung to say anything.", leastArms)
	}
	return ""
}
