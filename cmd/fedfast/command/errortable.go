package command

import (
	"fmt"
	"io"
	"slices"
	"strings"

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
	fmt.Fprintf(w, "\n%s (sample-weighted)\n", measures[measure])
	parts := slices.DeleteFunc(slices.Clone(ratesShown), func(p ratePart) bool {
		return !slices.ContainsFunc(models, func(m measured) bool { return p.of(&m.errors.Rates) != nil })
	})
	head := []string{"model"}
	for _, p := range parts {
		head = append(head, p.name)
	}
	t := table.New(w, head...)
	row := func(name string, r *study.Rates) {
		cells := []string{name}
		for _, p := range parts {
			cells = append(cells, errorText(measure, p.of(r)))
		}
		t.Row(cells...)
	}
	for i := range models {
		e := &models[i].errors
		row(models[i].name, &e.Rates)
		for _, masked := range e.Masked {
			row("  "+masked.Mask, &masked.Rates)
		}
	}
	if err := t.Flush(); err != nil {
		return err
	}
	if err := printFits(w, models); err != nil {
		return err
	}
	if s := models[0].errors.Evaluation.GlobalTest; s.Central {
		fmt.Fprintf(w, "\nglobal test uses the dataset's own test set: %s samples not owned by any client\n", table.Count(s.Examples))
	}
	t, rows := table.New(w, "model", "target", "clients", "mean", "P10", "median", "P90"), 0
	for _, m := range models {
		e := m.errors.Evaluation
		short, _, _ := strings.Cut(m.name, ",") // the place and further names stand above
		short, _, _ = strings.Cut(short, " (")
		for _, target := range targetsOf(e) {
			if s := target.Summary; s.Clients > 0 && !s.Central {
				rows++
				t.Row(short, target.name, table.Count(s.Clients), errorText(measure, &s.Unweighted), errorText(measure, &s.P10), errorText(measure, &s.P50), errorText(measure, &s.P90))
			}
		}
	}
	if rows == 0 {
		return nil
	}
	fmt.Fprintln(w, "\ntest error per client")
	return t.Flush()
}

// ratePart is one of a model's error rates.
type ratePart struct {
	name string
	of   func(*study.Rates) *float64
}

// ratesShown are the columns of a table of error rates.
var ratesShown = []ratePart{
	{"global val", func(r *study.Rates) *float64 { return r.GlobalVal }},
	{"global test", func(r *study.Rates) *float64 { return r.GlobalTest }},
	{"personalized val", func(r *study.Rates) *float64 { return r.PersonalizedVal }},
	{"personalized test", func(r *study.Rates) *float64 { return r.PersonalizedTest }},
	{"unseen test", func(r *study.Rates) *float64 { return r.UnseenTest }},
	{"unseen adapted test", func(r *study.Rates) *float64 { return r.UnseenAdapted }},
}

// targetSummary is a model's test summary in one of its uses.
type targetSummary struct {
	name string
	fl.Summary
}

// targetsOf returns the test summaries of an evaluation.
func targetsOf(e *fl.Evaluation) []targetSummary {
	return []targetSummary{{"global", e.GlobalTest}, {"personalized", e.PersonalizedTest}, {"unseen", e.Unseen}, {"unseen, adapted", e.UnseenAdapted}}
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
	fmt.Fprintln(w, "\nof the test samples")
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
