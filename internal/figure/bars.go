package figure

import (
	"errors"
	"fmt"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Bars are amounts of several classes, stacked.
type Bars struct {
	// Unit is what a bar is, such as client; Class what its parts are.
	Unit, Class string
	Bars        []Bar
}

// Bar is one of them.
type Bar struct {
	Name string
	// Counts are the amounts of each class; all bars must have as many.
	Counts []int
}

// mostBars is how many a panel has room for.
const mostBars = 240

// mostNames is how many classes a legend names; more are shown as a ramp between
// the first and the last.
const mostNames = 20

func (b *Bars) check() error {
	if len(b.Bars) == 0 || b.classes() == 0 {
		return errEmpty
	}
	for _, x := range b.Bars {
		if len(x.Counts) != b.classes() {
			return fmt.Errorf("%s has %d classes, others %d", x.Name, len(x.Counts), b.classes())
		}
		for _, n := range x.Counts {
			if n < 0 {
				return errors.New(x.Name + " has less than nothing of a class")
			}
		}
	}
	return nil
}

func (b *Bars) classes() int { return len(b.Bars[0].Counts) }

func (b *Bars) shades() int { return b.classes() }

func (b *Bars) legend() []entry {
	if b.classes() > mostNames {
		return []entry{{text: b.className(0) + " to " + b.className(b.classes()-1), at: -1, of: b.classes()}}
	}
	var all []entry
	for class := range b.classes() {
		all = append(all, entry{text: b.className(class), at: class, of: b.classes()})
	}
	return all
}

func (b *Bars) scales(*Panel) (x, y scale) {
	zero := Axis{Zero: true}
	return scale{lo: 0, hi: float64(len(b.shown()))}, zero.layOut(0, float64(max(1, b.tallest())), mostY)
}

func (b *Bars) labels(p *Panel) (x, y string) { return b.label(), p.Y.Label }

func (*Bars) height() vg.Length { return panelHeight }

func (b *Bars) plotter(s *sheet) plot.Plotter { return stack{b, s.colors} }

func (b *Bars) describe(p *Panel) string {
	return fmt.Sprintf("Stacked bars of %s by %s for %s; the tallest has %s.", p.Y.Label, b.Class, b.label(), number(float64(b.tallest()), 0))
}

// className names class i.
func (b *Bars) className(i int) string { return fmt.Sprintf("%s %d", b.Class, i) }

// shown are the bars that are drawn: all of them, or some at even distances.
func (b *Bars) shown() []Bar {
	if len(b.Bars) <= mostBars {
		return b.Bars
	}
	some := make([]Bar, mostBars)
	for i := range some {
		some[i] = b.Bars[i*len(b.Bars)/mostBars]
	}
	return some
}

// label is that of the x axis.
func (b *Bars) label() string {
	n := len(b.Bars)
	if n > mostBars {
		return fmt.Sprintf("%d of %s %ss, at even distances in their order", mostBars, number(float64(n), 0), b.Unit)
	}
	return fmt.Sprintf("%s %ss, in their order", number(float64(n), 0), b.Unit)
}

// tallest is the height of the tallest bar that is drawn.
func (b *Bars) tallest() int {
	most := 0
	for _, x := range b.shown() {
		most = max(most, x.total())
	}
	return most
}

func (x *Bar) total() (n int) {
	for _, c := range x.Counts {
		n += c
	}
	return n
}

// stack draws bars as gonum/plot has plotters do.
type stack struct {
	*Bars
	colors palette
}

// Plot draws all parts of a class as one path, the first class at the bottom. Bars
// keep their distance, and so do parts that are large enough.
func (s stack) Plot(c draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	bars := s.shown()
	wide := x(1) - x(0)
	gap := min(2, wide/5)
	below := make([]int, len(bars))
	for class := range s.classes() {
		var parts vg.Path
		for i, b := range bars {
			if b.Counts[class] == 0 {
				continue
			}
			left, bottom := x(float64(i))+gap/2, y(float64(below[i]))
			below[i] += b.Counts[class]
			right, top := left+wide-gap, y(float64(below[i]))
			if wide > 6 && top-bottom > 3 {
				top -= 0.6 // a line between parts
			}
			parts.Move(vg.Point{X: left, Y: bottom})
			parts.Line(vg.Point{X: right, Y: bottom})
			parts.Line(vg.Point{X: right, Y: top})
			parts.Line(vg.Point{X: left, Y: top})
			parts.Close()
		}
		if len(parts) > 0 {
			c.SetColor(s.colors.class(class, s.classes()))
			c.Fill(parts)
		}
	}
}
