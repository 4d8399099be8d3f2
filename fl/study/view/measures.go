package view

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/fedfast/fedfast/fl/internal/measure"
	"github.com/fedfast/fedfast/fl/study/config"
	"github.com/fedfast/fedfast/fl/study/result"
	"github.com/fedfast/fedfast/internal/list"
	"github.com/fedfast/fedfast/internal/stats"
	"github.com/fedfast/fedfast/internal/sys/oneline"
	"github.com/fedfast/fedfast/tuners"
)

// measured are the measures of models on test samples of one kind, each of another seed; nil where there are none.
func measured(models []*result.Errors, p Part) (all []*measure.Measures) {
	for _, e := range models {
		if e.Evaluation != nil && p.Over(e.Evaluation).Measures != nil {
			all = append(all, p.Over(e.Evaluation).Measures)
		}
	}
	return all
}

// meanOf writes the mean of a number of models, with half the width of its interval over several.
func meanOf(all []*measure.Measures, of func(*measure.Measures) *float64) string {
	s := stats.Known(list.Of(all, func(m *measure.Measures) float64 { return result.Defined(of(m)) }))
	return withHalf(s.Mean, s.Half, func(x float64) string { return numberOf(&x) })
}

// decimals writes numbers to as many decimals as two digits of half the width of an interval need;
// without one, NaN or 0, with four digits.
func decimals(half float64) func(float64) string {
	if !(half > 0) || math.IsInf(half, 1) {
		return result.Number
	}
	digits := min(max(0, 1-int(math.Floor(math.Log10(half)))), 12)
	return func(x float64) string { return strconv.FormatFloat(x, 'f', digits, 64) }
}

// withHalf writes a number, and half the width of its interval unless that is NaN or as good as 0. write is how
// it is written alone.
func withHalf(x, half float64, write func(float64) string) string {
	text := write(x)
	switch {
	case !(half > 1e-9*math.Abs(x)): // NaN, 0, or what rounding leaves of equal numbers
		return text
	case strings.HasSuffix(text, " %"):
		return strings.TrimSuffix(text, " %") + " ± " + write(half)
	}
	return decimals(half)(x) + " ± " + decimals(half)(half)
}

// MeasureText has the telling measures of a model of a target on test samples in one line, or their means over
// models of several seeds, empty where there are none: "ROC AUC 0.7812, PR AUC 0.6205, ... (global test)".
func MeasureText(target string, models ...*result.Errors) string {
	for _, p := range Tests(target) {
		var said []string
		if all := measured(models, p); all != nil {
			for _, name := range all[0].Names(true) {
				value := meanOf(all, func(m *measure.Measures) *float64 { return m.Values[name].Value })
				said = append(said, measure.Title(name)+" "+value)
			}
			return strings.Join(said, ", ") + " (" + p.Name + ")"
		}
	}
	return ""
}

// MeasureTable has the measures of a model on test samples, in parentheses their mean over clients and for how
// many of these they are undefined, beside those of a trivial predictor; of models of several seeds the means. It is
// nil where there are none.
func MeasureTable(models ...*result.Errors) *Table {
	t := &Table{Title: "Measures on test samples (mean of clients)", Head: []string{"measure", "trivial"}}
	for _, p := range Tests("") {
		all := measured(models, p)
		if all == nil {
			continue
		}
		if t.Head = append(t.Head, p.Name); all[0].Every > 1 {
			t.Title = "Measures on one in " + strconv.Itoa(all[0].Every) + " test samples (mean of clients)"
		}
		for i, name := range all[0].Names(false) {
			of := func(x func(*measure.Value) *float64) string {
				return meanOf(all, func(m *measure.Measures) *float64 { return x(new(m.Values[name])) })
			}
			if i == len(t.Rows) {
				trivial := of(func(v *measure.Value) *float64 { return v.Trivial })
				t.Rows = append(t.Rows, []string{measure.Title(name), trivial})
			}
			text := of(func(v *measure.Value) *float64 { return v.Value })
			clients := " (" + of(func(v *measure.Value) *float64 { return v.ClientMean })
			switch v := all[0].Values[name]; {
			case v.Undefined > 0 && len(all) == 1:
				text += clients + ", undefined for " + oneline.Digits(v.Undefined) + ")"
			case v.Clients > 0:
				text += clients + ")"
			}
			t.Rows[i] = append(t.Rows[i], text)
		}
	}
	if len(t.Rows) == 0 {
		return nil
	}
	return t
}

// DecisionTables say for a model of few classes how samples of each class are predicted, and of two classes what
// thresholds chosen on validation samples do.
func DecisionTables(e *result.Errors) (all []*Table) {
	chosen := &Table{
		Title: "Class 1 from a probability that is chosen on validation samples, on test samples",
		Head:  []string{"model", "highest", "probability", "F1", "balanced accuracy", "sensitivity", "specificity"},
	}
	for _, p := range Tests("")[:2] {
		for _, m := range measured([]*result.Errors{e}, p) {
			t := &Table{Title: "Test samples by class (row) and prediction, " + p.Name, Head: []string{"class"}}
			for k, counts := range m.Confusion {
				t.Head = append(t.Head, "as "+strconv.Itoa(k))
				row := append([]string{strconv.Itoa(k)}, list.Of(counts, oneline.Digits)...)
				t.Rows = append(t.Rows, append(row, numberOf(m.Recall[k])))
			}
			if t.Head = append(t.Head, "sensitivity"); t.Rows != nil {
				all = append(all, t)
			}
			for _, c := range m.Thresholds {
				chosen.Rows = append(chosen.Rows, []string{
					p.Name, measure.Title(c.For), result.Number(c.Threshold), numberOf(c.F1), numberOf(c.Balanced),
					numberOf(c.Sensitivity), numberOf(c.Specificity),
				})
			}
		}
	}
	if chosen.Rows != nil {
		all = append(all, chosen)
	}
	return all
}

// Errors are the errors of the returned models.
func (s Seeds) Errors() []*result.Errors {
	return list.Where(list.Of(s, (*Overview).Errors), func(e *result.Errors) bool { return e != nil })
}

// Without compares the models of studies that have ended with models without federation, by means over seeds;
// nil without eval.baselines.
func (s Seeds) Without() []result.Comparand {
	var all [][]result.Comparand
	for _, o := range s {
		switch {
		case o.Tune != nil && o.Tune.Without != nil:
			all = append(all, o.Tune.Without)
		case o.Run != nil && o.Run.Without != nil:
			all = append(all, o.Run.Without)
		}
	}
	return result.OverSeeds(all)
}

// Federation says whether federation pays, by the model of each target against training alone; nil for no
// such comparison.
func (s Seeds) Federation() (said []string) {
	for _, c := range s.Without() {
		g, scale, sign := c.OverLocal, s[0].Told(), -1.0
		if scale.Of == tuners.MetricROCAUC && c.ROCAUCOverLocal != nil {
			g, sign, scale.Metric = c.ROCAUCOverLocal, 1, "mean ROC AUC of clients"
		} else if g != nil {
			scale.Metric, scale.Percent = result.MeasureName(s[0].Measure())
		}
		if g == nil || c.Name == config.BaselinePooled {
			continue
		}
		in := ""
		if g.Seeds > 1 {
			in = fmt.Sprintf(" in %d seeds", g.Seeds)
		}
		than := "than"
		if g.Gain == 0 {
			than = "as"
		}
		by := fmt.Sprintf("%d of %s%s gain, %s %s %s alone", g.Better, oneline.Count(g.Clients, "client"), in,
			Difference(sign*g.Gain, g.Half, scale.Percent), scale.Metric, than)
		form := "whether %s pays cannot be told: %s"
		switch g.Sign() {
		case 1:
			form = "%s pays: %s"
		case -1:
			form = "training alone is better than %s: %s"
		}
		what := "federation"
		if c.Name == tuners.TargetPersonalized {
			what = "federation with personalization"
		}
		said = append(said, fmt.Sprintf(form, what, by))
	}
	return said
}

// WithoutTable has the models of a comparison with those without federation side by side, and of few clients each;
// nil for no comparison.
func (s Seeds) WithoutTable() *Table {
	all := s.Without()
	if len(all) == 0 {
		return nil
	}
	what, share := result.MeasureName(s[0].Measure())
	t := &Table{Title: "With and without federation, on test samples", Head: []string{""}}
	if all[0].TestHalf != nil {
		t.Title += fmt.Sprintf(" (mean over seeds ± %.0f %% confidence interval)", 100*stats.Confidence)
	}
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
	gain := func(name, what string, share bool, sign float64, of func(c *result.Comparand) *result.Gain) {
		row(what+" than "+name, func(c *result.Comparand) string {
			if g := of(c); g != nil {
				text := Difference(sign*g.Gain, g.Half, share)
				if g.Half != nil && g.Sign() == 0 {
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
		t.Head = append(t.Head, strings.Replace(c.Name, config.BaselineLocal, "alone", 1))
	}
	row(what, func(c *result.Comparand) string {
		return withHalf(c.Test, result.Defined(c.TestHalf), s[0].ErrorText)
	})
	row("ROC AUC, mean of clients", func(c *result.Comparand) string {
		if c.ROCAUC == nil {
			return ""
		}
		return withHalf(*c.ROCAUC, result.Defined(c.ROCAUCHalf), result.Number)
	})
	if s[0].Told().Of == tuners.MetricROCAUC {
		gain("alone", "ROC AUC", false, 1, func(c *result.Comparand) *result.Gain { return c.ROCAUCOverLocal })
	} else {
		gain("alone", what, share, -1, func(c *result.Comparand) *result.Gain { return c.OverLocal })
	}
	gain("federated", what, share, -1, func(c *result.Comparand) *result.Gain { return c.OverFederated })
	row("trained with the values", func(c *result.Comparand) string {
		return map[string]string{"tuned": "that were tuned", "file": "of the file"}[c.Settings]
	})
	for i, client := range all[0].Clients {
		name := fmt.Sprintf("client %s, %s", oneline.Name(client.Client), oneline.Count(client.Samples, "sample"))
		row(name, func(c *result.Comparand) string {
			if i >= len(c.Clients) {
				return ""
			}
			text := s[0].ErrorText(c.Clients[i].Test)
			if x := c.Clients[i].ROCAUC; x != nil {
				text += ", ROC AUC " + result.Number(*x)
			}
			return text
		})
	}
	return t
}
