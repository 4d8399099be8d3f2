package figure

import (
	"errors"
	"fmt"

	"github.com/fedfast/fedfast/internal/list"
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
	return list.Made(b.classes(), func(class int) entry {
		return entry{text: b.className(class), at: class, of: b.classes()}
	})
}

func (b *Bars) scales(*Panel) (x, y scale) {
	zero := Axis{Zero: true}
	return scale{lo: 0, hi: float64(len(b.shown()))}, zero.layOut(0, float64(max(1, b.tallest())), mostY)
}

func (b *Bars) labels(p *Panel) (x, y string) { return b.label(), p.Y.Label }

func (*Bars) height() float64 { return panelHeight }

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
	return list.Made(mostBars, func(i int) Bar { return b.Bars[i*len(b.Bars)/mostBars] })
}

// label is the label of the x axis.
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

// draw draws all parts of a class as one shape, the first class at the bottom. Bars
// keep their distance, and so do parts that are large enough.
func (b *Bars) draw(s *sheet, f *plane) {
	bars := b.shown()
	wide := f.x(1) - f.x(0)
	gap := min(2, wide/5)
	below := make([]int, len(bars))
	for class := range b.classes() {
		var parts [][]point
		for i, bar := range bars {
			if bar.Counts[class] == 0 {
				continue
			}
			left, bottom := f.x(float64(i))+gap/2, f.y(float64(below[i]))
			below[i] += bar.Counts[class]
			top := f.y(float64(below[i]))
			if wide > 6 && top-bottom > 3 {
				top -= 0.6 // a line between parts
			}
			parts = append(parts, rect{point{left, bottom}, point{left + wide - gap, top}}.corners())
		}
		if len(parts) > 0 {
			f.fill(s.colors.class(class, b.classes()), parts...)
		}
	}
}
