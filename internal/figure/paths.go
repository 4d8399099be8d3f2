package figure

import (
	"fmt"
	"math"
	"strings"

	"github.com/fedfast/fedfast/internal/list"
)

// Paths are parallel coordinates: an axis for each of several quantities, side by
// side, and a path across all of them for each thing that has such quantities.
type Paths struct {
	Axes []PathAxis
	// Of describes what Path.Value is, by which paths are shaded.
	Of    string
	Paths []Path
}

// PathAxis is one of the axes.
type PathAxis struct {
	Axis
	// Names, unless nil, are what the numbers 0, 1, ... stand for.
	Names []string
}

// Path is one thing.
type Path struct {
	Name string
	// At are its quantities, by axis; it has a gap where one is NaN.
	At []float64
	// Value shades it; NaN is not shaded.
	Value float64
	// Bold has it drawn over the others.
	Bold bool
}

func (a *Paths) check() error {
	if len(a.Paths) == 0 || len(a.Axes) < 2 {
		return errEmpty
	}
	for _, p := range a.Paths {
		if len(p.At) != len(a.Axes) {
			return fmt.Errorf("%s has %d quantities, there are %d axes", p.Name, len(p.At), len(a.Axes))
		}
		for i, x := range p.At {
			axis := &a.Axes[i]
			if math.IsInf(x, 0) || axis.Log && x <= 0 || axis.Names != nil && !math.IsNaN(x) && !(x >= 0 && int(x) < len(axis.Names)) {
				return fmt.Errorf("%s: %v has no place on the axis %q", p.Name, x, axis.Label)
			}
		}
	}
	return nil
}

func (a *Paths) ends() (lo, hi float64) {
	all := list.Of(a.Paths, func(p Path) float64 { return p.Value })
	return ends(all)
}

func (a *Paths) shades() int { return levels }

func (a *Paths) legend() []entry {
	var all []entry
	if lo, hi := a.ends(); !math.IsNaN(lo) {
		all = append(all, ramp(a.Of, lo, hi))
	}
	for _, p := range a.Paths {
		if p.Bold {
			all = append(all, entry{text: clean(p.Name), at: boldLine})
		}
	}
	return all
}

// boldLine is the colour of a bold path among those of lines.
const boldLine = 1

// scales leaves room on the left for the numbers of the first axis. Names of axes
// that stand close go up and down.
func (a *Paths) scales(*Panel) (x, y scale) {
	x = scale{lo: -0.55, hi: float64(len(a.Axes)) - 0.85}
	for i, axis := range a.Axes {
		lower := 0
		if len(a.Axes) > 4 {
			lower = i % 2
		}
		x.ticks = append(x.ticks, tick{at: float64(i), label: clean(axis.Label), lower: lower})
	}
	return x, scale{hi: 1}
}

func (*Paths) labels(*Panel) (x, y string) { return "", "" }

func (*Paths) height() float64 { return panelHeight + 40 }

func (a *Paths) table(*Panel) Table {
	t := Table{Title: a.Of, Head: []string{"path"}}
	t.Head = append(t.Head, list.Of(a.Axes, func(axis PathAxis) string { return axis.Label })...)
	for _, p := range a.Paths {
		row := []string{p.Name}
		for i, x := range p.At {
			if names := a.Axes[i].Names; names != nil && !math.IsNaN(x) {
				row = append(row, names[int(x)])
			} else {
				row = append(row, blank(x))
			}
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

func (a *Paths) describe(*Panel) string {
	labels := list.Of(a.Axes, func(axis PathAxis) string { return axis.Label })
	return fmt.Sprintf("Parallel coordinates of %d paths across %d axes: %s.", len(a.Paths), len(labels), strings.Join(labels, ", "))
}

// layOut returns the scale of axis i.
func (a *Paths) layOut(i int) scale {
	axis := &a.Axes[i]
	if axis.Names != nil {
		s := scale{lo: -0.5, hi: float64(len(axis.Names)) - 0.5}
		for at, name := range axis.Names {
			s.ticks = append(s.ticks, tick{at: float64(at), label: clean(name)})
		}
		return s
	}
	all := list.Of(a.Paths, func(p Path) float64 { return p.At[i] })
	lo, hi := ends(all)
	if math.IsNaN(lo) {
		lo, hi = 1, 1
	}
	return axis.layOut(lo, hi, mostY)
}

// draw draws the paths and over them the axes, so that their numbers can be read.
func (a *Paths) draw(s *sheet, f *plane) {
	scales := list.Made(len(a.Axes), func(i int) scale { return a.layOut(i) })
	lo, hi := a.ends()
	for _, bold := range []bool{false, true} {
		for _, q := range a.Paths {
			if q.Bold != bold {
				continue
			}
			p := pen{color: s.colors.faint, width: 0.9}
			if !math.IsNaN(q.Value) {
				p.color = s.colors.class(level(q.Value, lo, hi), levels)
			}
			if bold {
				p = pen{color: s.colors.line(boldLine), width: 2.4}
			}
			for _, part := range q.stretches(scales, f) {
				f.named(q.Name)
				f.stroke(p, part...)
			}
		}
	}
	f.named("")
	for i := range a.Axes {
		scales[i].draw(s, f, f.x(float64(i)))
	}
}

// stretches are the parts of a path without gaps.
func (q *Path) stretches(scales []scale, f *plane) (all [][]point) {
	gap := true
	for i, v := range q.At {
		if math.IsNaN(v) {
			gap = true
			continue
		}
		if gap {
			all, gap = append(all, nil), false
		}
		part := &all[len(all)-1]
		*part = append(*part, point{f.x(float64(i)), f.y(scales[i].at(v))})
	}
	return all
}

// draw draws an axis with its numbers, on a ground that hides paths behind them.
func (c *scale) draw(s *sheet, f *plane, x float64) {
	line := pen{color: s.colors.faint, width: 1}
	f.stroke(line, point{x, f.y(0)}, point{x, f.y(1)})
	l := plain(noteSize, s.colors.text)
	l.align = right
	for _, t := range c.ticks {
		if t.label == "" {
			continue
		}
		y := f.y(c.at(t.at))
		f.stroke(line, point{x - 3, y}, point{x + 3, y})
		f.fill(s.colors.back, rect{point{x - 7 - s.width(l, t.label), y - 5}, point{x - 4, y + 5}}.corners())
		f.write(l, point{x - 5, y - l.middle()}, t.label)
	}
}
