package report

import (
	"io"

	"github.com/fedfast/fedfast/internal/figure"
)

// Plan is what a page says of a federation that is planned.
type Plan struct {
	Title, Subtitle string
	sections        []section
	figures         []*figure.Figure
}

// Add adds the answer to a question, the most important sentence first, and its picture, nil for none.
func (p *Plan) Add(id, title string, answer []string, f *figure.Figure) {
	p.sections, p.figures = append(p.sections, section{ID: id, Title: title, Answer: answer}), append(p.figures, f)
}

// Write writes the page.
func (p *Plan) Write(w io.Writer) (err error) {
	for i, f := range p.figures {
		if f != nil {
			f.Width, f.Height = column, row
		}
		if p.sections[i].Pictures, err = drawAll("plan", some(f)); err != nil {
			return err
		}
	}
	return pageTemplate.Execute(w, page{Title: p.Title, Subtitle: p.Subtitle, Plan: p.sections})
}
