package figure

import "math"

// plane is the part of a panel between its axes.
type plane struct {
	canvas
	rect
	across, up scale
}

// x and y are where a value stands on the sheet.
func (f *plane) x(v float64) float64 { return f.Min.X + f.across.at(v)*(f.Max.X-f.Min.X) }

func (f *plane) y(v float64) float64 { return f.Min.Y + f.up.at(v)*(f.Max.Y-f.Min.Y) }

// at is where a number stands on a scale, from 0 to 1.
func (s *scale) at(x float64) float64 {
	at := (x - s.lo) / (s.hi - s.lo)
	if s.log {
		at = math.Log(x/s.lo) / math.Log(s.hi/s.lo)
	}
	if math.IsNaN(at) { // a scale of one number
		return 0.5
	}
	return at
}

// seen are the ticks between the ends of a scale.
func (s *scale) seen() (ticks []tick) {
	const rounding = 1e-9
	for _, t := range s.ticks {
		if at := s.at(t.at); at >= -rounding && at <= 1+rounding {
			ticks = append(ticks, t)
		}
	}
	return ticks
}

// Room for axes: ticks, what is between them and their numbers, and around labels.
const tickSize, tickGap, labelRoom = 4, 3, textSize + 7

// axes draws the title and both axes of a panel into a rectangle, with a grid, and
// returns the plane between them.
func (s *sheet) axes(c canvas, p *Panel, in rect) *plane {
	f := &plane{canvas: c, rect: in}
	f.across, f.up = s.scales(p)
	xLabel, yLabel := p.X.Label, p.Y.Label
	inset := markSize // so that no marker is on an axis
	if chart := p.chart(); chart != nil {
		xLabel, yLabel = chart.labels(p)
		inset = 0
	}
	title, label, numbers := plain(headSize, s.colors.text), plain(textSize, s.colors.text), plain(textSize, s.colors.faint)
	title.align, label.align = center, center
	if p.Title != "" {
		f.Max.Y -= headSize
		c.write(title, point{(in.Min.X + in.Max.X) / 2, f.Max.Y}, clean(p.Title))
		f.Max.Y -= 9
	}
	ticksX, ticksY := f.across.seen(), f.up.seen()
	low, wide, beyond := 1, 0.0, markSize
	for _, t := range ticksX {
		low = max(low, 1+t.lower)
	}
	if n := len(ticksX); n > 0 {
		half := s.width(numbers, ticksX[n-1].label) / 2
		beyond = max(beyond, half-(1-f.across.at(ticksX[n-1].at))*(in.Max.X-in.Min.X))
	}
	for _, t := range ticksY {
		wide = max(wide, s.width(numbers, t.label))
	}
	f.Max.Y -= textSize / 2
	f.Max.X -= beyond
	if yLabel != "" {
		f.Min.X += labelRoom
	}
	if len(ticksY) > 0 {
		f.Min.X += wide + tickGap + tickSize
	}
	if xLabel != "" {
		f.Min.Y += labelRoom
	}
	if len(ticksX) > 0 {
		f.Min.Y += float64(low)*(textSize+tickGap) + tickSize
	}
	axis := f.Min
	f.Min.X += inset
	f.Min.Y += inset

	grid, line := pen{color: s.colors.grid, width: 0.8}, pen{color: s.colors.faint, width: 0.8}
	numbers.align = center
	told := math.Inf(-1) // where the last number ends
	for _, t := range ticksX {
		x, length := f.x(t.at), float64(tickSize)
		half := s.width(numbers, t.label) / 2
		if x-half < told && len(p.X.Names) == 0 {
			t.label = ""
		}
		if t.label == "" {
			length /= 2
		} else {
			told = x + half + tickGap
			c.stroke(grid, point{x, f.Min.Y}, point{x, f.Max.Y})
			c.write(numbers, point{x, axis.Y - tickSize - float64(1+t.lower)*(textSize+tickGap) + tickGap}, t.label)
		}
		c.stroke(line, point{x, axis.Y - length}, point{x, axis.Y})
	}
	numbers.align = right
	for _, t := range ticksY {
		y, length := f.y(t.at), float64(tickSize)
		if t.label == "" {
			length /= 2
		} else {
			c.stroke(grid, point{f.Min.X, y}, point{f.Max.X, y})
			c.write(numbers, point{axis.X - tickSize - tickGap, y - numbers.middle()}, t.label)
		}
		c.stroke(line, point{axis.X - length, y}, point{axis.X, y})
	}
	c.stroke(line, point{f.Min.X, axis.Y}, point{f.Max.X, axis.Y})
	c.stroke(line, point{axis.X, f.Min.Y}, point{axis.X, f.Max.Y})
	if xLabel != "" {
		c.write(label, point{(f.Min.X + f.Max.X) / 2, in.Min.Y + tickGap}, clean(xLabel))
	}
	if yLabel != "" {
		label.upright = true
		middle := (f.Min.Y + f.Max.Y) / 2
		if wide, room := s.width(label, clean(yLabel)), 2*min(middle-in.Min.Y, f.Max.Y+textSize-middle); wide > room {
			label.size *= room / wide
		}
		c.write(label, point{in.Min.X + textSize, middle}, clean(yLabel))
	}
	return f
}
