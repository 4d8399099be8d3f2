package figure

import (
	"encoding/csv"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
)

// writeCSV writes the numbers of a figure. Of lines it has a row for each point:
// the panel, by what its y axis says, the line, the run within it, which is empty
// for the line itself, the point, and half of its interval. Of bars it has one row
// each.
func (f *Figure) writeCSV(w io.Writer) error {
	out := csv.NewWriter(w)
	var rows [][]string
	for i := range f.Panels {
		p := &f.Panels[i]
		if b := p.Bars; b != nil {
			rows = append(rows, b.rows()...)
			continue
		}
		if len(rows) == 0 {
			rows = append(rows, []string{"panel", "line", "run", p.X.Label, "value", "half_interval"})
		}
		for _, l := range p.Lines {
			rows = append(rows, p.rows(l.Name, "", l.Points)...)
			for n, run := range l.Runs {
				rows = append(rows, p.rows(l.Name, strconv.Itoa(n+1), run)...)
			}
		}
	}
	if err := out.WriteAll(rows); err != nil {
		return err
	}
	return out.Error()
}

func (p *Panel) rows(line, run string, points []Point) [][]string {
	var rows [][]string
	for _, q := range points {
		if math.IsNaN(q.Y) {
			continue
		}
		half := ""
		if q.Half > 0 {
			half = exact(q.Half)
		}
		rows = append(rows, []string{p.Y.Label, line, run, exact(q.X), exact(q.Y), half})
	}
	return rows
}

// exact writes a number so that reading it gives the same.
func exact(x float64) string { return strconv.FormatFloat(x, 'g', -1, 64) }

func (b *Bars) rows() [][]string {
	head := []string{b.Unit}
	for class := range b.classes() {
		head = append(head, b.className(class))
	}
	rows := [][]string{head}
	for _, x := range b.Bars {
		row := []string{x.Name}
		for _, n := range x.Counts {
			row = append(row, strconv.Itoa(n))
		}
		rows = append(rows, row)
	}
	return rows
}

// describe says in words what a picture shows, for those who do not see it.
func (f *Figure) describe() string {
	var parts []string
	for i := range f.Panels {
		p := &f.Panels[i]
		if b := p.Bars; b != nil {
			parts = append(parts, fmt.Sprintf("Stacked bars of %s by %s for %s; the tallest has %s.", p.Y.Label, b.Class, b.label(), number(float64(b.tallest()), 0)))
			continue
		}
		parts = append(parts, strings.TrimSpace(fmt.Sprintf("%s: %s, against %s.", p.Title, p.Y.Label, p.X.Label)))
		for _, l := range p.Lines {
			if text := l.describe(); text != "" {
				parts = append(parts, text)
			}
		}
	}
	if f.Note != "" {
		parts = append(parts, f.Note)
	}
	return strings.TrimPrefix(strings.Join(parts, " "), ": ")
}

// describe names the ends and the extremes of a line.
func (l *Line) describe() string {
	var first, last, low, high *Point
	for i := range l.Points {
		q := &l.Points[i]
		if math.IsNaN(q.Y) {
			continue
		}
		if first == nil {
			first, low, high = q, q, q
		}
		last = q
		if q.Y < low.Y {
			low = q
		}
		if q.Y > high.Y {
			high = q
		}
	}
	if first == nil {
		return ""
	}
	return fmt.Sprintf("%s: from %.4g at %.6g to %.4g at %.6g, lowest %.4g, highest %.4g.", l.Name, first.Y, first.X, last.Y, last.X, low.Y, high.Y)
}
