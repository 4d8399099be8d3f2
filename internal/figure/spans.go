package figure

import (
	"errors"
	"fmt"
	"math"
)

// Spans are stretches of the x axis in rows: a timeline, ranges, or bars from 0 on.
type Spans struct {
	// Row describes what a row is, such as trial.
	Row string
	// Rows are named from the top on.
	Rows []string
	// Classes name the colours of spans. More than there are colours of lines share
	// them in turn, with texts that tell them apart.
	Classes []string
	Spans   []Span
}

// Span is one of them.
type Span struct {
	// Row and Class are numbers of those.
	Row, Class int
	From, To   float64
	// Mark, unless nil, is marked within it.
	Mark *float64
	// Text stands in the span where there is room for it.
	Text string
}

func (s *Spans) check() error {
	if len(s.Spans) == 0 {
		return errEmpty
	}
	for _, x := range s.Spans {
		if x.Row < 0 || x.Row >= len(s.Rows) || x.Class < 0 || x.Class >= len(s.Classes) {
			return fmt.Errorf("a span is in row %d of class %d, there are %d and %d", x.Row, x.Class, len(s.Rows), len(s.Classes))
		}
		if !(x.From <= x.To) || math.IsInf(x.From, 0) || math.IsInf(x.To, 0) {
			return errors.New(s.Rows[x.Row] + " has a span that does not go from left to right")
		}
	}
	return nil
}

func (s *Spans) shades() int { return min(max(2, len(s.Classes)), len(palettes[Light].lines)) }

func (s *Spans) legend() []entry {
	if n := len(s.Classes); n < 2 || n > s.shades() {
		return nil
	}
	var all []entry
	for i, name := range s.Classes {
		all = append(all, entry{text: clean(name), at: i, of: s.shades()})
	}
	return all
}

func (s *Spans) scales(p *Panel) (x, y scale) {
	var all []float64
	for _, span := range s.Spans {
		all = append(all, span.From, span.To)
	}
	lo, hi := ends(all)
	return p.X.layOut(lo, hi, mostX), scale{hi: float64(len(s.Rows)), ticks: few(s.Rows, 60, true)}
}

func (s *Spans) labels(p *Panel) (x, y string) { return p.X.Label, p.Y.Label }

// height gives each row its place.
func (s *Spans) height() float64 { return float64(min(60+17*len(s.Rows), 4*panelHeight)) }

func (s *Spans) table(p *Panel) Table {
	t := Table{Title: p.X.Label, Head: []string{s.Row, "what", "from", "to", "mark"}}
	for _, x := range s.Spans {
		mark := ""
		if x.Mark != nil {
			mark = exact(*x.Mark)
		}
		t.Rows = append(t.Rows, []string{s.Rows[x.Row], s.Classes[x.Class], exact(x.From), exact(x.To), mark})
	}
	return t
}

func (s *Spans) describe(p *Panel) string {
	return fmt.Sprintf("%d stretches of %s in %d rows, one per %s.", len(s.Spans), p.X.Label, len(s.Rows), s.Row)
}

// draw draws all spans of a class as one shape, and their marks and texts over them.
func (s *Spans) draw(of *sheet, f *plane) {
	parts := make([][][]point, s.shades())
	row := f.y(1) - f.y(0)
	middle := func(x Span) float64 { return f.y(float64(len(s.Rows)-x.Row) - 0.5) }
	for _, x := range s.Spans {
		left, right := f.x(x.From), f.x(x.To)
		right = max(right, left+1) // it must be seen
		part := &parts[x.Class%len(parts)]
		*part = append(*part, rect{point{left, middle(x) - 0.34*row}, point{right, middle(x) + 0.34*row}}.corners())
	}
	for class, part := range parts {
		if len(part) > 0 {
			f.fill(of.colors.class(class, s.shades()), part...)
		}
	}
	l := plain(noteSize, of.colors.back)
	l.align = center
	for _, x := range s.Spans {
		if left, right := f.x(x.From), f.x(x.To); x.Text != "" && wider*of.width(l, x.Text)+2 <= right-left {
			f.write(l, point{(left + right) / 2, middle(x) - l.middle()}, clean(x.Text))
		}
	}
	for _, x := range s.Spans {
		if x.Mark != nil {
			at := f.x(*x.Mark)
			f.stroke(pen{color: of.colors.text, width: 1.6}, point{at, middle(x) - 0.45*row}, point{at, middle(x) + 0.45*row})
		}
	}
}
