package report

import (
	"strconv"
	"strings"

	"github.com/fedfast/fedfast/fl/study/config"
	"github.com/fedfast/fedfast/fl/study/view"
	"github.com/fedfast/fedfast/internal/sys/oneline"
	"github.com/fedfast/fedfast/tuners"
)

// trialTables list the trials, the best first, with the hyperparameters in which they
// differ: those that were not pruned, and the pruned ones.
func (s *Study) trialTables() (kept, pruned *Table) {
	if len(s.Trials) == 0 || s.Mode == config.ModeRun {
		return nil, nil
	}
	var places [2][]int
	for _, i := range s.Ranked() {
		group := 0
		if s.Trials[i].State == view.Pruned && i != s.best() {
			group = 1
		}
		places[group] = append(places[group], i)
	}
	kept, pruned = s.TrialTable(places[0], s.Keys()), s.TrialTable(places[1], s.Keys())
	kept.Title, pruned.Title = "Trials, best first: "+strings.Join(s.TrialsTitle(), "; "), oneline.Count(len(places[1]), "pruned trial")
	switch {
	case len(places[0]) == 0:
		return pruned, nil
	case len(places[1]) == 0:
		return kept, nil
	}
	return kept, pruned
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
