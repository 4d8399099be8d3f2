package bench

import (
	"errors"
	"fmt"
	"html"
	"io"
	"math"
	"strings"
)

// The picture of the suite scale: a panel for the time of a client and one for memory, over a logarithmic axis.
const (
	panelWidth, panelHeight = 400, 260
	marginLeft, marginTop   = 70, 40
	marginBottom            = 50
	panelGap                = 20
	marginRight             = 40
	legendHeight            = 70

	mostDecades = 4 // of the axis: 1 to 10,000
)

// sweepColors are the colors of the sweeps, told apart by those who see red and green alike.
var sweepColors = []string{"#0072b2", "#d55e00", "#009e73"}

// panel is one picture of the two.
type panel struct {
	title string
	of    func(Result) float64
	tick  func(float64) string
}

// WriteScalePlot draws the rows of the suite scale as SVG: seconds a client and memory against the number that grows.
func (r *Report) WriteScalePlot(w io.Writer) error {
	rows := map[crowd]Result{}
	for _, x := range r.Results {
		if x.Suite == "scale" && x.Name == scaleModel {
			rows[crowd{x.Round.Cohort, x.Round.Clients, x.Round.Trials}] = x
		}
	}
	if len(rows) == 0 {
		return errors.New("there is nothing to draw: the suite scale did not run")
	}
	var b strings.Builder
	width, height := 2*(marginLeft+panelWidth)+panelGap+marginRight, marginTop+panelHeight+marginBottom+legendHeight
	fmt.Fprintf(&b, "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" viewBox=\"0 0 %d %d\" font-family=\"sans-serif\" font-size=\"12\">\n", width, height, width, height)
	fmt.Fprintf(&b, "<rect width=\"%d\" height=\"%d\" fill=\"white\"/>\n", width, height)
	panels := []panel{
		{"worker time of a client: one step of 20 samples", func(x Result) float64 { return x.Round.ClientSeconds }, duration},
		{"most memory held by the process", memoryOf, func(v float64) string { return fmt.Sprintf("%.0f MB", v/1e6) }},
	}
	for i, p := range panels {
		p.draw(&b, float64(marginLeft+i*(panelWidth+marginLeft+panelGap)), rows)
	}
	for i, s := range sweeps {
		y := height - legendHeight + 20*i + 12
		fmt.Fprintf(&b, "<circle cx=\"%d\" cy=\"%d\" r=\"4\" fill=\"%s\"/><text x=\"%d\" y=\"%d\">%s</text>\n", marginLeft+4, y-4, sweepColors[i], marginLeft+16, y, html.EscapeString(s.label))
	}
	note := fmt.Sprintf("%s, %s, %d cores, level %s, %s", scaleModel, r.Machine.CPU, r.Machine.Cores, r.Machine.Level, r.Date)
	fmt.Fprintf(&b, "<text x=\"%d\" y=\"%d\" text-anchor=\"end\" fill=\"#555\">%s</text>\n</svg>\n", width-20, height-14, html.EscapeString(note))
	_, err := io.WriteString(w, b.String())
	return err
}

// memoryOf is the memory that the system sees, or, where it does not tell, that of the objects.
func memoryOf(x Result) float64 {
	if x.Round.RSS > 0 {
		return float64(x.Round.RSS)
	}
	return float64(x.Round.Heap)
}

// draw writes the panel whose left edge is at left.
func (p panel) draw(b *strings.Builder, left float64, rows map[crowd]Result) {
	top := 0.0
	for _, x := range rows {
		top = max(top, p.of(x))
	}
	top = roundUp(top)
	bottom := float64(marginTop + panelHeight)
	px := func(n int) float64 { return left + panelWidth*math.Log10(float64(n))/mostDecades }
	py := func(v float64) float64 { return bottom - panelHeight*v/top }
	fmt.Fprintf(b, "<text x=\"%.0f\" y=\"%d\" font-size=\"14\">%s</text>\n", left, marginTop-16, html.EscapeString(p.title))
	for i := range 6 {
		v, label := top*float64(i)/5, "0"
		if i > 0 {
			label = p.tick(v)
		}
		fmt.Fprintf(b, "<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" stroke=\"#ddd\"/><text x=\"%.1f\" y=\"%.1f\" text-anchor=\"end\">%s</text>\n",
			left, py(v), left+panelWidth, py(v), left-6, py(v)+4, html.EscapeString(label))
	}
	for d := range mostDecades + 1 {
		n := int(math.Pow10(d))
		fmt.Fprintf(b, "<line x1=\"%.1f\" y1=\"%d\" x2=\"%.1f\" y2=\"%.1f\" stroke=\"#ddd\"/><text x=\"%.1f\" y=\"%.1f\" text-anchor=\"middle\">%d</text>\n",
			px(n), marginTop, px(n), bottom, px(n), bottom+18, n)
	}
	for i, s := range sweeps {
		var line []string
		var dots strings.Builder
		for _, c := range s.shapes {
			x, ok := rows[c]
			if !ok {
				continue
			}
			n := s.grows(c)
			line = append(line, fmt.Sprintf("%.1f,%.1f", px(n), py(p.of(x))))
			fmt.Fprintf(&dots, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"3.5\" fill=\"%s\"><title>%d %s: %s</title></circle>\n",
				px(n), py(p.of(x)), sweepColors[i], n, html.EscapeString(s.label), html.EscapeString(p.tick(p.of(x))))
		}
		fmt.Fprintf(b, "<polyline points=\"%s\" fill=\"none\" stroke=\"%s\" stroke-width=\"1.5\"/>\n%s", strings.Join(line, " "), sweepColors[i], dots.String())
	}
}

// grows returns the number of c that the sweep changes.
func (s sweep) grows(c crowd) int {
	first, last := s.shapes[0], s.shapes[len(s.shapes)-1]
	switch {
	case first.cohort != last.cohort:
		return c.cohort
	case first.clients != last.clients:
		return c.clients
	}
	return c.trials
}

// roundUp returns the least of 1, 2, 2.5 and 5 times a power of ten that is not below x > 0.
func roundUp(x float64) float64 {
	power := math.Pow(10, math.Floor(math.Log10(x)))
	for _, step := range []float64{1, 2, 2.5, 5} {
		if step*power >= x {
			return step * power
		}
	}
	return 10 * power
}
