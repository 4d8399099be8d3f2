package main

import (
	"fmt"
	"io"

	"github.com/fedfast/fedfast/cmd/fedfast/internal/ui/table"
	"github.com/fedfast/fedfast/fl"
	"github.com/fedfast/fedfast/fl/study"
)

// measured is a model with its errors.
type measured struct {
	name   string
	errors study.Errors
}

// printErrors prints the error rates of models, below each those without the
// labels of masks, and how their test errors are spread over the clients.
func printErrors(w io.Writer, models ...measured) error {
	measure := models[0].errors.Measure
	fmt.Fprintf(w, "\n%s, weighted by examples\n", measures[measure])
	t := table.New(w, "model", "global val", "global test", "personalized val", "personalized test", "unseen test")
	for _, m := range models {
		rates(t, measure, m.name, m.errors.Rates)
		for _, masked := range m.errors.Masked {
			rates(t, measure, "  "+masked.Mask, masked.Rates)
		}
	}
	if err := t.Flush(); err != nil {
		return err
	}
	if err := printFits(w, models); err != nil {
		return err
	}
	if s := models[0].errors.Evaluation.GlobalTest; s.Central {
		fmt.Fprintf(w, "\nglobal test is on the data's own test set, %s examples of no client\n", table.Count(s.Examples))
	}
	t, rows := table.New(w, "model", "target", "clients", "mean", "10 %", "median", "90 %"), 0
	for _, m := range models {
		e := m.errors.Evaluation
		for _, target := range targetsOf(e) {
			if s := target.Summary; s.Clients > 0 && !s.Central {
				rows++
				t.Row(m.name, target.name, table.Count(s.Clients), errorText(measure, &s.Unweighted), errorText(measure, &s.P10), errorText(measure, &s.P50), errorText(measure, &s.P90))
			}
		}
	}
	if rows == 0 {
		return nil
	}
	fmt.Fprintln(w, "\ntest error of the single clients")
	return t.Flush()
}

// rates adds a row of error rates.
func rates(t *table.Table, measure, name string, r study.Rates) {
	cells := []string{name}
	for _, x := range []*float64{r.GlobalVal, r.GlobalTest, r.PersonalizedVal, r.PersonalizedTest, r.UnseenTest} {
		cells = append(cells, errorText(measure, x))
	}
	t.Row(cells...)
}

// targetSummary is a model's test summary in one of its uses.
type targetSummary struct {
	name string
	fl.Summary
}

// targetsOf returns the test summaries of an evaluation.
func targetsOf(e *fl.Evaluation) []targetSummary {
	return []targetSummary{{"global", e.GlobalTest}, {"personalized", e.PersonalizedTest}, {"unseen", e.Unseen}}
}

// measures name the values of study.Errors.Measure.
var measures = map[string]string{
	"":                  "classification error",
	study.MeasureRecall: "share of labels missed (1 - recall)",
	study.MeasureRMSE:   "root mean squared error",
}

// errorText writes an error: a share in percent, a dash when there is none.
func errorText(measure string, x *float64) string {
	if measure != study.MeasureRMSE || x == nil || *x != *x {
		return table.Percent(x)
	}
	return fmt.Sprintf("%.4g", *x)
}

// printFits prints what is told of regressions besides.
func printFits(w io.Writer, models []measured) error {
	if models[0].errors.Measure != study.MeasureRMSE {
		return nil
	}
	fmt.Fprintln(w, "\nof the test examples")
	t := table.New(w, "model", "target", "RMSE", "MAE", "R2")
	for _, m := range models {
		for _, s := range targetsOf(m.errors.Evaluation) {
			if s.MAE == nil {
				continue
			}
			r2 := "-"
			if s.R2 != nil {
				r2 = fmt.Sprintf("%.4f", *s.R2)
			}
			t.Row(m.name, s.name, fmt.Sprintf("%.4g", s.Error), fmt.Sprintf("%.4g", *s.MAE), r2)
		}
	}
	return t.Flush()
}
