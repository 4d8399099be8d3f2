package view

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/fedfast/fedfast/fl/study/config"
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

// Without compares the model of a study that has ended with models without federation; nil without eval.baselines.
func (o *Overview) Without() []result.Comparand {
	switch {
	case o.Tune != nil:
		return o.Tune.Without
	case o.Run != nil:
		return o.Run.Without
	}
	return nil
}

// called is how people call a model of a comparison.
func called(c *result.Comparand) string {
	return strings.Replace(c.Name, config.BaselineLocal, "alone", 1)
}

// WithoutText tells in a sentence what federation gains; empty for no comparison.
func WithoutText(all []result.Comparand, measure string) string {
	what, share := result.MeasureName(measure)
	var parts, gains []string
	for _, c := range all {
		parts = append(parts, called(&c)+" "+result.ErrorText(measure, c.Test))
		if g := c.OverLocal; g != nil && c.Name != config.BaselinePooled {
			gains = append(gains, fmt.Sprintf("%s is %s than alone, %d of %s gain",
				c.Name, Difference(-g.Gain, g.Half, share), g.Better, oneline.Count(g.Clients, "client")))
		}
	}
	if all == nil {
		return ""
	}
	return strings.Join(append([]string{"test " + what + " " + strings.Join(parts, ", ")}, gains...), "; ")
}

// WithoutTable has the models of a comparison with those without federation side by side, and of few clients each;
// nil for no comparison.
func (o *Overview) WithoutTable() *Table {
	all := o.Without()
	what, share := result.MeasureName(o.Measure())
	t := &Table{Title: "With and without federation, on test samples", Head: []string{""}}
	row := func(name string, of func(c *result.Comparand) string) {
		cells, some := []string{name}, false
		for i := range all {
			text := of(&all[i])
			cells, some = append(cells, text), some || text != ""
		}
		if some {
			t.Rows = append(t.Rows, cells)
		}
	}
	gain := func(name string, of func(c *result.Comparand) *result.Gain) {
		row(what+" than "+name, func(c *result.Comparand) string {
			if g := of(c); g != nil {
				text := Difference(-g.Gain, g.Half, share)
				if g.Half != nil && -*g.Half <= g.Gain && g.Gain <= *g.Half {
					text += ", may be chance"
				}
				return text
			}
			return ""
		})
		row("clients that gain over "+name, func(c *result.Comparand) string {
			if g := of(c); g != nil {
				return fmt.Sprintf("%d of %d", g.Better, g.Clients)
			}
			return ""
		})
	}
	for _, c := range all {
		t.Head = append(t.Head, called(&c))
	}
	row(what, func(c *result.Comparand) string { return o.ErrorText(c.Test) })
	row("ROC AUC, mean of clients", func(c *result.Comparand) string {
		if c.ROCAUC == nil {
			return ""
		}
		return result.Number(*c.ROCAUC)
	})
	gain("alone", func(c *result.Comparand) *result.Gain { return c.OverLocal })
	gain("federated", func(c *result.Comparand) *result.Gain { return c.OverFederated })
	row("trained with the values", func(c *result.Comparand) string {
		return map[string]string{"tuned": "that were tuned", "file": "of the file"}[c.Settings]
	})
	if len(all) == 0 {
		return nil
	}
	for i, client := range all[0].Clients {
		name := fmt.Sprintf("client %s, %s", oneline.Name(client.Client), oneline.Count(client.Samples, "sample"))
		row(name, func(c *result.Comparand) string {
			if i >= len(c.Clients) {
				return ""
			}
			text := o.ErrorText(c.Clients[i].Test)
			if x := c.Clients[i].ROCAUC; x != nil {
				text += ", ROC AUC " + result.Number(*x)
			}
			return text
		})
	}
	return t
}
