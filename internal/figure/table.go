package figure

import (
	"encoding/csv"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/fedfast/fedfast/internal/list"
)

// Table is what a panel is drawn of.
type Table struct {
	Title string
	Head  []string
	Rows  [][]string
}

// writeCSV writes the numbers of a figure. Of lines and dots it has a row for each
// point: the panel, by its title and what its y axis says, the line, the run within it, which is
// empty for the line itself, or the name of the dot, the point, and half of its
// interval. Of other panels it has their tables.
func (f *Figure) writeCSV(w io.Writer) error {
	out := csv.NewWriter(w)
	var rows [][]string
	head := false
	for i := range f.Panels {
		p := &f.Panels[i]
		if c := p.chart(); c != nil {
			t := c.table(p)
			rows = append(append(rows, t.Head), t.Rows...)
			continue
		}
		if !head {
			rows, head = append(rows, []string{"panel", "line", "run", f.xName(), "value", "half_interval"}), true
		}
		for _, l := range p.Lines {
			rows = append(rows, p.rows(l.Name, "", l.Points)...)
			for n, run := range l.Runs {
				rows = append(rows, p.rows(l.Name, l.runName(n), run)...)
			}
		}
		for _, d := range p.Dots {
			for _, q := range d.Points {
				rows = append(rows, p.rows(d.Name, q.Name, []Point{{X: q.X, Y: q.Y}})...)
			}
		}
	}
	if err := out.WriteAll(rows); err != nil {
		return err
	}
	return out.Error()
}

// xName is what the x axes of lines and dots say, where all say the same.
func (f *Figure) xName() string {
	var names []string
	for i := range f.Panels {
		if p := &f.Panels[i]; p.chart() == nil && !slices.Contains(names, p.X.Label) {
			names = append(names, p.X.Label)
		}
	}
	if len(names) == 1 {
		return names[0]
	}
	return "x"
}

// Tables returns the numbers of each panel for people to read: lines side by
// side, by x.
func (f *Figure) Tables() []Table {
	var all []Table
	for i := range f.Panels {
		p := &f.Panels[i]
		if c := p.chart(); c != nil {
			all = append(all, c.table(p))
			continue
		}
		if t := p.lineTable(); len(t.Rows) > 0 {
			all = append(all, t)
		}
		if t := p.dotTable(); len(t.Rows) > 0 {
			all = append(all, t)
		}
	}
	return all
}

// lineTable has a row for each x and a column for each line, and for its interval
// where it has one.
func (p *Panel) lineTable() Table {
	t := Table{Title: p.name(), Head: []string{p.X.Label}}
	rows := map[float64][]string{}
	add := func(name string, points []Point, of func(Point) float64) {
		t.Head = append(t.Head, name)
		for _, q := range points {
			row := rows[q.X]
			for len(row) < len(t.Head)-2 {
				row = append(row, "")
			}
			if len(row) == len(t.Head)-2 { // of several points at one x the first
				rows[q.X] = append(row, blank(of(q)))
			}
		}
	}
	for _, l := range p.Lines {
		if len(l.Points) > 0 {
			add(l.Name, l.Points, func(q Point) float64 { return q.Y })
		}
		if slices.ContainsFunc(l.Points, func(q Point) bool { return q.Half > 0 }) {
			add(l.Name+", half of the interval", l.Points, func(q Point) float64 { return q.Half })
		}
		for n, run := range l.Runs {
			add(l.Name+", "+l.runName(n), run, func(q Point) float64 { return q.Y })
		}
	}
	for _, x := range slices.Sorted(maps.Keys(rows)) {
		row := append([]string{p.X.value(x)}, rows[x]...)
		for len(row) < len(t.Head) {
			row = append(row, "")
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

func (p *Panel) dotTable() Table {
	t := Table{Title: p.name(), Head: []string{"kind", "name", p.X.Label, p.Y.Label}}
	for _, d := range p.Dots {
		for _, q := range d.Points {
			t.Rows = append(t.Rows, []string{d.Name, q.Name, exact(q.X), exact(q.Y)})
		}
	}
	return t
}

// blank writes a number, and nothing for none.
func blank(x float64) string {
	if math.IsNaN(x) {
		return ""
	}
	return exact(x)
}

// runName names a run.
func (l *Line) runName(n int) string {
	if n < len(l.Names) {
		return l.Names[n]
	}
	return strconv.Itoa(n + 1)
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
		rows = append(rows, []string{p.name(), line, run, p.X.value(q.X), exact(q.Y), half})
	}
	return rows
}

// exact writes a number so that reading it gives the same.
func exact(x float64) string { return strconv.FormatFloat(x, 'g', -1, 64) }

func (b *Bars) table(p *Panel) Table {
	t := Table{Title: p.Y.Label, Head: append([]string{b.Unit}, list.Made(b.classes(), b.className)...)}
	for _, x := range b.Bars {
		t.Rows = append(t.Rows, append([]string{x.Name}, list.Of(x.Counts, strconv.Itoa)...))
	}
	return t
}

// describe describes in words what a picture shows, for those who do not see it.
func (f *Figure) describe() string {
	var parts []string
	for i := range f.Panels {
		p := &f.Panels[i]
		if c := p.chart(); c != nil {
			parts = append(parts, c.describe(p))
			continue
		}
		parts = append(parts, strings.TrimSpace(fmt.Sprintf("%s: %s, against %s.", p.Title, p.Y.Label, p.X.Label)))
		for _, l := range p.Lines {
			if text := l.describe(&p.X); text != "" {
				parts = append(parts, text)
			}
		}
		for _, d := range p.Dots {
			parts = append(parts, fmt.Sprintf("%d dots: %s.", len(d.Points), d.Name))
		}
	}
	if f.Note != "" {
		parts = append(parts, f.Note)
	}
	return strings.TrimPrefix(strings.Join(parts, " "), ": ")
}

// describe names the ends and the extremes of a line.
func (l *Line) describe(x *Axis) string {
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
	at := func(q *Point) string {
		if x.Names != nil {
			return x.value(q.X)
		}
		return fmt.Sprintf("%.6g", q.X)
	}
	return fmt.Sprintf("%s: from %.4g at %s to %.4g at %s, lowest %.4g, highest %.4g.", l.Name, first.Y, at(first), last.Y, at(last), low.Y, high.Y)
}
