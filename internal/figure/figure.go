// Package figure draws what was measured: lines with intervals, dots, stacked bars,
// parallel coordinates, timelines and heat maps, in one style, as SVG and PNG, with the same numbers as a table behind
// each picture.
//
// Colours are told apart also by those who see few of them, and lines besides by
// their markers. An SVG follows its viewer from light to dark; a PNG is drawn in
// one [Theme]. The same figure gives the same bytes.
package figure

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
)

// Figure is one picture: panels over one legend, up to three side by side, four in two
// rows, more than that three to a row.
type Figure struct {
	// Name is the name of the picture's elements, where several are in one page.
	Name  string
	Title string
	// Note says below the picture where its numbers come from.
	Note   string
	Panels []Panel
	// Width and Height, unless 0, are the size of the picture and of a row of panels in
	// points, in place of the usual ones. With a width, more than four panels stand four
	// to a row.
	Width, Height float64
}

// Narrow has the picture take at most a width, as of a phone, and one of many columns as much as these need.
func (f *Figure) Narrow(width float64) {
	for _, p := range f.Panels {
		if p.Paths != nil || p.Heat != nil {
			width = max(width, manyWidth)
		}
	}
	f.Width = min(cmp.Or(f.Width, width), width)
}

// Panel is a field with two axes. It holds lines and dots, or one of the others.
type Panel struct {
	// Title is empty where that of the figure says all.
	Title string
	X, Y  Axis
	Lines []Line
	// Dots are drawn over the lines.
	Dots []Dots
	// One of these, unless nil, is drawn in place of lines.
	Bars  *Bars
	Paths *Paths
	Spans *Spans
	Heat  *Heat
}

// Axis is one of the two.
type Axis struct {
	// Label describes what is measured and, after a comma, in which unit.
	Label string
	// Log makes it logarithmic: then all values must be above 0.
	Log bool
	// Zero lets it begin at 0.
	Zero bool
	// Whole has it marked at integers only.
	Whole bool
	// Names are the names of the places 1, 2, ... at which values stand, of an x axis: points
	// of lines are drawn there, their intervals as bars, and nothing joins them. A panel
	// with one has no runs and dots.
	Names []string
	// Bands has it hold the whole of finite intervals, which are else cut at its ends,
	// as on a logarithmic axis are those that reach down to 0.
	Bands bool
}

// value writes what stands at x.
func (a *Axis) value(x float64) string {
	if i := int(x) - 1; i >= 0 && i < len(a.Names) {
		return a.Names[i]
	}
	return exact(x)
}

// name is what tells a panel from the others of its figure, and its y axis.
func (p *Panel) name() string {
	if p.Title == "" {
		return p.Y.Label
	}
	return p.Title + ": " + p.Y.Label
}

// Line is a series of points. Lines of one name look alike in all panels.
type Line struct {
	Name   string
	Points []Point
	// Step says that a value holds until the next point.
	Step bool
	// Runs are what the points are a mean of; they are drawn thin.
	Runs [][]Point
	// Names are the names of the runs in tables; unset numbers them.
	Names []string
}

// Dots are single points of one kind. Dots of one name look alike in all panels, and
// those of a line's name as its markers.
type Dots struct {
	Name   string
	Points []Dot
}

// Dot is one of them, in any order.
type Dot struct {
	X, Y float64
	// Name describes in the table which one it is.
	Name string
}

// Point is what was measured at X. Points stand in the order of X; one whose Y is
// not a number is left out.
type Point struct {
	X, Y float64
	// Half is half the width of an interval around Y, drawn as a band; none is
	// drawn where it is 0 or not a number.
	Half float64
}

// errEmpty says that there is nothing to draw.
var errEmpty = errors.New("nothing to draw")

// Form is how a figure is written.
type Form string

// The forms, by the ends of their files' names.
const (
	SVG Form = ".svg"
	// Live is an SVG that tells scripts what its elements are.
	Live Form = ".live.svg"
	PNG  Form = ".png"
	PDF  Form = ".pdf"
	// CSV is the table behind the picture.
	CSV Form = ".csv"
)

// FormOf returns the form that a file's name asks for; one without an extension
// gets SVG.
func FormOf(path string) (Form, error) {
	switch f := Form(strings.ToLower(filepath.Ext(path))); f {
	case "":
		return SVG, nil
	case SVG, PNG, PDF, CSV:
		return f, nil
	case Live: // no file has it
	}
	return "", fmt.Errorf("%s: the name of a picture ends in .svg, .png or .pdf, that of its numbers in .csv", path)
}

// Write writes the figure in a form. The theme is the theme of a PNG.
func (f *Figure) Write(w io.Writer, form Form, theme Theme) error {
	if err := f.check(); err != nil {
		return err
	}
	switch form {
	case CSV:
		return f.writeCSV(w)
	case PNG:
		return f.writePNG(w, theme)
	case PDF:
		return f.writePDF(w)
	case SVG, Live:
	}
	return f.writeSVG(w, form == Live)
}

// check refuses what cannot be drawn.
func (f *Figure) check() error {
	points := 0
	for i := range f.Panels {
		p := &f.Panels[i]
		if c := p.chart(); c != nil {
			if err := c.check(); err != nil {
				return fmt.Errorf("%s: %w", f.Title, err)
			}
			points++
			continue
		}
		for _, l := range p.Lines {
			n, err := p.checkPoints(l.Points)
			for _, run := range l.Runs {
				if err == nil {
					_, err = p.checkPoints(run)
				}
			}
			if err != nil {
				return fmt.Errorf("%s: %s: %w", f.Title, l.Name, err)
			}
			points += n
		}
		if p.X.Names != nil && (len(p.Dots) > 0 || slices.ContainsFunc(p.Lines, func(l Line) bool { return len(l.Runs) > 0 })) {
			return fmt.Errorf("%s: the axis %q has names, so there is no place for runs and dots", f.Title, p.X.Label)
		}
		for _, d := range p.Dots {
			for _, q := range d.Points {
				if _, err := p.checkPoints([]Point{{X: q.X, Y: q.Y}}); err != nil {
					return fmt.Errorf("%s: %s: %w", f.Title, d.Name, err)
				}
				points++
			}
		}
	}
	if points == 0 {
		return fmt.Errorf("%s: %w", f.Title, errEmpty)
	}
	return nil
}
