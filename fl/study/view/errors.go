package view

import (
	"math"
	"slices"
	"strings"

	"github.com/fedfast/fedfast/fl"
	"github.com/fedfast/fedfast/fl/study/result"
	"github.com/fedfast/fedfast/internal/sys/oneline"
	"github.com/fedfast/fedfast/tuners"
)

// Table has rows of cells as people read them.
type Table struct {
	Title string     `json:"title"`
	Head  []string   `json:"head"`
	Rows  [][]string `json:"rows"`
	// Left is how many rows there are besides.
	Left int `json:"-"`
}

// Part is one of the errors of a model: of its weights as they are or as clients train them, on
// samples of one kind.
type Part struct {
	Name string
	Of   func(*result.Rates) *float64
	Over func(*fl.Evaluation) *fl.Summary
}

// Parts are all of them.
var Parts = []Part{
	{"global val", func(r *result.Rates) *float64 { return r.GlobalVal }, func(e *fl.Evaluation) *fl.Summary { return &e.GlobalVal }},
	{"global test", func(r *result.Rates) *float64 { return r.GlobalTest }, func(e *fl.Evaluation) *fl.Summary { return &e.GlobalTest }},
	{"personalized val", func(r *result.Rates) *float64 { return r.PersonalizedVal }, func(e *fl.Evaluation) *fl.Summary { return &e.PersonalizedVal }},
	{"personalized test", func(r *result.Rates) *float64 { return r.PersonalizedTest }, func(e *fl.Evaluation) *fl.Summary { return &e.PersonalizedTest }},
	{"unseen test", func(r *result.Rates) *float64 { return r.UnseenTest }, func(e *fl.Evaluation) *fl.Summary { return &e.Unseen }},
	{"unseen adapted test", func(r *result.Rates) *float64 { return r.UnseenAdapted }, func(e *fl.Evaluation) *fl.Summary { return &e.UnseenAdapted }},
}

// Key is the part's name in result.json.
func (p Part) Key() string { return strings.ReplaceAll(p.Name, " ", "_") + "_error" }

// Tests are the parts on test samples, that of a target first, those of clients that never train last.
func Tests(target string) []Part {
	all := []Part{Parts[1], Parts[3], Parts[4], Parts[5]}
	if target == tuners.TargetPersonalized {
		slices.Reverse(all[:2])
	}
	return all
}

// Model is a model with its errors.
type Model struct {
	Name string
	result.Errors
}

// ErrorTable has the errors of models, below each those without the labels of masks, and how they
// are spread over the clients; nil if there are none.
func ErrorTable(title string, models ...Model) *Table {
	measure := models[0].Measure
	name, _ := result.MeasureName(measure)
	text := func(x float64) string { return result.ErrorText(measure, x) }
	t := &Table{Title: title, Head: []string{"model", "data", name, "P10 of clients", "median", "P90", "clients", "samples"}}
	if measure == result.MeasureRMSE {
		t.Head = append(t.Head, "MAE", "R2")
	}
	for i := range models {
		m := &models[i]
		for _, p := range Parts {
			x := p.Of(&m.Rates)
			if x == nil || m.Evaluation == nil {
				continue
			}
			s := p.Over(m.Evaluation)
			row := []string{m.Name, p.Name, text(*x), text(s.P10), text(s.P50), text(s.P90), oneline.Digits(s.Clients), oneline.Digits(s.Examples)}
			if s.Central { // the dataset's own test set, of no client
				copy(row[3:], []string{"-", "-", "-", "-"})
			}
			if measure == result.MeasureRMSE {
				row = append(row, numberOf(s.MAE), numberOf(s.R2))
			}
			t.Rows = append(t.Rows, row)
			for j := range m.Masked {
				if x := p.Of(&m.Masked[j].Rates); x != nil {
					t.Rows = append(t.Rows, []string{m.Name, p.Name + ", " + m.Masked[j].Mask, text(*x)})
				}
			}
		}
	}
	if len(t.Rows) == 0 {
		return nil
	}
	return t
}

// numberOf writes a number, a dash for none.
func numberOf(x *float64) string {
	if x == nil || math.IsNaN(*x) {
		return "-"
	}
	return result.Number(*x)
}
