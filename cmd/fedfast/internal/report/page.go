package report

import (
	"cmp"
	"crypto/sha256"
	_ "embed" // the page
	"encoding/base64"
	"fmt"
	"html/template"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/fedfast/fedfast/fl/study/config"
	"github.com/fedfast/fedfast/fl/study/view"
	"github.com/fedfast/fedfast/internal/figure"
)

//go:embed page.html
var pageText string

// Hover is the script that says what is nearest to the pointer in a figure.Live.
//
//go:embed hover.js
var Hover string

// hash is what the page's policy knows the script by.
func hash() string {
	sum := sha256.Sum256([]byte("\n" + Hover))
	return "sha256-" + base64.StdEncoding.EncodeToString(sum[:])
}

var pageTemplate = template.Must(template.New("page").Funcs(template.FuncMap{
	"breakable": breakable, "hash": hash,
	"whole": strings.NewReplacer(" %", "\u00a0%", " ± ", "\u00a0±\u00a0", " seeds", "\u00a0seeds").Replace,
	"hover": func() template.JS { return template.JS(Hover) }, //nolint:gosec // it is embedded
}).Parse(pageText))

// breakable is a name that may go on in the next line after its dots, so that a table of
// many hyperparameters is as wide as paper.
func breakable(name string) template.HTML {
	return template.HTML(strings.NewReplacer(".", ".<wbr>", "_", "_<wbr>", "/", "/<wbr>").Replace(template.HTMLEscapeString(name))) //nolint:gosec // escaped
}

// page is what the template shows.
type page struct {
	Title   string
	Answer  []string
	Compare *comparisonSheet
	Studies []sheet

	Subtitle string // of a plan
	Plan     any    // its questions
}

// comparisonSheet is what several studies came to together.
type comparisonSheet struct {
	Pictures []picture
	Tables   []Table
}

// sheet is one study of the page.
type sheet struct {
	ID, Title, Subtitle string
	Answer, Warnings    []string
	Next                []view.Step
	Results             []*Table
	Sections            []section
	Trials, Pruned      *Table
	More                []section // folded
	Facts               []fact
	Config, Again       string
}

type fact struct{ Name, Value string }

// section is a group of pictures and tables.
type section struct {
	ID, Title, Text string
	Pictures        []picture
	Tables          []Table
}

// picture is a figure with the numbers behind it.
type picture struct {
	SVG    template.HTML
	Wide   bool
	Tables []Table
}

// Table is one of a report.
type Table = view.Table

// mostRows is how many rows of the numbers behind a picture are shown.
const mostRows = 300

// Write writes a page about studies.
func Write(w io.Writer, studies []*Study) error {
	p := page{}
	if len(studies) > 1 {
		c, err := Compare(studies)
		if err != nil {
			return err
		}
		p.Title, p.Answer = cmp.Or(c.Name, fmt.Sprintf("%d studies", len(studies))), c.Answer
		p.Compare = &comparisonSheet{Tables: c.Tables}
		if p.Compare.Pictures, err = drawAll("all", c.Figures); err != nil {
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
	if len(studies) == 1 {
		p.Title, p.Answer = p.Studies[0].Title, p.Studies[0].Answer
	}
	return pageTemplate.Execute(w, p)
}

// draw draws a figure for the page.
func draw(id string, f *figure.Figure) (picture, error) {
	p := picture{Wide: f.Width > column}
	f.Name = id + "-" + f.Name
	var svg strings.Builder
	if err := f.Write(&svg, figure.Live, figure.Light); err != nil {
		return p, err
	}
	p.SVG = template.HTML(svg.String()) //nolint:gosec // its texts were escaped
	for _, t := range f.Tables() {
		p.Tables = append(p.Tables, cut(t))
	}
	return p, nil
}

func drawAll(id string, figures []*figure.Figure) (all []picture, err error) {
	for _, f := range figures {
		p, err := draw(id, f)
		if err != nil {
			return nil, err
		}
		all = append(all, p)
	}
	return all, nil
}

// cut leaves of a long table rows at even distances, with shorter numbers.
func cut(t figure.Table) Table {
	g := Table{Title: t.Title, Head: t.Head}
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
		ID: id, Title: s.Dir, Subtitle: About(s.Overview), Answer: s.Answer(), Warnings: s.Verdict(),
		Next: s.Next(), Facts: s.facts(), Config: s.Text, Again: s.again(),
	}
	if text := s.unfinished(); text != "" {
		out.Warnings = slices.Insert(out.Warnings, 0, text)
	}
	if e := s.Errors(); e != nil {
		t := view.ErrorTable("Errors of the returned model", view.Model{Name: "returned", Errors: *e})
		out.Results = append(append(out.Results, t, view.MeasureTable(e)), view.DecisionTables(e)...)
	}
	out.Results = append(out.Results, view.Seeds{s.Overview}.WithoutTable())
	out.Trials, out.Pruned = s.trialTables()
	for _, part := range Parts {
		sec := section{ID: id + "-" + part.ID, Title: part.Title, Text: s.Remark(part.ID), Tables: s.Tables(part.ID)}
		var err error
		if sec.Pictures, err = drawAll(id, s.Figures(part.ID)); err != nil {
			return nil, err
		}
		switch {
		case len(sec.Pictures) == 0 && len(sec.Tables) == 0 && sec.Text == "":
		case part.more || part.ID == "fleet" && s.Mode == config.ModeTune:
			out.More = append(out.More, sec)
		default:
			out.Sections = append(out.Sections, sec)
		}
	}
	return out, nil
}

// Question is one about a federation that is planned, with its answer: the most important sentence first, and its
// picture, nil for none.
type Question struct {
	ID     string         `json:"id"`
	Text   string         `json:"question"`
	Answer []string       `json:"answer"`
	Figure *figure.Figure `json:"-"`
}

// Pictures draws its picture.
func (q *Question) Pictures() ([]picture, error) { return drawAll("plan", some(q.Figure)) }

// WritePlan writes a page of questions: a list of what embeds Question.
func WritePlan[Q any](w io.Writer, title, subtitle string, all []Q) error {
	return pageTemplate.Execute(w, page{Title: title, Subtitle: subtitle, Plan: all})
}
