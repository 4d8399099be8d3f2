package report

import (
	_ "embed" // the page
	"fmt"
	"html/template"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/fedfast/fedfast/bench/figure"
	"github.com/fedfast/fedfast/fl"
	"github.com/fedfast/fedfast/fl/study"
	"github.com/fedfast/fedfast/fl/study/config"
	"github.com/fedfast/fedfast/fl/study/view"
	"github.com/fedfast/fedfast/tuners"
)

//go:embed page.html
var pageText string

var pageTemplate = template.Must(template.New("page").Parse(pageText))

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
	Sections            []section
	Trials, Finalists   *sheetTable
	Table               *sheetTable
	Sessions            *sheetTable
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
		ID: id, Title: s.Name, Sentence: s.sentence(), Facts: s.facts(), Best: s.bestParams(), Errors: s.errorTable(), Trials: s.trialTable(),
		Finalists: s.finalistTable(), Table: s.cellTable(), Sessions: s.sessionTable(), Config: s.Text,
	}
	for _, part := range []struct {
		id, title, text string
		figures         []*figure.Figure
	}{
		{"history", "History", "", []*figure.Figure{s.history(), s.spent()}},
		{"curves", "Curves", "", s.curvePictures()},
		{"clients", "Errors over the clients", "", s.spreads()},
		{"params", "Hyperparameters", s.paramsText(), slices.Concat([]*figure.Figure{s.parallel(), s.importance()}, s.slices())},
		{"tuner", "Client tuner", "", slices.Concat([]*figure.Figure{s.sides()}, s.tunerPictures())},
		{"timeline", "Timeline", "", []*figure.Figure{s.timeline()}},
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

// sentence says how far the study is.
func (s *Study) sentence() string {
	done := fmt.Sprintf("%s of %s rounds", count(s.Rounds), count(s.Budget))
	switch s.State {
	case view.Finished:
		return "Finished after " + count(s.Rounds) + " rounds."
	case view.Running:
		return fmt.Sprintf("Running in process %d: %s so far; this page shows what was recorded until %s.", s.PID, done, stamp(s.Last))
	case view.Unfinished:
	}
	return fmt.Sprintf("Not finished: it stopped after %s, interrupted or with an error. Resume it with: fedfast study resume %s", done, s.Dir)
}

// stamp writes a moment.
func stamp(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05 UTC") }

// count writes a number with commas between thousands.
func count(n int) string {
	text := strconv.Itoa(n)
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}

// scoreText writes a score.
func scoreText(x float64) string { return strconv.FormatFloat(x, 'f', 4, 64) }

func (s *Study) facts() []fact {
	c := s.Config
	facts := []fact{{"directory", s.Dir}, {"command", "fedfast " + s.Mode}}
	if s.Mode == config.ModeTune {
		tuner := c.Tuner.Name
		if c.ClientTuner.Name != "" && c.ClientTuner.Name != "none" {
			tuner += " with " + c.ClientTuner.Name
		}
		facts = append(facts, fact{"tuner", tuner}, fact{"objective", s.objective()}, fact{"trials", count(len(s.Trials))})
		failed := 0
		for _, t := range s.Trials {
			if t.State == view.Failed {
				failed++
			}
		}
		if failed > 0 {
			facts = append(facts, fact{"failed trials", count(failed)})
		}
	}
	model := c.Model.Name
	if model == "" {
		model = "layers of its own"
	}
	facts = append(facts,
		fact{"method", c.Method}, fact{"data", c.Data.Name}, fact{"model", model}, fact{"clients a round", count(c.Cohort)}, fact{"seed", strconv.FormatUint(c.Seed, 10)},
		fact{"started", stamp(s.Started)}, fact{"worked", s.Worked.Round(100 * time.Millisecond).String()})
	if b := s.Best; b != nil {
		name := "lowest score so far"
		if b.Returned {
			name = "score of the returned model"
		}
		facts = append(facts, fact{name, fmt.Sprintf("%s, trial %d after round %d", scoreText(b.Score), b.Trial, b.Round)})
	}
	return facts
}

// bestParams are the params of the best trial.
func (s *Study) bestParams() []fact {
	best := s.best()
	if best < 0 {
		return nil
	}
	return paramFacts(s.Trials[best].Params)
}

func paramFacts(p tuners.Params) []fact {
	var facts []fact
	for _, key := range p.Keys() {
		facts = append(facts, fact{key, short(p[key])})
	}
	return facts
}

// short writes a value, a number with four digits.
func short(v tuners.Value) string {
	if x, ok := v.Float(); ok {
		return strconv.FormatFloat(x, 'g', 4, 64)
	}
	if x, ok := v.Text(); ok {
		return x
	}
	return v.String()
}

// evaluatedRow is one part of the evaluation of the returned model.
type evaluatedRow struct {
	Name         string
	Personalized bool
	fl.Summary
}

// evaluated are the parts of the evaluation of the returned model that have clients.
func (s *Study) evaluated() []evaluatedRow {
	var errs *study.Errors
	switch {
	case s.Tune != nil:
		errs = &s.Tune.Errors
	case s.Run != nil:
		errs = &s.Run.Errors
	}
	if errs == nil || errs.Evaluation == nil {
		return nil
	}
	e := errs.Evaluation
	var rows []evaluatedRow
	for _, r := range []evaluatedRow{
		{"global, validation", false, e.GlobalVal},
		{"personalized, validation", true, e.PersonalizedVal},
		{"global, test", false, e.GlobalTest},
		{"personalized, test", true, e.PersonalizedTest},
		{"global, clients that never train", false, e.Unseen},
	} {
		if r.Clients > 0 {
			rows = append(rows, r)
		}
	}
	return rows
}

// percent writes an error.
func percent(x float64) string {
	if math.IsNaN(x) {
		return ""
	}
	return strconv.FormatFloat(100*x, 'f', 2, 64) + " %"
}

func (s *Study) errorTable() *sheetTable {
	g := &sheetTable{Title: "Errors of the returned model", Head: []string{"model and examples", "error", "loss", "10th percentile of the clients", "median", "90th percentile", "clients", "examples"}}
	for _, r := range s.evaluated() {
		g.Rows = append(g.Rows, []string{
			r.Name, percent(r.Error), strconv.FormatFloat(r.Loss, 'f', 4, 64), percent(r.P10), percent(r.P50), percent(r.P90), count(r.Clients), count(r.Examples),
		})
	}
	if len(g.Rows) == 0 {
		return nil
	}
	return g
}

func (s *Study) trialTable() *sheetTable {
	g := &sheetTable{Title: "Trials", Head: []string{"trial", "state", "rounds", "last score"}}
	keys := map[string]bool{}
	var params []string
	failed := false
	for i := range s.Trials {
		for _, key := range s.Trials[i].Params.Keys() {
			if !keys[key] {
				keys[key], params = true, append(params, key)
			}
		}
		failed = failed || s.Trials[i].Failed != ""
	}
	slices.Sort(params)
	g.Head = append(g.Head, params...)
	if failed {
		g.Head = append(g.Head, "reason")
	}
	for i := range s.Trials {
		t := &s.Trials[i]
		score := ""
		if x := t.Score(); x != nil {
			score = scoreText(*x)
		}
		row := []string{strconv.Itoa(t.Number), s.stateOf(t), count(t.Rounds), score}
		for _, key := range params {
			if v, ok := t.Params[key]; ok {
				row = append(row, short(v))
			} else {
				row = append(row, "")
			}
		}
		if failed {
			row = append(row, t.Failed)
		}
		g.Rows = append(g.Rows, row)
	}
	if len(g.Rows) == 0 {
		return nil
	}
	return g
}

// stateOf says how far a trial is; none trains in a study that no process works on.
func (s *Study) stateOf(t *view.Trial) string {
	if t.State == view.Training && s.State != view.Running {
		return "interrupted"
	}
	return string(t.State)
}

func (s *Study) finalistTable() *sheetTable {
	g := &sheetTable{Title: "Finalists", Head: []string{"trial", "round", "score"}}
	for _, f := range s.Finalists {
		g.Rows = append(g.Rows, []string{strconv.Itoa(f.Trial), count(f.Round), scoreText(f.Score)})
	}
	if len(g.Rows) == 0 {
		return nil
	}
	return g
}

// cellTable is the table in which clients look their hyperparameters up.
func (s *Study) cellTable() *sheetTable {
	if len(s.table) == 0 {
		return nil
	}
	g := &sheetTable{Title: "Table of the client tuner", Head: []string{"heterogeneity index", "samples"}}
	g.Head = append(g.Head, s.table[0].Params.Keys()...)
	for _, c := range s.table {
		row := []string{strconv.FormatFloat(c.Keys[tuners.KeyHI], 'g', 4, 64), strconv.FormatFloat(c.Keys[tuners.KeySamples], 'g', -1, 64)}
		for _, key := range s.table[0].Params.Keys() {
			row = append(row, short(c.Params[key]))
		}
		g.Rows = append(g.Rows, row)
	}
	return g
}

func (s *Study) sessionTable() *sheetTable {
	g := &sheetTable{Title: "Begun and resumed", Head: []string{"when", "version", "processor", "level", "workers"}}
	for _, x := range s.Sessions {
		g.Rows = append(g.Rows, []string{stamp(x.At), x.Version, x.CPU, x.Level, strconv.Itoa(x.Workers)})
	}
	if len(g.Rows) == 0 {
		return nil
	}
	return g
}

// paramsText says why importances are not shown.
func (s *Study) paramsText() string {
	if s.Mode == config.ModeTune && s.importances() == nil && len(s.dims()) > 0 {
		return fmt.Sprintf("Importances are not shown: they need %d trials at the first rung to say anything.", leastArms)
	}
	return ""
}
