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
	fmt.Fprintln(w, "\nclassification error, weighted by examples")
	t := table.New(w, "model", "global val", "global test", "personalized val", "personalized test", "unseen test")
	for _, m := range models {
		rates(t, m.name, m.errors.Rates)
		for _, masked := range m.errors.Masked {
			rates(t, "  "+masked.Mask, masked.Rates)
		}
	}
	if err := t.Flush(); err != nil {
		return err
	}
	fmt.Fprintln(w, "\ntest error of the single clients")
	t = table.New(w, "model", "target", "clients", "mean", "10 %", "median", "90 %")
	for _, m := range models {
		e := m.errors.Evaluation
		for _, target := range []struct {
			name string
			fl.Summary
		}{{"global", e.GlobalTest}, {"personalized", e.PersonalizedTest}, {"unseen", e.Unseen}} {
			if s := target.Summary; s.Clients > 0 {
				t.Row(m.name, target.name, table.Count(s.Clients), table.Percent(&s.Unweighted), table.Percent(&s.P10), table.Percent(&s.P50), table.Percent(&s.P90))
			}
		}
	}
	return t.Flush()
}

// rates adds a row of error rates.
func rates(t *table.Table, name string, r study.Rates) {
	cells := []string{name}
	for _, x := range []*float64{r.GlobalVal, r.GlobalTest, r.PersonalizedVal, r.PersonalizedTest, r.UnseenTest} {
		cells = append(cells, table.Percent(x))
	}
	t.Row(cells...)
}
