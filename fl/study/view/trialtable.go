package view

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/fedfast/fedfast/fl/study/result"
	"github.com/fedfast/fedfast/internal/list"
	"github.com/fedfast/fedfast/internal/sys/oneline"
	"github.com/fedfast/fedfast/tuners"
)

// Keys are the hyperparameters in which trials differ, all those of a single one.
func (o *Overview) Keys() []string {
	all := list.Made(len(o.Trials), func(i int) tuners.Params { return o.Trials[i].Params })
	return result.Varying(all)
}

// Outcome says what became of a trial.
func (o *Overview) Outcome(t *Trial) string {
	words := []string{string(t.State)}
	if t.Reference {
		words = []string{"default", string(t.State)}
	}
	add := func(is bool, word string) {
		if is {
			words = append(words, word)
		}
	}
	if r := o.Tune; r != nil && r.Trial(t.Number) != nil {
		end := r.Trial(t.Number)
		add(end.Stopped != "", "by the user")
		add(end.Front, "Pareto front")
		add(end.Infeasible, "infeasible")
		add(t.Number == r.Best.Number, "winner")
		add(r.Survivor != nil && t.Number == r.Survivor.Number && t.Number != r.Best.Number, "survivor")
	}
	return strings.Join(words, ", ")
}

// TrialTable has a row for each of the trials at some places in Trials, with their hyperparameters of
// the keys: those that they started from, see StartNote.
func (o *Overview) TrialTable(places []int, keys []string) *Table {
	type column struct {
		name string
		of   func(*Trial) string
		kept bool // where no trial has anything
	}
	scale := o.Scale()
	all := []column{
		{"trial", func(t *Trial) string { return strconv.Itoa(t.Number) }, true},
		{"state", o.Outcome, true},
		{"rounds", func(t *Trial) string { return oneline.Digits(t.Rounds) }, true},
		{"last rung", func(t *Trial) string { return scale.TextOf(t.Score()) }, true},
	}
	metrics := map[string]bool{}
	for _, i := range places {
		for name := range o.Trials[i].Values() {
			metrics[name] = true
		}
	}
	delete(metrics, o.Config.Aim().Metric)
	for _, name := range slices.Sorted(maps.Keys(metrics)) {
		all = append(all, column{name, func(t *Trial) string {
			if x, ok := t.Values()[name]; ok {
				return result.Number(x)
			}
			return ""
		}, false})
	}
	all = append(all,
		column{"all clients", func(t *Trial) string { return strings.TrimPrefix(scale.TextOf(o.Place(t).Final), "-") }, false},
		column{"source", func(t *Trial) string {
			if t.Source == nil {
				return ""
			}
			return strconv.Itoa(*t.Source)
		}, false},
		column{"reason", (*Trial).Reason, false})
	for _, key := range keys {
		all = append(all, column{key, func(t *Trial) string {
			if v, ok := t.Params[key]; ok {
				return result.ValueText(v)
			}
			return ""
		}, true})
	}
	table := &Table{Rows: make([][]string, len(places))}
	for _, c := range all {
		if !c.kept && !slices.ContainsFunc(places, func(i int) bool { return c.of(&o.Trials[i]) != "" }) {
			continue
		}
		table.Head = append(table.Head, c.name)
		for row, i := range places {
			text := cmp.Or(c.of(&o.Trials[i]), "-")
			table.Rows[row] = append(table.Rows[row], text)
		}
	}
	return table
}
