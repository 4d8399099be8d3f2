package figure

import (
	"cmp"
	"image/color"
	"math"
	"slices"
	"strings"

	"github.com/fedfast/fedfast/internal/list"
)

// Sizes in points. A picture of one panel is as wide as a column of text.
const (
	soloWidth, panelWidth, panelHeight = 640, 480, 330
	margin                             = 14
	panelGap                           = 18
	leastWidth, manyWidth              = 170, 560 // of a panel, and of one with many columns

	titleSize, headSize, textSize, noteSize = 14, 12, 11, 9.5

	rowHeight, noteHeight, swatch, legendGap = 17, 13, 26, 12

	// wider is how much wider a text may be where a viewer of SVG has other fonts
	// than those that texts are measured in: a sixth in DejaVu Sans, which Linux
	// falls back to.
	wider = 1.18
)

// sheet is a figure that is laid out in a theme.
type sheet struct {
	*Figure
	ruler
	colors       palette
	wide, height float64
	across       int       // panels in a row
	tall         float64   // one row
	title, note  []string  // lines
	legend       [][]entry // rows
	names        []string  // of lines, in the order of their colours
}

// entry is one of the legend.
type entry struct {
	text  string
	width float64
	at    int // of the line or class; -1 is a ramp of all classes
	of    int // classes, 0 for a line
	dots  bool
}

// sheet lays out a figure.
func (f *Figure) sheet(theme Theme) *sheet {
	s := &sheet{Figure: f, colors: palettes[theme], wide: soloWidth, across: max(1, len(f.Panels))}
	switch n := len(f.Panels); { // four in a row would be too small to read in a page
	case n == 4:
		s.across = 2
	case n > 4 && f.Width > 0:
		s.across = 4
	case n > 4:
		s.across = 3
	}
	if s.across > 1 {
		s.wide = float64(s.across)*panelWidth + 2*margin
	}
	s.wide = cmp.Or(f.Width, s.wide)
	s.across = min(s.across, max(1, int(s.wide/leastWidth)))
	room := s.wide - 2*margin
	s.title = s.wrap(clean(f.Title), s.heading(), room)
	s.note = s.wrap(clean(f.Note), plain(noteSize, s.colors.faint), room)
	s.layLegend(room)
	for i := range f.Panels {
		if c := f.Panels[i].chart(); c != nil {
			s.tall = max(s.tall, cmp.Or(f.Height, c.height()))
		} else {
			s.tall = max(s.tall, cmp.Or(f.Height, panelHeight))
		}
	}
	rows := float64((len(f.Panels) + s.across - 1) / s.across)
	s.height = 2*margin + s.titleHeight() + rows*(s.tall+panelGap) - panelGap + s.belowHeight()
	return s
}

func (s *sheet) titleHeight() float64 { return float64(len(s.title))*(titleSize+4) + 10 }

// belowHeight is the height of legend and note.
func (s *sheet) belowHeight() float64 {
	return float64(len(s.legend))*rowHeight + float64(len(s.note))*noteHeight + 10
}

// wrap breaks a text between words into lines of at most a width; a longer word has
// a line of its own.
func (s *sheet) wrap(text string, l letters, width float64) []string {
	var lines []string
	for word := range strings.FieldsSeq(text) {
		if n := len(lines); n > 0 && wider*s.width(l, lines[n-1]+" "+word) <= width {
			lines[n-1] += " " + word
		} else {
			lines = append(lines, word)
		}
	}
	return lines
}

// layLegend names lines and classes in rows. One line alone needs no name that the
// title could not say.
func (s *sheet) layLegend(room float64) {
	l := plain(textSize, s.colors.text)
	var all []entry
	for i := range s.Panels {
		p := &s.Panels[i]
		if c := p.chart(); c != nil {
			all = append(all, c.legend()...)
			continue
		}
		name := func(name string, dots bool) {
			if !slices.Contains(s.names, name) {
				s.names = append(s.names, name)
				all = append(all, entry{text: clean(name), at: len(s.names) - 1, dots: dots})
			}
		}
		for _, l := range p.Lines {
			name(l.Name, false)
		}
		for _, d := range p.Dots {
			name(d.Name, true)
		}
	}
	used := room + legendGap + 1
	for _, e := range all {
		e.width = e.swatch() + 6 + wider*s.width(l, e.text) + legendGap
		if used+e.width-legendGap > room {
			s.legend, used = append(s.legend, nil), 0
		}
		s.legend[len(s.legend)-1] = append(s.legend[len(s.legend)-1], e)
		used += e.width
	}
}

// swatch is the width of what an entry shows.
func (e *entry) swatch() float64 {
	switch {
	case e.of == 0:
		return swatch
	case e.at < 0:
		return 10 * swatch
	}
	return swatch / 2
}

// heading are the letters of the title.
func (s *sheet) heading() letters { return letters{color: s.colors.text, size: titleSize, bold: true} }

// draw draws the whole.
func (s *sheet) draw(c canvas) {
	all := rect{Max: point{s.wide, s.height}}
	c.fill(s.colors.back, all.corners())
	field := rect{point{margin, margin}, point{s.wide - margin, s.height - margin}}
	y := field.Max.Y
	for _, line := range s.title {
		y -= titleSize + 2
		c.write(s.heading(), point{margin, y}, line)
	}
	field.Max.Y -= s.titleHeight()
	field.Min.Y += s.belowHeight()
	wide := (field.Max.X - field.Min.X - panelGap*float64(s.across-1)) / float64(s.across)
	for i := range s.Panels {
		part := field
		part.Min.X += float64(i%s.across) * (wide + panelGap)
		part.Max.X = part.Min.X + wide
		part.Max.Y -= float64(i/s.across) * (s.tall + panelGap)
		part.Min.Y = part.Max.Y - s.tall
		s.panel(c, &s.Panels[i], part)
	}
	y = field.Min.Y - 8
	for _, row := range s.legend {
		y -= rowHeight
		x := field.Min.X
		for _, e := range row {
			s.drawEntry(c, e, point{x, y})
			x += e.width
		}
	}
	y -= 2
	for _, line := range s.note {
		y -= noteHeight
		c.write(plain(noteSize, s.colors.faint), point{margin, y}, line)
	}
}

// drawEntry draws what an entry shows, and its text.
func (s *sheet) drawEntry(c canvas, e entry, at point) {
	middle := at.Y + textSize/2 - 1
	if e.of == 0 {
		if !e.dots {
			c.stroke(s.pen(e.at), point{at.X, middle}, point{at.X + swatch, middle})
		}
		s.mark(c, e.at, point{at.X + swatch/2, middle})
	} else {
		first, last := e.at, e.at
		if e.at < 0 {
			first, last = 0, e.of-1
		}
		wide := e.swatch() / float64(last-first+1)
		for class := first; class <= last; class++ {
			x, end := at.X+float64(class-first)*wide, at.X+e.swatch() // the next ones cover the rest, without seams
			c.fill(s.colors.class(class, e.of), rect{point{x, middle - 5}, point{end, middle + 5}}.corners())
		}
	}
	c.write(plain(textSize, s.colors.text), point{at.X + e.swatch() + 6, at.Y}, e.text)
}

// pen is the pen of line i.
func (s *sheet) pen(i int) pen {
	return pen{s.colors.line(i), 1.8, dashes[i/len(s.colors.lines)%len(dashes)]}
}

// mark draws the marker of line i.
func (s *sheet) mark(c canvas, i int, at point) { markers[i%len(markers)](c, s.colors.line(i), at) }

// panel draws a panel into a rectangle.
func (s *sheet) panel(c canvas, p *Panel, in rect) {
	f := s.axes(c, p, in)
	switch chart := p.chart(); {
	case chart != nil:
		chart.draw(s, f)
		return
	case p.X.Names != nil:
		s.places(f, p)
		return
	}
	f.group(p)
	defer f.group(nil)
	line := func(f *plane, l *Line, c int) { s.line(f, l, c, len(p.Dots) > 0) }
	for _, draw := range []func(*plane, *Line, int){s.bands, s.runs, line} {
		for i := range p.Lines {
			l := &p.Lines[i]
			draw(f, l, slices.Index(s.names, l.Name))
		}
	}
	for _, d := range p.Dots {
		for _, q := range d.Points {
			f.named(cmp.Or(q.Name, d.Name))
			s.mark(f, slices.Index(s.names, d.Name), point{f.x(q.X), f.y(q.Y)})
		}
	}
	f.named("")
}

// places draws the points of lines at places that have names, those of one place
// side by side, with their intervals as bars; what lies between two places has no
// meaning, so nothing joins them.
func (s *sheet) places(f *plane, p *Panel) {
	const apart, half = 0.14, 3.5 // of the way to the next place; of the ends of a bar
	if f.up.lo < 0 && f.up.hi > 0 && !p.Y.Log {
		f.stroke(pen{color: s.colors.faint, width: 0.8}, point{f.Min.X, f.y(0)}, point{f.Max.X, f.y(0)})
	}
	for i := range p.Lines {
		l := &p.Lines[i]
		c := slices.Index(s.names, l.Name)
		aside := apart * (float64(i) - float64(len(p.Lines)-1)/2)
		bar := pen{color: s.colors.line(c), width: 1.4}
		for _, q := range l.Points {
			if math.IsNaN(q.Y) {
				continue
			}
			x := f.x(q.X + aside)
			if q.Half > 0 && !math.IsInf(q.Half, 0) {
				low, high := f.y(max(f.up.lo, q.Y-q.Half)), f.y(min(f.up.hi, q.Y+q.Half))
				f.stroke(bar, point{x, low}, point{x, high})
				f.stroke(bar, point{x - half, low}, point{x + half, low})
				f.stroke(bar, point{x - half, high}, point{x + half, high})
			}
			s.mark(f, c, point{x, f.y(q.Y)})
		}
	}
}

// scales lays out both axes of a panel. Bands that reach far beyond what was
// measured are cut at the edge.
func (s *sheet) scales(p *Panel) (x, y scale) {
	if c := p.chart(); c != nil {
		return c.scales(p)
	}
	lo, hi := Point{X: math.Inf(1), Y: math.Inf(1)}, Point{X: math.Inf(-1), Y: math.Inf(-1)}
	see := func(points []Point) {
		for _, q := range points {
			if !math.IsNaN(q.Y) {
				lo.X, hi.X = min(lo.X, q.X), max(hi.X, q.X)
				lo.Y, hi.Y = min(lo.Y, q.Y), max(hi.Y, q.Y)
				if half := q.Half; p.Y.Bands && half > 0 && !math.IsInf(half, 0) {
					hi.Y = max(hi.Y, q.Y+half)
					if !p.Y.Log || q.Y > half {
						lo.Y = min(lo.Y, q.Y-half)
					}
				}
			}
		}
	}
	for _, l := range p.Lines {
		see(l.Points)
		for _, run := range l.Runs {
			see(run)
		}
	}
	for _, d := range p.Dots {
		for _, q := range d.Points {
			see([]Point{{X: q.X, Y: q.Y}})
		}
	}
	if lo.X > hi.X { // a panel without points beside others that have some
		lo, hi = Point{X: 1, Y: 1}, Point{X: 1, Y: 1}
	}
	x = p.X.layOut(lo.X, hi.X, mostX)
	if !p.X.Log && p.X.Names == nil && lo.X < hi.X {
		x.hi = hi.X
		if !p.X.Zero {
			x.lo = lo.X
		}
	}
	return x, p.Y.layOut(lo.Y, hi.Y, mostY)
}

// stretches are the parts of a line without gaps, as they are drawn.
func stretches(points []Point, step bool) [][]Point {
	var all [][]Point
	gap := true
	for _, q := range points {
		if math.IsNaN(q.Y) {
			gap = true
			continue
		}
		if gap {
			all, gap = append(all, nil), false
		}
		part := &all[len(all)-1]
		if n := len(*part); step && n > 0 {
			held := (*part)[n-1]
			held.X = q.X
			*part = append(*part, held)
		}
		*part = append(*part, q)
	}
	return all
}

// bands draws the intervals around a line, cut at the axis' ends.
func (s *sheet) bands(f *plane, l *Line, color int) {
	for _, part := range stretches(l.Points, l.Step) {
		for len(part) > 0 {
			n := 0
			for n < len(part) && part[n].Half > 0 && !math.IsInf(part[n].Half, 0) {
				n++
			}
			ring := list.Of(part[:n], func(q Point) point { return point{f.x(q.X), f.y(min(f.up.hi, q.Y+q.Half))} })
			for _, q := range slices.Backward(part[:n]) {
				ring = append(ring, point{f.x(q.X), f.y(max(f.up.lo, q.Y-q.Half))})
			}
			if n > 1 {
				f.fill(transparent(s.colors.line(color), bandOpacity), ring)
			}
			part = part[min(n+1, len(part)):]
		}
	}
}

// Opacities, in 255ths, of bands and of runs.
const bandOpacity, runOpacity = 50, 95

// transparent is a colour with an opacity.
func transparent(c color.RGBA, alpha uint8) color.Color { return color.NRGBA{c.R, c.G, c.B, alpha} }

// runs draws what a line is the mean of.
func (s *sheet) runs(f *plane, l *Line, color int) {
	for _, run := range l.Runs {
		f.path(pen{color: transparent(s.colors.line(color), runOpacity), width: 0.8}, run, l.Step)
	}
}

// line draws a line and its markers: all of them where there are few, else some, at
// other places than those of other lines. last leaves only that of the last point, beside
// dots, which would be taken for them.
func (s *sheet) line(f *plane, l *Line, c int, last bool) {
	f.named(l.Name)
	f.path(s.pen(c), l.Points, l.Step)
	f.named("")
	every := 1
	if n := len(l.Points); n > mostMarkers {
		every = (n + 7) / 8
	}
	for i, q := range l.Points {
		if last && i < len(l.Points)-1 {
			continue
		}
		if (last || (i+every-1-c*every/3%every)%every == 0) && !math.IsNaN(q.Y) {
			s.mark(f, c, point{f.x(q.X), f.y(q.Y)})
		}
	}
}

// mostMarkers is how many a line has before some are left out.
const mostMarkers = 14

// path draws the stretches of a line.
func (f *plane) path(p pen, points []Point, step bool) {
	for _, part := range stretches(points, step) {
		line := list.Of(part, func(q Point) point { return point{f.x(q.X), f.y(q.Y)} })
		f.stroke(p, line...)
	}
}
