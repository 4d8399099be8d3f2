package repro

import (
	"encoding/csv"
	"io"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/fedfast/fedfast/fl/study/result"
	"github.com/fedfast/fedfast/internal/figure"
	"github.com/fedfast/fedfast/internal/list"
	"github.com/fedfast/fedfast/internal/stats"
	"github.com/fedfast/fedfast/internal/sys/oneline"
)

// Curve is a picture: what several trainings had found while they ran.
type Curve struct {
	// Name is the name of its files, Variant how the trainings were asked for.
	Name    string
	Variant string
	Title   string
	YLabel  string
	// Falls says that lower is better, Percent that errors and accuracies are in percent,
	// Loss that values are losses.
	Falls, Percent, Loss bool
	Series               []Series
}

// Series is one training of a picture.
type Series struct {
	Name string
	// Seeds are its seeds by their numbers.
	Seeds map[int][]Step
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
		s := Series{Name: strings.TrimPrefix(row.Name, row.Picture+"/"), Seeds: map[int][]Step{}}
		for _, m := range row.metrics {
			s.Seeds[m.Head.Seed] = m.Online(row.Target)
		}
		c := &curves[place[key]]
		c.Series = append(c.Series, s)
	}
	return curves
}

func newCurve(row *Row, several bool) Curve {
	c := Curve{Name: keyOf(row.Picture), Variant: row.Variant, Title: row.Picture, Percent: row.measure() != result.MeasureRMSE, YLabel: "test " + units[row.measure()].accuracy + units[row.measure()].percent}
	if words := units[row.measure()]; row.Target != "" {
		if c.Loss = row.metrics[0].byLoss(); c.Loss {
			words.error, words.percent = "loss", ""
		}
		c.YLabel, c.Falls = "best "+row.Target+" validation "+words.error+" so far"+words.percent, true
	}
	if several || row.Variant != "" {
		c.Title += " (" + variantText(row.Variant) + ")"
	}
	if several {
		c.Name += "-" + odd(variantText(row.Variant))
	}
	return c
}

// odd joins what may stand in the name of a file.
func odd(s string) string {
	return strings.Join(strings.FieldsFunc(s, func(r rune) bool { return (r < 'a' || r > 'z') && (r < '0' || r > '9') && r != '.' }), "-")
}

// severalVariants says whether a picture's trainings were asked for in more than
// one way.
func (r *Report) severalVariants(picture string) bool {
	of := func(row Row) bool { return row.Picture == picture }
	first := r.Rows[slices.IndexFunc(r.Rows, of)].Variant
	return slices.ContainsFunc(r.Rows, func(row Row) bool { return of(row) && row.Variant != first })
}

// WriteCSV writes a line for each point.
func (c Curve) WriteCSV(w io.Writer) error {
	out := csv.NewWriter(w)
	head := []string{"method", "seed", "rounds", "value_percent", "test_error_percent", "variant"}
	if c.Loss || !c.Percent {
		head[3] = "value"
	}
	if !c.Percent {
		head[4] = "test_error"
	}
	if err := out.Write(head); err != nil {
		return err
	}
	number := func(x float64) string {
		if math.IsNaN(x) {
			return ""
		}
		return strconv.FormatFloat(x, 'f', 4, 64)
	}
	for _, s := range c.Series {
		for _, seed := range slices.Sorted(maps.Keys(s.Seeds)) {
			for _, p := range s.Seeds[seed] {
				if err := out.Write([]string{s.Name, strconv.Itoa(seed), strconv.Itoa(p.Rounds), number(p.Value), number(p.Test), c.Variant}); err != nil {
					return err
				}
			}
		}
	}
	out.Flush()
	return out.Error()
}

// Figure draws the mean over seeds with its 90 % interval, and each seed.
func (c Curve) Figure() *figure.Figure {
	p := figure.Panel{X: figure.Axis{Label: "rounds of the study", Zero: true}, Y: figure.Axis{Label: c.YLabel}}
	bands := false
	for _, s := range c.Series {
		line := figure.Line{Name: s.Name + " (" + oneline.Count(len(s.Seeds), "seed") + ")", Step: c.Falls, Points: s.mean()}
		for _, seed := range slices.Sorted(maps.Keys(s.Seeds)) {
			var run []figure.Point
			for _, step := range s.Seeds[seed] {
				run = append(run, figure.Point{X: float64(step.Rounds), Y: step.Value})
			}
			line.Runs = append(line.Runs, run)
		}
		bands = bands || len(s.Seeds) > 1
		p.Lines = append(p.Lines, line)
	}
	f := &figure.Figure{Name: c.Name, Title: c.Title, Panels: []figure.Panel{p}}
	if bands {
		f.Note = "Thick: mean until the first seed ends; band: its 90 % interval (Student's t), cut at the edges; thin: each seed."
	}
	return f
}

// mean is the mean over the seeds and its interval, from where all have begun to
// where the first one ends.
func (s Series) mean() []figure.Point {
	end := math.MaxInt
	grid := map[int]bool{}
	for _, steps := range s.Seeds {
		if len(steps) == 0 {
			return nil
		}
		end = min(end, steps[len(steps)-1].Rounds)
		for _, p := range steps {
			grid[p.Rounds] = true
		}
	}
	var out []figure.Point
	for _, x := range slices.Sorted(maps.Keys(grid)) {
		values := list.Of(slices.Sorted(maps.Keys(s.Seeds)), func(seed int) float64 { return at(s.Seeds[seed], x) })
		if m := stats.Of(values); x <= end && !math.IsNaN(m.Mean) {
			out = append(out, figure.Point{X: float64(x), Y: m.Mean, Half: m.Half})
		}
	}
	return out
}
