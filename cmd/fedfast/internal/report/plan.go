package report

import (
	"io"

	"github.com/fedfast/fedfast/internal/figure"
)

// Question is one about a federation that is planned, with its answer: the most important sentence first, and its
// picture, nil for none.
type Question struct {
	ID     string         `json:"id"`
	Text   string         `json:"question"`
	Answer []string       `json:"answer"`
	Figure *figure.Figure `json:"-"`
}

// WritePlan writes a page of questions.
func WritePlan(w io.Writer, title, subtitle string, all []Question) (err error) {
	sections := make([]section, len(all))
	for i, q := range all {
		if q.Figure != nil {
			q.Figure.Width, q.Figure.Height = column, row
		}
		sections[i] = section{ID: q.ID, Title: q.Text, Answer: q.Answer}
		if sections[i].Pictures, err = drawAll("plan", some(q.Figure)); err != nil {
			return err
		}
	}
	return pageTemplate.Execute(w, page{Title: title, Subtitle: subtitle, Plan: sections})
}
