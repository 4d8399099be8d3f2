package figure

import (
	"errors"
	"fmt"
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Spans are stretches of the x axis in rows: a timeline, ranges, or bars from 0 on.
type Spans struct {
	// Row says what a row is, such as trial.
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
func (s *Spans) height() vg.Length {
	return vg.Length(min(60+17*len(s.Rows), 4*panelHeight))
}

func (s *Spans) plotter(of *sheet) plot.Plotter { return gantt{s, of} }

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
	return fmt.Sprintf("%d stretches of %s in %d rows, one a %s.", len(s.Spans), p.X.Label, len(s.Rows), s.Row)
}

// gantt draws spans as gonum/plot has plotters do.
type gantt struct {
	*Spans
	of *sheet
}

// Plot draws all spans of a class as one path, and their marks and texts over them.
func (g gantt) Plot(c draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	parts := make([]vg.Path, g.shades())
	var marks []vg.Path
	row := y(1) - y(0)
	for _, s := range g.Spans.Spans {
		middle := y(float64(len(g.Rows)-s.Row) - 0.5)
		left, right := x(s.From), x(s.To)
		if right-left < 1 { // it must be seen
			right = left + 1
		}
		box(&parts[s.Class%len(parts)], vg.Point{X: left, Y: middle - 0.34*row}, vg.Point{X: right, Y: middle + 0.34*row})
		if s.Mark != nil {
			var mark vg.Path
			mark.Move(vg.Point{X: x(*s.Mark), Y: middle - 0.45*row})
			mark.Line(vg.Point{X: x(*s.Mark), Y: middle + 0.45*row})
			marks = append(marks, mark)
		}
	}
	for class, part := range parts {
		if len(part) > 0 {
			c.SetColor(g.of.colors.class(class, g.shades()))
			c.Fill(part)
		}
	}
	style := g.of.style(noteSize, false, g.of.colors.back)
	style.XAlign, style.YAlign = draw.XCenter, draw.YCenter
	for _, s := range g.Spans.Spans {
		if left, right := x(s.From), x(s.To); s.Text != "" && wider*style.Width(s.Text)+2 <= right-left {
			c.FillText(style, vg.Point{X: (left + right) / 2, Y: y(float64(len(g.Rows)-s.Row) - 0.5)}, clean(s.Text))
		}
	}
	c.SetLineStyle(draw.LineStyle{Color: g.of.colors.text, Width: 1.6})
	for _, mark := range marks {
		c.Stroke(mark)
	}
}
