package view

import (
	"strconv"
	"strings"

	"github.com/fedfast/fedfast/fl/study/result"
	"github.com/fedfast/fedfast/internal/measure"
	"github.com/fedfast/fedfast/internal/sys/oneline"
)

// MeasureText has the telling measures of a model of a target on test samples in one line, empty where
// there are none: "ROC AUC 0.7812, PR AUC 0.6205, ... (global test)".
func MeasureText(e *result.Errors, target string) string {
	for _, p := range Tests(target) {
		if e.Evaluation == nil {
			break
		}
		m := p.Over(e.Evaluation).Measures
		var all []string
		for _, name := range m.Names(true) {
			all = append(all, measure.Title(name)+" "+numberOf(m.Values[name].Value))
		}
		if all != nil {
			return strings.Join(all, ", ") + " (" + p.Name + ")"
		}
	}
	return ""
}

// MeasureTable has the measures of a model on test samples, in parentheses their mean over clients and for how
// many of these they are undefined, beside those of a trivial predictor; nil where there are none.
func MeasureTable(e *result.Errors) *Table {
	t := &Table{Title: "Measures on test samples (mean of clients)", Head: []string{"measure", "trivial"}}
	for _, p := range Tests("") {
		if e.Evaluation == nil || p.Over(e.Evaluation).Measures == nil {
			continue
		}
		m := p.Over(e.Evaluation).Measures
		if t.Head = append(t.Head, p.Name); m.Every > 1 {
			t.Title = "Measures on one in " + strconv.Itoa(m.Every) + " test samples (mean of clients)"
		}
		for i, name := range m.Names(false) {
			v := m.Values[name]
			if i == len(t.Rows) {
				t.Rows = append(t.Rows, []string{measure.Title(name), numberOf(v.Trivial)})
			}
			text := numberOf(v.Value)
			switch {
			case v.Undefined > 0:
				text += " (" + numberOf(v.ClientMean) + ", undefined for " + oneline.Digits(v.Undefined) + ")"
			case v.Clients > 0:
				text += " (" + numberOf(v.ClientMean) + ")"
			}
			t.Rows[i] = append(t.Rows[i], text)
		}
	}
	if len(t.Rows) == 0 {
		return nil
	}
	return t
}
