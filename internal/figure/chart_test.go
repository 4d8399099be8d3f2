package figure

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"math"
	"strings"
	"testing"
)

// charts are a figure of each kind that is no line.
func charts() map[string]*Figure {
	mark := 2.5
	of := func(name string, p Panel) *Figure { return &Figure{Name: name, Title: name, Panels: []Panel{p}} }
	return map[string]*Figure{
		"heat": of("heat", Panel{X: Axis{Label: "round"}, Y: Axis{Label: "entry"}, Heat: &Heat{
			Of: "theta", Columns: []string{"1", "2", "3"}, Rows: []string{"a", "b"},
			Cells: [][]float64{{0, 0.5, 1}, {0.25, math.NaN(), 1}},
		}}),
		"spans": of("spans", Panel{X: Axis{Label: "minutes", Zero: true}, Spans: &Spans{
			Row: "trial", Rows: []string{"trial 0", "trial 1"}, Classes: []string{"trains", "failed"},
			Spans: []Span{{Row: 0, From: 1, To: 3, Mark: &mark}, {Row: 1, Class: 1, From: 2, To: 2}},
		}}),
		"paths": of("paths", Panel{Paths: &Paths{
			Of: "score", Axes: []PathAxis{
				{Axis: Axis{Label: "lr", Log: true}},
				{Axis: Axis{Label: "optimizer"}, Names: []string{"sgd", "adam"}},
				{Axis: Axis{Label: "score"}},
			},
			Paths: []Path{
				{Name: "trial 0", At: []float64{1e-3, 1, 0.5}, Value: 0.5, Bold: true},
				{Name: "trial 1", At: []float64{0.1, 0, math.NaN()}, Value: math.NaN()},
			},
		}}),
		"dots": of("dots", Panel{
			X: Axis{Label: "lr", Log: true}, Y: Axis{Label: "score"},
			Dots: []Dots{{Name: "a trial", Points: []Dot{{1, 5, "trial 1"}, {0.1, 7, "trial 0"}}}},
		}),
	}
}

func TestCharts(t *testing.T) {
	for name, want := range map[string]struct{ texts, desc, csv, table string }{
		"heat": {
			"theta from 0 to 1", "Heat map of theta for 3 values of round and 2 of entry: from 0 to 1.",
			"[[entry 1 2 3] [a 0 0.5 1] [b 0.25  1]]", "theta",
		},
		"spans": {
			"failed", "2 stretches of minutes in 2 rows, one per trial.",
			"[[trial what from to mark] [trial 0 trains 1 3 2.5] [trial 1 failed 2 2 ]]", "minutes",
		},
		"paths": {
			"adam", "Parallel coordinates of 2 paths across 3 axes: lr, optimizer, score.",
			"[[path lr optimizer score] [trial 0 0.001 adam 0.5] [trial 1 0.1 sgd ]]", "score",
		},
		"dots": {
			"a trial", "2 dots: a trial.",
			"[[panel line run lr value half_interval] [score a trial trial 1 1 5 ] [score a trial trial 0 0.1 7 ]]", "score",
		},
	} {
		f := charts()[name]
		svg := write(t, f, SVG, Light)
		e, texts := parse(t, svg)
		if !strings.Contains(texts, want.texts) || !strings.Contains(e.Desc, want.desc) || strings.Contains(svg, "NaN") {
			t.Errorf("%s: texts %q, described as %q", name, texts, e.Desc)
		}
		if _, night, _ := strings.Cut(e.Style, "@media"); strings.Contains(night, "fill:}") ||
			strings.Contains(night, "fill:;") {
			t.Errorf("%s: a colour without a dark one: %s", name, night)
		}
		for _, theme := range []Theme{Light, Dark} {
			if write(t, f, PNG, theme) == "" {
				t.Errorf("%s: no picture", name)
			}
		}
		rows, err := csv.NewReader(strings.NewReader(write(t, f, CSV, Light))).ReadAll()
		if err != nil || fmt.Sprint(rows) != want.csv {
			t.Errorf("%s: rows %v, %v", name, rows, err)
		}
		if tables := f.Tables(); len(tables) != 1 || tables[0].Title != want.table || len(tables[0].Rows) != 2 {
			t.Errorf("%s: tables %+v", name, tables)
		}
	}
}

func TestChartsRefuse(t *testing.T) {
	for want, change := range map[string]func(map[string]*Figure) *Figure{
		"heat: row a has 1 numbers, want 3": func(all map[string]*Figure) *Figure {
			all["heat"].Panels[0].Heat.Cells[0] = []float64{1}
			return all["heat"]
		},
		"spans: trial 1 has a span that does not go from left to right": func(all map[string]*Figure) *Figure {
			all["spans"].Panels[0].Spans.Spans[1].To = 1
			return all["spans"]
		},
		`paths: trial 0: 0 has no place on the axis "lr"`: func(all map[string]*Figure) *Figure {
			all["paths"].Panels[0].Paths.Paths[0].At[0] = 0
			return all["paths"]
		},
		`dots: a trial: 0 has no place on the logarithmic axis "lr": must be above 0`: func(all map[string]*Figure) *Figure {
			all["dots"].Panels[0].Dots[0].Points[0].X = 0
			return all["dots"]
		},
	} {
		var out bytes.Buffer
		if err := change(charts()).Write(&out, SVG, Light); err == nil || err.Error() != want {
			t.Errorf("error %v, want %s", err, want)
		}
	}
}

// TestLineTables lays lines and what they are means of side by side.
func TestLineTables(t *testing.T) {
	f := &Figure{Panels: []Panel{{X: Axis{Label: "round"}, Y: Axis{Label: "error"}, Lines: []Line{
		{Name: "one", Points: []Point{{1, 5, 0}, {2, 4, 0.5}}, Runs: [][]Point{{{2, 3, 0}}}, Names: []string{"seed 7"}},
		{Name: "two", Points: []Point{{3, 1, 0}}},
	}}}}
	want := "[{error [round one one, half of the interval one, seed 7 two] [[1 5 0  ] [2 4 0.5 3 ] [3    1]]}]"
	if got := fmt.Sprint(f.Tables()); got != want {
		t.Errorf("tables %s, want %s", got, want)
	}
}
