package report

import (
	_ "embed" // the page
	"fmt"
	"html/template"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/fedfast/fedfast/internal/figure"
)

//go:embed page.html
var pageText string

var pageTemplate = template.Must(template.New("page").Funcs(template.FuncMap{"breakable": breakable}).Parse(pageText))

// breakable is a name that may go on in the next line behind its dots, so that a table of
// many hyperparameters is as wide as paper.
func breakable(name string) template.HTML {
	return template.HTML(strings.NewReplacer(".", ".<wbr>", "_", "_<wbr>").Replace(template.HTMLEscapeString(name))) //nolint:gosec // escaped
}

// page is what the template shows.
type page struct {
	Title   string
	Groups  []group
	Compare []picture
	Studies []sheet
}

// sheet is one study of the page.
type sheet struct {
	ID, Title, Sentence string
	Facts               []fact
	Best                []fact // the configuration of the best trial
	Errors              *sheetTable
	Baseline            *sheetTable // beside random search
	Sections            []section
	Trials, Finalists   *sheetTable
	Table               *sheetTable
	Sessions, Workers   *sheetTable
	Config              string
}

type fact struct{ Name, Value string }

// section is a group of pictures.
type section struct {
	ID, Title, Text string
	Pictures        []picture
}

// picture is a figure with the numbers behind it.
type picture struct {
	SVG    template.HTML
	Tables []sheetTable
}

// sheetTable is a table.
type sheetTable struct {
	Title string
	Head  []string
	Rows  [][]string
	// Left is how many rows there are besides.
	Left int
}

// mostRows is how many rows of the numbers behind a picture are shown.
const mostRows = 300

// Write writes a page about studies.
func Write(w io.Writer, studies []*Study) error {
	p := page{Title: "Studies"}
	if len(studies) == 1 {
		p.Title = studies[0].Name
	} else {
		var err error
		if p.Groups, p.Compare, err = compare(studies); err != nil {
			return err
		}
	}
	for i, s := range studies {
		sheet, err := s.sheet("s" + strconv.Itoa(i))
		if err != nil {
			return fmt.Errorf("%s: %w", s.Dir, err)
		}
		p.Studies = append(p.Studies, *sheet)
	}
	return pageTemplate.Execute(w, p)
}

// draw draws a figure for the page.
func draw(id string, f *figure.Figure) (picture, error) {
	var p picture
	f.Name = id + "-" + f.Name
	var svg strings.Builder
	if err := f.Write(&svg, figure.SVG, figure.Light); err != nil {
		return p, err
	}
	p.SVG = template.HTML(svg.String()) //nolint:gosec // its texts were escaped
	for _, t := range f.Tables() {
		p.Tables = append(p.Tables, cut(t))
	}
	return p, nil
}

// cut leaves of a long table rows at even distances, with shorter numbers.
func cut(t figure.Table) sheetTable {
	g := sheetTable{Title: t.Title, Head: t.Head}
	every := (len(t.Rows) + mostRows - 1) / mostRows
	for i := 0; i < len(t.Rows); i += max(1, every) {
		row := slices.Clone(t.Rows[i])
		for j, cell := range row {
			if x, err := strconv.ParseFloat(cell, 64); err == nil {
				row[j] = strconv.FormatFloat(x, 'g', 5, 64)
			}
		}
		g.Rows = append(g.Rows, row)
	}
	g.Left = len(t.Rows) - len(g.Rows)
	return g
}

// sheet lays a study out.
func (s *Study) sheet(id string) (*sheet, error) {
	out := &sheet{
		ID: id, Title: s.Name, Sentence: s.sentence(), Facts: s.facts(), Best: s.bestParams(), Errors: s.errorTable(), Baseline: s.baselineTable(), Trials: s.trialTable(),
		Finalists: s.finalistTable(), Table: s.cellTable(), Sessions: s.sessionTable(), Workers: s.workerTable(), Config: s.Text,
	}
	for _, part := range []struct {
		id, title, text string
		figures         []*figure.Figure
	}{
		{"history", "History", "", []*figure.Figure{s.history(), s.spent()}},
		{"curves", "Curves", "", s.curvePictures()},
		{"clients", "Per-client error", "", s.spreads()},
		{"params", "Hyperparameters", s.paramsText(), slices.Concat([]*figure.Figure{s.parallel(), s.importance()}, s.slices())},
		{"tuner", "Client tuner", "", slices.Concat([]*figure.Figure{s.sides()}, s.tunerPictures())},
		{"timeline", "Timeline", "", []*figure.Figure{s.timeline(), Shifts(s.Overview, s.workers, s.stretches)}},
	} {
		sec := section{ID: id + "-" + part.id, Title: part.title, Text: part.text}
		for _, f := range part.figures {
			if f == nil {
				continue
			}
			p, err := draw(id, f)
			if err != nil {
				return nil, err
			}
			sec.Pictures = append(sec.Pictures, p)
		}
		if len(sec.Pictures) > 0 {
			out.Sections = append(out.Sections, sec)
		}
	}
	return out, nil
}
