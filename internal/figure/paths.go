package figure

import (
	"fmt"
	"math"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Paths are parallel coordinates: an axis for each of several quantities, beside each
// other, and a path across all of them for each thing that has such quantities.
type Paths struct {
	Axes []PathAxis
	// Of says what Path.Value is, by which paths are shaded.
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
	var all []float64
	for _, p := range a.Paths {
		all = append(all, p.Value)
	}
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
		label := clean(axis.Label)
		if i%2 == 1 && len(a.Axes) > 4 {
			label = "\n" + label
		}
		x.ticks = append(x.ticks, plot.Tick{Value: float64(i), Label: label})
	}
	return x, scale{hi: 1}
}

func (*Paths) labels(*Panel) (x, y string) { return "", "" }

func (*Paths) height() vg.Length { return panelHeight + 40 }

func (a *Paths) plotter(s *sheet) plot.Plotter { return parallel{a, s} }

func (a *Paths) table(*Panel) Table {
	t := Table{Title: a.Of, Head: []string{"path"}}
	for _, axis := range a.Axes {
		t.Head = append(t.Head, axis.Label)
	}
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
	labels := make([]string, len(a.Axes))
	for i, axis := range a.Axes {
		labels[i] = axis.Label
	}
	return fmt.Sprintf("Parallel coordinates of %d paths across %d axes: %s.", len(a.Paths), len(labels), strings.Join(labels, ", "))
}

// layOut returns the scale of axis i.
func (a *Paths) layOut(i int) scale {
	axis := &a.Axes[i]
	if axis.Names != nil {
		s := scale{lo: -0.5, hi: float64(len(axis.Names)) - 0.5}
		for at, name := range axis.Names {
			s.ticks = append(s.ticks, plot.Tick{Value: float64(at), Label: clean(name)})
		}
		return s
	}
	var all []float64
	for _, p := range a.Paths {
		all = append(all, p.At[i])
	}
	lo, hi := ends(all)
	if math.IsNaN(lo) {
		lo, hi = 1, 1
	}
	return axis.layOut(lo, hi, mostY)
}

// at is where a number stands on a scale, from 0 to 1.
func (s *scale) at(x float64, log bool) float64 {
	if log {
		return math.Log(x/s.lo) / math.Log(s.hi/s.lo)
	}
	return (x - s.lo) / (s.hi - s.lo)
}

// parallel draws paths as gonum/plot has plotters do.
type parallel struct {
	*Paths
	sheet *sheet
}

// Plot draws the paths and over them the axes, so that their numbers can be read.
func (a parallel) Plot(c draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	scales := make([]scale, len(a.Axes))
	for i := range a.Axes {
		scales[i] = a.layOut(i)
	}
	lo, hi := a.ends()
	for _, bold := range []bool{false, true} {
		for _, q := range a.Paths.Paths {
			if q.Bold != bold {
				continue
			}
			style := draw.LineStyle{Color: a.sheet.colors.faint, Width: 0.9}
			if !math.IsNaN(q.Value) {
				style.Color = a.sheet.colors.class(level(q.Value, lo, hi), levels)
			}
			if bold {
				style = draw.LineStyle{Color: a.sheet.colors.line(boldLine), Width: 2.4}
			}
			for _, part := range a.stretches(q, scales, x, y) {
				c.StrokeLines(style, part)
			}
		}
	}
	for i := range a.Axes {
		a.axis(c, scales[i], a.Axes[i].Log, x(float64(i)), y)
	}
}

// stretches are the parts of a path without gaps.
func (a parallel) stretches(q Path, scales []scale, x, y func(float64) vg.Length) (all [][]vg.Point) {
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
		*part = append(*part, vg.Point{X: x(float64(i)), Y: y(scales[i].at(v, a.Axes[i].Log))})
	}
	return all
}

// axis draws one axis with its numbers, on a ground that hides paths behind them.
func (a parallel) axis(c draw.Canvas, s scale, log bool, x vg.Length, y func(float64) vg.Length) {
	colors := a.sheet.colors
	c.StrokeLine2(draw.LineStyle{Color: colors.faint, Width: 1}, x, y(0), x, y(1))
	style := a.sheet.style(noteSize, false, colors.text)
	style.XAlign, style.YAlign = draw.XRight, draw.YCenter
	for _, tick := range s.ticks {
		if tick.Label == "" {
			continue
		}
		at := y(s.at(tick.Value, log))
		c.StrokeLine2(draw.LineStyle{Color: colors.faint, Width: 1}, x-3, at, x+3, at)
		wide := style.Width(tick.Label)
		c.FillPolygon(colors.back, corners(vg.Point{X: x - 7 - wide, Y: at - 5}, vg.Point{X: x - 4, Y: at + 5}))
		c.FillText(style, vg.Point{X: x - 5, Y: at}, tick.Label)
	}
}
