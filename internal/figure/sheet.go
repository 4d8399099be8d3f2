package figure

import (
	"image/color"
	"math"
	"slices"
	"strings"

	xfont "golang.org/x/image/font"
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Sizes in points. A picture of one panel is as wide as a column of text.
const (
	soloWidth, panelWidth, panelHeight = 640, 480, 330
	margin                             = 14
	panelGap                           = 18

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
	colors        palette
	width, height vg.Length
	across        int       // panels in a row
	tall          vg.Length // one row
	title, note   []string  // lines
	legend        [][]entry // rows
	names         []string  // of lines, in the order of their colours
}

// entry is one of the legend.
type entry struct {
	text  string
	width vg.Length
	at    int // of the line or class; -1 is a ramp of all classes
	of    int // classes, 0 for a line
	dots  bool
}

// sheet lays out a figure.
func (f *Figure) sheet(theme Theme) *sheet {
	s := &sheet{Figure: f, colors: palettes[theme], width: soloWidth, across: max(1, len(f.Panels))}
	switch n := len(f.Panels); { // four in a row would be too small to read in a page
	case n == 4:
		s.across = 2
	case n > 4:
		s.across = 3
	}
	if s.across > 1 {
		s.width = vg.Length(s.across)*panelWidth + 2*margin
	}
	room := s.width - 2*margin
	s.title = wrap(clean(f.Title), s.style(titleSize, true, s.colors.text), room)
	s.note = wrap(clean(f.Note), s.style(noteSize, false, s.colors.faint), room)
	s.layLegend(room)
	for i := range f.Panels {
		if c := f.Panels[i].chart(); c != nil {
			s.tall = max(s.tall, c.height())
		} else {
			s.tall = max(s.tall, panelHeight)
		}
	}
	rows := vg.Length((len(f.Panels) + s.across - 1) / s.across)
	s.height = 2*margin + s.titleHeight() + rows*(s.tall+panelGap) - panelGap + s.belowHeight()
	return s
}

func (s *sheet) titleHeight() vg.Length { return vg.Length(len(s.title))*(titleSize+4) + 10 }

// belowHeight is that of legend and note.
func (s *sheet) belowHeight() vg.Length {
	return vg.Length(len(s.legend))*rowHeight + vg.Length(len(s.note))*noteHeight + 10
}

// style is that of a text.
func (s *sheet) style(size vg.Length, bold bool, c color.Color) text.Style {
	f := font.From(plot.DefaultFont, size)
	f.Variant = "Sans"
	if bold {
		f.Weight = xfont.WeightBold
	}
	return text.Style{Color: c, Font: f, Handler: plot.DefaultTextHandler, XAlign: draw.XLeft, YAlign: draw.YBottom}
}

// wrap breaks a text between words into lines of at most a width; a longer word has
// a line of its own.
func wrap(s string, style text.Style, width vg.Length) []string {
	var lines []string
	for word := range strings.FieldsSeq(s) {
		if n := len(lines); n > 0 && wider*style.Width(lines[n-1]+" "+word) <= width {
			lines[n-1] += " " + word
		} else {
			lines = append(lines, word)
		}
	}
	return lines
}

// layLegend names lines and classes in rows. One line alone needs no name that the
// title could not say.
func (s *sheet) layLegend(room vg.Length) {
	style := s.style(textSize, false, s.colors.text)
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
		e.width = e.swatch() + 6 + wider*style.Width(e.text) + legendGap
		if used+e.width-legendGap > room {
			s.legend, used = append(s.legend, nil), 0
		}
		s.legend[len(s.legend)-1] = append(s.legend[len(s.legend)-1], e)
		used += e.width
	}
}

// swatch is the width of what an entry shows.
func (e *entry) swatch() vg.Length {
	switch {
	case e.of == 0:
		return swatch
	case e.at < 0:
		return 10 * swatch
	}
	return swatch / 2
}

// draw draws the whole.
func (s *sheet) draw(c draw.Canvas) {
	c.FillPolygon(s.colors.back, corners(c.Min, c.Max))
	c = draw.Crop(c, margin, -margin, margin, -margin)
	y := c.Max.Y
	for _, line := range s.title {
		y -= titleSize + 2
		c.FillText(s.style(titleSize, true, s.colors.text), vg.Point{X: c.Min.X, Y: y}, line)
	}
	field := c
	field.Max.Y -= s.titleHeight()
	field.Min.Y += s.belowHeight()
	wide := (field.Size().X - panelGap*vg.Length(s.across-1)) / vg.Length(s.across)
	for i := range s.Panels {
		part := field
		part.Min.X += vg.Length(i%s.across) * (wide + panelGap)
		part.Max.X = part.Min.X + wide
		part.Max.Y -= vg.Length(i/s.across) * (s.tall + panelGap)
		part.Min.Y = part.Max.Y - s.tall
		s.panel(&s.Panels[i]).Draw(part)
	}
	y = field.Min.Y - 8
	for _, row := range s.legend {
		y -= rowHeight
		x := c.Min.X
		for _, e := range row {
			s.drawEntry(c, e, vg.Point{X: x, Y: y})
			x += e.width
		}
	}
	y -= 2
	for _, line := range s.note {
		y -= noteHeight
		c.FillText(s.style(noteSize, false, s.colors.faint), vg.Point{X: c.Min.X, Y: y}, line)
	}
}

// corners are those of a rectangle.
func corners(lo, hi vg.Point) []vg.Point {
	return []vg.Point{lo, {X: hi.X, Y: lo.Y}, hi, {X: lo.X, Y: hi.Y}}
}

// drawEntry draws what an entry shows, and its text.
func (s *sheet) drawEntry(c draw.Canvas, e entry, at vg.Point) {
	middle := at.Y + textSize/2 - 1
	if e.of == 0 {
		if !e.dots {
			c.StrokeLine2(s.lineStyle(e.at), at.X, middle, at.X+swatch, middle)
		}
		c.DrawGlyph(s.glyph(e.at), vg.Point{X: at.X + swatch/2, Y: middle})
	} else {
		first, last := e.at, e.at
		if e.at < 0 {
			first, last = 0, e.of-1
		}
		wide := e.swatch() / vg.Length(last-first+1)
		for class := first; class <= last; class++ {
			x, end := at.X+vg.Length(class-first)*wide, at.X+e.swatch() // the next ones cover the rest, without seams
			c.FillPolygon(s.colors.class(class, e.of), corners(vg.Point{X: x, Y: middle - 5}, vg.Point{X: end, Y: middle + 5}))
		}
	}
	c.FillText(s.style(textSize, false, s.colors.text), vg.Point{X: at.X + e.swatch() + 6, Y: at.Y}, e.text)
}

// lineStyle is that of line i.
func (s *sheet) lineStyle(i int) draw.LineStyle {
	return draw.LineStyle{Color: s.colors.line(i), Width: 1.8, Dashes: dashes[i/len(s.colors.lines)%len(dashes)]}
}

// glyph is the marker of line i.
func (s *sheet) glyph(i int) draw.GlyphStyle {
	return draw.GlyphStyle{Color: s.colors.line(i), Radius: 3.4, Shape: markers[i%len(markers)]}
}

// panel makes a plot.
func (s *sheet) panel(p *Panel) *plot.Plot {
	out := plot.New()
	out.BackgroundColor = nil
	out.Title.Text, out.Title.Padding = clean(p.Title), 6
	align := out.Title.TextStyle
	out.Title.TextStyle = s.style(headSize, false, s.colors.text)
	out.Title.TextStyle.XAlign, out.Title.TextStyle.YAlign = align.XAlign, align.YAlign
	x, y := s.scales(p)
	xLabel, yLabel := p.X.Label, p.Y.Label
	if c := p.chart(); c != nil {
		xLabel, yLabel = c.labels(p)
	}
	for _, a := range []struct {
		axis  *plot.Axis
		label string
		log   bool
		scale
	}{{&out.X, xLabel, p.X.Log, x}, {&out.Y, yLabel, p.Y.Log, y}} {
		a.axis.Label.Text, a.axis.Label.Padding = clean(a.label), 5
		a.axis.Min, a.axis.Max, a.axis.Padding = a.lo, a.hi, 0
		a.axis.Tick.Marker = plot.ConstantTicks(a.ticks)
		if a.log {
			a.axis.Scale = plot.LogScale{}
		}
		a.axis.Color, a.axis.Width = s.colors.faint, 0.8
		a.axis.Tick.LineStyle, a.axis.Tick.Length = a.axis.LineStyle, 4
		for _, style := range []*text.Style{&a.axis.Label.TextStyle, &a.axis.Tick.Label} {
			align := *style
			*style = s.style(textSize, false, s.colors.text)
			style.XAlign, style.YAlign = align.XAlign, align.YAlign
		}
		a.axis.Tick.Label.Color = s.colors.faint
	}
	grid := plotter.NewGrid()
	grid.Horizontal.Color, grid.Vertical.Color = s.colors.grid, s.colors.grid
	grid.Horizontal.Width, grid.Vertical.Width = 0.8, 0.8
	out.Add(grid)
	if c := p.chart(); c != nil {
		out.Add(c.plotter(s))
		return out
	}
	if p.X.Names != nil {
		s.addPlaces(out, p, y)
		return out
	}
	for _, draw := range []func(*plot.Plot, *Line, int, float64, float64){s.addBand, s.addRuns, s.addLine} {
		for i := range p.Lines {
			l := &p.Lines[i]
			draw(out, l, slices.Index(s.names, l.Name), y.lo, y.hi)
		}
	}
	for _, d := range p.Dots {
		marks := &plotter.Scatter{GlyphStyle: s.glyph(slices.Index(s.names, d.Name))}
		for _, q := range d.Points {
			marks.XYs = append(marks.XYs, plotter.XY{X: q.X, Y: q.Y})
		}
		if len(marks.XYs) > 0 {
			out.Add(marks)
		}
	}
	return out
}

// addPlaces draws the points of lines at places that have names, those of one place
// beside each other, with their intervals as bars; what lies between two places has no
// meaning, so nothing joins them.
func (s *sheet) addPlaces(out *plot.Plot, p *Panel, y scale) {
	const apart = 0.14 // of the way to the next place
	if y.lo < 0 && y.hi > 0 && !p.Y.Log {
		zero := &plotter.Line{LineStyle: draw.LineStyle{Color: s.colors.faint, Width: 0.8}}
		zero.XYs = plotter.XYs{{X: out.X.Min}, {X: out.X.Max}}
		out.Add(zero)
	}
	for i := range p.Lines {
		l := &p.Lines[i]
		c := slices.Index(s.names, l.Name)
		aside := apart * (float64(i) - float64(len(p.Lines)-1)/2)
		marks := &plotter.Scatter{GlyphStyle: s.glyph(c)}
		bars := &plotter.YErrorBars{LineStyle: draw.LineStyle{Color: s.colors.line(c), Width: 1.4}, CapWidth: 7}
		for _, q := range l.Points {
			if math.IsNaN(q.Y) {
				continue
			}
			at := plotter.XY{X: q.X + aside, Y: q.Y}
			marks.XYs = append(marks.XYs, at)
			if q.Half > 0 && !math.IsInf(q.Half, 0) {
				bars.XYs = append(bars.XYs, at)
				bars.YErrors = append(bars.YErrors, struct{ Low, High float64 }{min(q.Half, q.Y-y.lo), min(q.Half, y.hi-q.Y)})
			}
		}
		if len(bars.XYs) > 0 {
			out.Add(bars)
		}
		if len(marks.XYs) > 0 {
			out.Add(marks)
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

// addBand adds the intervals around a line, cut at the axes' ends.
func (s *sheet) addBand(out *plot.Plot, l *Line, color int, lo, hi float64) {
	shade := s.colors.line(color)
	for _, part := range stretches(l.Points, l.Step) {
		for len(part) > 0 {
			n := 0
			for n < len(part) && part[n].Half > 0 && !math.IsInf(part[n].Half, 0) {
				n++
			}
			ring := make(plotter.XYs, 0, 2*n)
			for _, q := range part[:n] {
				ring = append(ring, plotter.XY{X: q.X, Y: min(hi, q.Y+q.Half)})
			}
			for i := n - 1; i >= 0; i-- {
				ring = append(ring, plotter.XY{X: part[i].X, Y: max(lo, part[i].Y-part[i].Half)})
			}
			if n > 1 {
				out.Add(&plotter.Polygon{XYs: []plotter.XYs{ring}, Color: transparent(shade, bandOpacity)})
			}
			part = part[min(n+1, len(part)):]
		}
	}
}

// Opacities, in 255ths, of bands and of runs.
const bandOpacity, runOpacity = 50, 95

// transparent is a colour with an opacity.
func transparent(c color.RGBA, alpha uint8) color.Color { return color.NRGBA{c.R, c.G, c.B, alpha} }

// addRuns adds what a line is the mean of.
func (s *sheet) addRuns(out *plot.Plot, l *Line, c int, _, _ float64) {
	for _, run := range l.Runs {
		s.addPath(out, run, l.Step, draw.LineStyle{Color: transparent(s.colors.line(c), runOpacity), Width: 0.8})
	}
}

// addLine adds a line and its markers: all of them where there are few, else some,
// at other places than those of other lines.
func (s *sheet) addLine(out *plot.Plot, l *Line, c int, _, _ float64) {
	s.addPath(out, l.Points, l.Step, s.lineStyle(c))
	every := 1
	if n := len(l.Points); n > mostMarkers {
		every = (n + 7) / 8
	}
	marks := &plotter.Scatter{GlyphStyle: s.glyph(c)}
	for i, q := range l.Points {
		if (i+every-1-c*every/3%every)%every == 0 && !math.IsNaN(q.Y) {
			marks.XYs = append(marks.XYs, plotter.XY{X: q.X, Y: q.Y})
		}
	}
	if len(marks.XYs) > 0 {
		out.Add(marks)
	}
}

// mostMarkers is how many a line has before some are left out.
const mostMarkers = 14

func (s *sheet) addPath(out *plot.Plot, points []Point, step bool, style draw.LineStyle) {
	for _, part := range stretches(points, step) {
		line := &plotter.Line{LineStyle: style}
		for _, q := range part {
			line.XYs = append(line.XYs, plotter.XY{X: q.X, Y: q.Y})
		}
		out.Add(line)
	}
}
