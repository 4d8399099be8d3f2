package repro

import (
	"encoding/csv"
	"image/color"
	"io"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"
)

// Curve is a picture: what several trainings had found while they ran.
type Curve struct {
	// Name is that of its files, Variant how the trainings were asked for.
	Name    string
	Variant string
	Title   string
	YLabel  string
	// Falls says that lower is better.
	Falls  bool
	Series []Series
}

// Series is one training of a picture.
type Series struct {
	Name string
	// Trials are its trials by their numbers.
	Trials map[int][]Step
}

// Curves returns a picture for each group of rows that belong together.
func (r *Report) Curves() []Curve {
	var curves []Curve
	place := map[string]int{}
	for i := range r.Rows {
		row := &r.Rows[i]
		if row.Picture == "" {
			continue
		}
		key := row.Picture + " " + row.Variant
		if _, ok := place[key]; !ok {
			place[key] = len(curves)
			curves = append(curves, newCurve(row, r.severalVariants(row.Picture)))
		}
		s := Series{Name: strings.TrimPrefix(row.Name, row.Picture+"/"), Trials: map[int][]Step{}}
		for _, m := range row.metrics {
			s.Trials[m.Head.Trial] = m.Online(row.Target)
		}
		c := &curves[place[key]]
		c.Series = append(c.Series, s)
	}
	return curves
}

func newCurve(row *Row, several bool) Curve {
	c := Curve{Name: keyOf(row.Picture), Variant: row.Variant, Title: row.Picture, YLabel: "test accuracy, %"}
	if row.Target != "" {
		c.YLabel, c.Falls = "best "+row.Target+" validation error so far, %", true
	}
	if row.Variant != "" {
		c.Title += " (" + row.Variant + ")"
	}
	if several {
		c.Name += "-" + odd(row.Variant)
	}
	return c
}

// odd joins what may stand in the name of a file.
func odd(s string) string {
	return strings.Join(strings.FieldsFunc(s, func(r rune) bool { return (r < 'a' || r > 'z') && (r < '0' || r > '9') && r != '.' }), "-")
}

// severalVariants says whether a picture's trainings were asked for in more than one way.
func (r *Report) severalVariants(picture string) bool {
	of := func(row Row) bool { return row.Picture == picture }
	first := r.Rows[slices.IndexFunc(r.Rows, of)].Variant
	return slices.ContainsFunc(r.Rows, func(row Row) bool { return of(row) && row.Variant != first })
}

// WriteCSV writes a line for each point.
func (c Curve) WriteCSV(w io.Writer) error {
	out := csv.NewWriter(w)
	if err := out.Write([]string{"method", "trial", "rounds", "value_percent", "test_error_percent", "variant"}); err != nil {
		return err
	}
	number := func(x float64) string {
		if math.IsNaN(x) {
			return ""
		}
		return strconv.FormatFloat(x, 'f', 4, 64)
	}
	for _, s := range c.Series {
		for _, trial := range slices.Sorted(maps.Keys(s.Trials)) {
			for _, p := range s.Trials[trial] {
				if err := out.Write([]string{s.Name, strconv.Itoa(trial), strconv.Itoa(p.Rounds), number(p.Value), number(p.Test), c.Variant}); err != nil {
					return err
				}
			}
		}
	}
	out.Flush()
	return out.Error()
}

// curveColors tell series apart also for those who see red and green alike.
var curveColors = []color.RGBA{{0x00, 0x72, 0xb2, 255}, {0xd5, 0x5e, 0x00, 255}, {0x00, 0x9e, 0x73, 255}, {0xcc, 0x79, 0xa7, 255}, {0xe6, 0x9f, 0x00, 255}, {0x56, 0xb4, 0xe9, 255}, {0x55, 0x55, 0x55, 255}}

// WriteSVG draws the mean over trials as thick and each trial as thin lines.
func (c Curve) WriteSVG(w io.Writer) error {
	p := plot.New()
	p.Title.Text, p.X.Label.Text, p.Y.Label.Text = c.Title, "rounds of the study", c.YLabel
	for _, style := range []*text.Style{&p.Title.TextStyle, &p.X.Label.TextStyle, &p.Y.Label.TextStyle, &p.X.Tick.Label, &p.Y.Tick.Label, &p.Legend.TextStyle} {
		style.Font.Variant, style.Font.Size = "Sans", vg.Points(9)
	}
	p.Title.TextStyle.Font.Size, p.Title.Padding = vg.Points(10), vg.Points(6)
	p.X.Tick.Marker, p.Y.Tick.Marker = plot.TickerFunc(shortTicks), plot.TickerFunc(shortTicks)
	// Errors fall, accuracies rise: to the right, one end of the picture is empty.
	p.X.Min, p.Legend.Left, p.Legend.Top = 0, true, c.Falls
	p.Legend.XOffs, p.Legend.Padding = 11*vg.Centimeter, vg.Points(3)
	p.Add(plotter.NewGrid())
	for i, s := range c.Series {
		shade := curveColors[i%len(curveColors)]
		for _, trial := range slices.Sorted(maps.Keys(s.Trials)) {
			faint := shade
			faint.A = 70
			if _, err := addLine(p, xys(s.Trials[trial]), faint, vg.Points(0.7)); err != nil {
				return err
			}
		}
		line, err := addLine(p, s.mean(), shade, vg.Points(2))
		if err != nil {
			return err
		}
		if line != nil {
			p.Legend.Add(s.Name+" ("+trials(len(s.Trials))+")", line)
		}
	}
	canvas := vgsvg.New(18*vg.Centimeter, 11*vg.Centimeter)
	p.Draw(draw.Crop(draw.New(canvas), vg.Points(8), -vg.Points(14), vg.Points(8), -vg.Points(8)))
	_, err := canvas.WriteTo(w)
	return err
}

// shortTicks are the usual ticks, without decimals that say nothing.
func shortTicks(lo, hi float64) []plot.Tick {
	ticks := plot.DefaultTicks{}.Ticks(lo, hi)
	for i := range ticks {
		if ticks[i].Label != "" {
			ticks[i].Label = strconv.FormatFloat(ticks[i].Value, 'g', 6, 64)
		}
	}
	return ticks
}

// trials writes a number of trials.
func trials(n int) string {
	if n == 1 {
		return "1 trial"
	}
	return strconv.Itoa(n) + " trials"
}

func addLine(p *plot.Plot, points plotter.XYs, c color.RGBA, width vg.Length) (*plotter.Line, error) {
	if len(points) == 0 {
		return nil, nil
	}
	line, err := plotter.NewLine(points)
	if err != nil {
		return nil, err
	}
	// A color with less than full opacity is multiplied by it.
	line.Color = color.NRGBA(c)
	line.Width = width
	line.StepStyle = plotter.PostStep
	p.Add(line)
	return line, nil
}

func xys(steps []Step) plotter.XYs {
	var out plotter.XYs
	for _, s := range steps {
		out = append(out, plotter.XY{X: float64(s.Rounds), Y: s.Value})
	}
	return out
}

// mean is the mean over the trials, from where all have begun to where the first one ends.
func (s Series) mean() plotter.XYs {
	end := math.MaxInt
	grid := map[int]bool{}
	for _, steps := range s.Trials {
		if len(steps) == 0 {
			return nil
		}
		end = min(end, steps[len(steps)-1].Rounds)
		for _, p := range steps {
			grid[p.Rounds] = true
		}
	}
	var out plotter.XYs
	for _, x := range slices.Sorted(maps.Keys(grid)) {
		var values []float64
		for _, trial := range slices.Sorted(maps.Keys(s.Trials)) {
			values = append(values, at(s.Trials[trial], x))
		}
		if m := stat.Mean(values, nil); x <= end && !math.IsNaN(m) {
			out = append(out, plotter.XY{X: float64(x), Y: m})
		}
	}
	return out
}
