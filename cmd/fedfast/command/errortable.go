package command

import (
	"errors"
	"fmt"
	"io"

	"github.com/fedfast/fedfast/cmd/fedfast/internal/ui/table"
	"github.com/fedfast/fedfast/fl/study/result"
	"github.com/fedfast/fedfast/fl/study/view"
)

// printTable prints a table with a title.
func printTable(w io.Writer, title string, head []string, rows [][]string) error {
	if err := table.Text(w, title); err != nil {
		return err
	}
	return tableOf(w, head, rows).Flush()
}

// tableOf is a table of rows.
func tableOf(w io.Writer, head []string, rows [][]string) *table.Table {
	t := table.New(w, head...)
	for _, row := range rows {
		t.Row(row...)
	}
	return t
}

// printBelow prints a table of pages below an empty line, nothing of nil.
func printBelow(w io.Writer, t *view.Table) error {
	if t == nil {
		return nil
	}
	fmt.Fprintln(w)
	return printTable(w, t.Title, t.Head, t.Rows)
}

// printErrors prints the errors of models, and the measures of the first.
func printErrors(w io.Writer, models ...view.Model) error {
	t := view.ErrorTable(measures[models[0].Measure]+" (sample-weighted)", models...)
	err := errors.Join(printBelow(w, t), printBelow(w, view.MeasureTable(&models[0].Errors)))
	for _, t := range view.DecisionTables(&models[0].Errors) {
		err = errors.Join(err, printBelow(w, t))
	}
	return err
}

// printWithout prints a comparison with models without federation above the block of studies, if there is one.
func (a *app) printWithout(studies ...*view.Overview) error {
	t := view.Seeds(studies).WithoutTable()
	if t == nil {
		return nil
	}
	for _, row := range t.Rows {
		for i := range row {
			row[i] = plain(row[i])
		}
	}
	err := printTable(a.out, plain(t.Title), t.Head, t.Rows)
	fmt.Fprintln(a.out)
	return err
}

// measures name the values of result.Errors.Measure.
var measures = map[string]string{
	"":                   "classification error",
	result.MeasureRecall: "share of labels missed (1 - recall)",
	result.MeasureRMSE:   "root mean squared error",
}

// errorText writes an error: a share in percent, a dash when there is none.
func errorText(measure string, x *float64) string {
	if x == nil {
		return "-"
	}
	return result.ErrorText(measure, *x)
}
