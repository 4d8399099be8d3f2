package repro

import (
	"fmt"
	"html"
	"io"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
)

// The picture of a curve in pixels: the field of the lines and what is around it.
const (
	fieldWidth, fieldHeight = 600, 340
	left, right             = 64, 16
	top, bottom             = 34, 46
	legendRow               = 17
	legendLeft              = left + 300 // errors fall, accuracies rise: to the right, one end of the field is empty
)

// curveColors tell series apart also for those who see red and green alike.
var curveColors = []string{"#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#555555"}

// axes say which values the field of a picture spans.
type axes struct{ rounds, low, high float64 }

// WriteSVG draws the mean over trials as thick and each trial as thin lines.
func (c Curve) WriteSVG(w io.Writer) error {
	a := c.axes()
	var b strings.Builder
	width, height := left+fieldWidth+right, top+fieldHeight+bottom
	fmt.Fprintf(&b, "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" viewBox=\"0 0 %d %d\" font-family=\"sans-serif\" font-size=\"12\">\n", width, height, width, height)
	fmt.Fprintf(&b, "<rect width=\"%d\" height=\"%d\" fill=\"white\"/>\n", width, height)
	label := func(x, y float64, anchor, more, text string) {
		fmt.Fprintf(&b, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\"%s>%s</text>\n", x, y, anchor, more, html.EscapeString(text))
	}
	const middle = left + fieldWidth/2.0
	label(middle, 20, "middle", ` font-size="14"`, c.Title)
	label(middle, float64(height-8), "middle", "", "rounds of the study")
	label(14, top+fieldHeight/2.0, "middle", fmt.Sprintf(` transform="rotate(-90 14 %d)"`, top+fieldHeight/2), c.YLabel)
	for _, v := range ticks(0, a.rounds) {
		fmt.Fprintf(&b, "<line x1=\"%.1f\" y1=\"%d\" x2=\"%.1f\" y2=\"%d\" stroke=\"#ddd\"/>\n", a.x(v), top, a.x(v), top+fieldHeight)
		label(a.x(v), top+fieldHeight+16, "middle", "", strconv.FormatFloat(v, 'g', 6, 64))
	}
	for _, v := range ticks(a.low, a.high) {
		fmt.Fprintf(&b, "<line x1=\"%d\" y1=\"%.1f\" x2=\"%d\" y2=\"%.1f\" stroke=\"#ddd\"/>\n", left, a.y(v), left+fieldWidth, a.y(v))
		label(left-6, a.y(v)+4, "end", "", strconv.FormatFloat(v, 'g', 6, 64))
	}
	row := float64(top + legendRow)
	if !c.Falls {
		row = float64(top + fieldHeight - legendRow*len(c.Series))
	}
	for i, s := range c.Series {
		color := curveColors[i%len(curveColors)]
		for _, trial := range slices.Sorted(maps.Keys(s.Trials)) {
			a.draw(&b, s.Trials[trial], color, `stroke-width="0.9" stroke-opacity="0.27"`)
		}
		mean := s.mean()
		a.draw(&b, mean, color, `stroke-width="2.5"`)
		if len(mean) > 0 {
			fmt.Fprintf(&b, "<line x1=\"%d\" y1=\"%.1f\" x2=\"%d\" y2=\"%.1f\" stroke=\"%s\" stroke-width=\"2.5\"/>\n", legendLeft, row-4, legendLeft+20, row-4, color)
			label(legendLeft+26, row, "start", "", s.Name+" ("+trials(len(s.Trials))+")")
			row += legendRow
		}
	}
	b.WriteString("</svg>\n")
	_, err := io.WriteString(w, b.String())
	return err
}

// axes returns what all lines of the curve need.
func (c Curve) axes() axes {
	a := axes{low: math.Inf(1), high: math.Inf(-1)}
	for _, s := range c.Series {
		for _, steps := range s.Trials {
			for _, p := range steps {
				if !math.IsNaN(p.Value) && !math.IsInf(p.Value, 0) {
					a.rounds, a.low, a.high = max(a.rounds, float64(p.Rounds)), min(a.low, p.Value), max(a.high, p.Value)
				}
			}
		}
	}
	if a.low > a.high { // there is nothing to draw
		a.low, a.high = 0, 1
	}
	if a.low == a.high {
		a.low, a.high = a.low-0.5, a.high+0.5
	}
	a.rounds = max(a.rounds, 1)
	return a
}

// x and y place a number in the picture.
func (a axes) x(rounds float64) float64 { return left + fieldWidth*rounds/a.rounds }

func (a axes) y(value float64) float64 {
	return top + fieldHeight - fieldHeight*(value-a.low)/(a.high-a.low)
}

// draw draws steps as a line that keeps each value up to the next.
func (a axes) draw(b *strings.Builder, steps []Step, color, style string) {
	var points []string
	before := 0.0
	for _, p := range steps {
		if math.IsNaN(p.Value) || math.IsInf(p.Value, 0) {
			continue
		}
		x, y := a.x(float64(p.Rounds)), a.y(p.Value)
		if len(points) > 0 {
			points = append(points, fmt.Sprintf("%.1f,%.1f", x, before))
		}
		points = append(points, fmt.Sprintf("%.1f,%.1f", x, y))
		before = y
	}
	if len(points) > 0 {
		fmt.Fprintf(b, "<polyline points=\"%s\" fill=\"none\" stroke=\"%s\" %s/>\n", strings.Join(points, " "), color, style)
	}
}

// ticks returns the multiples of the smallest of 1, 2 and 5 times a power of ten that are at most seven from low to high.
func ticks(low, high float64) []float64 {
	power := math.Pow(10, math.Floor(math.Log10((high-low)/7)))
	step := power
	for _, times := range []float64{2, 5, 10} {
		if (high-low)/step > 6 {
			step = times * power
		}
	}
	var out []float64
	for i := math.Ceil(low / step); i*step <= high; i++ {
		out = append(out, i*step)
	}
	return out
}
