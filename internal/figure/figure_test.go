package figure

import (
	"bytes"
	"encoding/csv"
	"encoding/xml"
	"errors"
	"fmt"
	"image/color"
	"image/png"
	"io"
	"math"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// write returns a figure in a form, and fails where twice the same figure gives
// other bytes.
func write(t *testing.T, f *Figure, form Form, theme Theme) string {
	t.Helper()
	var texts [2]bytes.Buffer
	for i := range texts {
		if err := f.Write(&texts[i], form, theme); err != nil {
			t.Fatal(err)
		}
	}
	if !bytes.Equal(texts[0].Bytes(), texts[1].Bytes()) {
		t.Errorf("%s: two drawings differ", form)
	}
	return texts[0].String()
}

// element is what the tests read of an SVG.
type element struct {
	Role  string `xml:"role,attr"`
	By    string `xml:"aria-labelledby,attr"`
	Title string `xml:"title"`
	Desc  string `xml:"desc"`
	Style string `xml:"style"`
}

func parse(t *testing.T, svg string) (e element, texts string) {
	t.Helper()
	if err := xml.Unmarshal([]byte(svg), &e); err != nil {
		t.Fatalf("%v\n%s", err, svg)
	}
	inText := false
	for d := xml.NewDecoder(strings.NewReader(svg)); ; {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return e, texts
		}
		if err != nil {
			t.Fatal(err)
		}
		switch x := token.(type) {
		case xml.StartElement:
			inText = x.Name.Local == "text"
		case xml.EndElement:
			inText = false
		case xml.CharData:
			if inText {
				texts += string(x) + "\n"
			}
		}
	}
}

func lines() *Figure {
	var points []Point
	for x := range 40 {
		points = append(points, Point{X: float64(x), Y: 50 + 40*math.Sin(float64(x)/9), Half: 3})
	}
	points[7].Y = math.NaN()
	return &Figure{
		Name: "a b", Title: `errors of <a> & "b"`, Note: "where from",
		Panels: []Panel{
			{
				X: Axis{Label: "rounds", Zero: true}, Y: Axis{Label: "test error, %"},
				Lines: []Line{{Name: "one", Points: points, Runs: [][]Point{points}}},
			},
			{
				X: Axis{Label: "lr", Log: true}, Y: Axis{Label: "loss", Log: true},
				Lines: []Line{{Name: "two\x01", Points: []Point{{1e-4, 1e-2, 0}, {1, 300, 0}}, Step: true}},
			},
		},
	}
}

func TestWriteSVG(t *testing.T) {
	svg := write(t, lines(), SVG, Light)
	e, texts := parse(t, svg)
	if e.Role != "img" || e.By != "figure-a-b-title figure-a-b-desc" || e.Title != `errors of <a> & "b"` {
		t.Errorf("%+v", e)
	}
	for _, want := range []string{
		"errors of", "rounds", "test error, %", "one", "two\ufffd",
		"where from", "100", "0.001",
	} {
		if !strings.Contains(texts, want) {
			t.Errorf("no %q in %q", want, texts)
		}
	}
	if !strings.Contains(e.Desc, "one: from 50 at 0 to") || !strings.Contains(e.Desc, "where from") {
		t.Errorf("described as %q", e.Desc)
	}
	_, night, dark := strings.Cut(e.Style, "@media (prefers-color-scheme:dark){")
	if !dark || !strings.Contains(e.Style, css(palettes[Light].back)) || strings.Contains(night, ":;") ||
		strings.Contains(night, ":}") {
		t.Errorf("styles %s", e.Style)
	}
	for _, c := range []color.Color{
		palettes[Dark].back, palettes[Dark].text,
		palettes[Dark].lines[0], palettes[Dark].lines[1],
	} {
		if want := css(c); !strings.Contains(night, want) {
			t.Errorf("no %s in the dark theme: %s", want, night)
		}
	}
	if strings.Contains(svg, "style=") || strings.Contains(svg, "NaN") {
		t.Error("a style of one element, or a point that is no point")
	}
}

func TestWritePNG(t *testing.T) {
	for theme, p := range palettes {
		img, err := png.Decode(strings.NewReader(write(t, lines(), PNG, theme)))
		if err != nil {
			t.Fatal(err)
		}
		if got := css(img.At(1, 1)); got != css(p.back) || img.Bounds().Dx() != (2*panelWidth+2*margin)*300/72 {
			t.Errorf("theme %d: background %s, size %v", theme, got, img.Bounds())
		}
		seen := map[string]bool{}
		for y := 0; y < img.Bounds().Dy(); y += 2 {
			for x := 0; x < img.Bounds().Dx(); x += 2 {
				seen[css(img.At(x, y))] = true
			}
		}
		if !seen[css(p.lines[0])] || !seen[css(p.lines[1])] {
			t.Errorf("theme %d: a line is not there", theme)
		}
	}
}

func TestWriteCSV(t *testing.T) {
	rows, err := csv.NewReader(strings.NewReader(write(t, lines(), CSV, Light))).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	if len(rows) != 1+2*39+2 {
		t.Errorf("%d rows", len(rows))
	}
	if got := fmt.Sprint(rows[1], rows[40],
		rows[80]); got != "[test error, % one  0 50 3] [test error, % one 1 0 50 3] [loss two\x01  1 300 ]" {
		t.Errorf("rows %s", got)
	}
}

// bars returns a bar chart with the given numbers of clients and classes.
func bars(clients, classes int) *Figure {
	b := &Bars{Unit: "client", Class: "class"}
	for i := range clients {
		x := Bar{Name: fmt.Sprint("c", i), Counts: make([]int, classes)}
		x.Counts[i%classes] = 10 + i
		x.Counts[0] += 5
		b.Bars = append(b.Bars, x)
	}
	return &Figure{Name: "bars", Title: "bars", Panels: []Panel{{Y: Axis{Label: "examples"}, Bars: b}}}
}

func TestBars(t *testing.T) {
	tests := []struct {
		clients, classes int
		texts, desc      string
		without          string
	}{
		{3, 2, "class 1", "by class for 3 clients, in their order; the tallest has 17.", "class 2"},
		{12, 10, "class 9", "12 clients", "class 10"},
		{3550, 62, "240 of 3,550 clients", "the tallest has 3,550", "class 60"},
	}
	for _, tt := range tests {
		f := bars(tt.clients, tt.classes)
		e, texts := parse(t, write(t, f, SVG, Light))
		if !strings.Contains(texts, tt.texts) || !strings.Contains(e.Desc, tt.desc) ||
			strings.Contains(texts, tt.without+"\n") {
			t.Errorf("%d x %d: texts %q, described as %q", tt.clients, tt.classes, texts, e.Desc)
		}
		if strings.Contains(e.Style, "fill:}") {
			t.Errorf("a class without a dark colour: %s", e.Style)
		}
		rows, err := csv.NewReader(strings.NewReader(write(t, f, CSV, Light))).ReadAll()
		if err != nil || len(rows) != 1+tt.clients || len(rows[0]) != 1+tt.classes ||
			rows[0][1] != "class 0" || rows[1][0] != "c0" {
			t.Errorf("%d rows, %v, %v", len(rows), rows[0], err)
		}
	}
}

func TestWriteErrors(t *testing.T) {
	one := func(x, y Axis, points ...Point) *Figure {
		return &Figure{Title: "t", Panels: []Panel{{X: x, Y: y, Lines: []Line{{Name: "l", Points: points}}}}}
	}
	uneven := bars(2, 3)
	uneven.Panels[0].Bars.Bars[1].Counts = []int{1}
	negative := bars(2, 3)
	negative.Panels[0].Bars.Bars[1].Counts[0] = -1
	tests := []struct {
		f    *Figure
		want string
	}{
		{&Figure{Title: "t"}, "t: nothing to draw"},
		{one(Axis{}, Axis{}, Point{1, math.NaN(), 0}), "t: nothing to draw"},
		{one(Axis{}, Axis{}, Point{1, math.Inf(1), 0}), "t: l: the point (1, +Inf) is not finite"},
		{
			one(Axis{Label: "lr", Log: true}, Axis{}, Point{0, 1, 0}),
			`t: l: 0 has no place on the logarithmic axis "lr": must be above 0`,
		},
		{
			one(Axis{}, Axis{Label: "loss", Log: true}, Point{1, -1, 0}),
			`t: l: -1 has no place on the logarithmic axis "loss": must be above 0`,
		},
		{one(Axis{}, Axis{}, Point{2, 1, 0}, Point{1, 1, 0}), "t: l: points must be sorted by x: 1 stands after 2"},
		{&Figure{Title: "t", Panels: []Panel{{Bars: &Bars{}}}}, "t: nothing to draw"},
		{uneven, "bars: c1 has 1 classes, others 3"},
		{negative, "bars: c1 has less than nothing of a class"},
	}
	for _, tt := range tests {
		for _, form := range []Form{SVG, PNG, PDF, CSV} {
			var out bytes.Buffer
			if err := tt.f.Write(&out, form, Light); err == nil || err.Error() != tt.want || out.Len() > 0 {
				t.Errorf("%s: error %v, want %s", form, err, tt.want)
			}
		}
	}
}

// TestWriteAnyRange draws values that leave little room for ticks.
func TestWriteAnyRange(t *testing.T) {
	for _, ys := range [][]float64{
		{0, 0},
		{5, 5},
		{-3, -3},
		{1e-12, 2e-12},
		{1e12, 3e12},
		{100, 100.0001},
		{-1e300, 1e300},
		{5e-324, 1e-323},
		{7},
	} {
		for _, log := range []bool{false, true} {
			if log && ys[0] <= 1e-300 {
				continue
			}
			var points []Point
			for i, y := range ys {
				points = append(points, Point{X: float64(i + 1), Y: y})
			}
			f := &Figure{Title: "t", Panels: []Panel{{
				X: Axis{Log: log}, Y: Axis{Log: log},
				Lines: []Line{{Name: "l", Points: points}},
			}}}
			if svg := write(t, f, SVG, Light); strings.Contains(svg, "NaN") || strings.Contains(svg, "Inf") {
				t.Errorf("%v, log %v: drawn beyond numbers", ys, log)
			}
		}
	}
}

func TestFormOf(t *testing.T) {
	for path, want := range map[string]Form{
		"a.svg": SVG, "a.b/c.PNG": PNG, "x.csv": CSV,
		"none": SVG, "/dev/stdout": SVG,
	} {
		if got, err := FormOf(path); err != nil || got != want {
			t.Errorf("%s: %q, %v", path, got, err)
		}
	}
	if _, err := FormOf("a.eps"); err == nil ||
		err.Error() != "a.eps: the name of a picture ends in .svg, .png or .pdf, that of its numbers in .csv" {
		t.Errorf("error %v", err)
	}
}

func TestTicks(t *testing.T) {
	tests := []struct {
		axis   Axis
		lo, hi float64
		want   string
	}{
		{Axis{}, 0.2, 0.9, "0.2 0.4 0.6 0.8 1.0"},
		{Axis{Zero: true}, 7.2, 8.3, "0 2 4 6 8 10"},
		{Axis{}, -5, 12_000, "-5,000 0 5,000 10,000 15,000"},
		{Axis{Log: true}, 1, 10_000, "1 10 100 1,000 10,000"},
		{Axis{Log: true}, 0.03, 0.4, "0.02 0.05 0.1 0.2 0.5"},
		{Axis{}, 0, 0, "0.0 0.2 0.4 0.6 0.8 1.0"},
		{Axis{Log: true}, 1e-9, 1, "1e-9 1e-7 0.00001 0.001 0.1"},
		{Axis{Log: true}, 3, 3, "2 5"},
	}
	for _, tt := range tests {
		s := tt.axis.layOut(tt.lo, tt.hi, mostY)
		var labels []string
		for _, tick := range s.ticks {
			if tick.label != "" {
				labels = append(labels, tick.label)
			}
		}
		if got := strings.Join(labels, " "); got != tt.want || s.lo > tt.lo || s.hi < tt.hi {
			t.Errorf("%v to %v: ticks %q, want %q; ends %v, %v", tt.lo, tt.hi, got, tt.want, s.lo, s.hi)
		}
	}
}

// TestNamedPlaces draws values of a setting that have names: each name below its place,
// a bar for each interval, and the names in the tables.
func TestNamedPlaces(t *testing.T) {
	names := []string{"constant", "adaptive", "0.1"}
	f := &Figure{Title: "t", Panels: []Panel{
		{Title: "schedule", X: Axis{Label: "schedule", Names: names}, Y: Axis{Label: "gain, points"}, Lines: []Line{
			{Name: "global", Points: []Point{{X: 1, Y: 2, Half: 3}, {X: 3, Y: -1, Half: 1.5}}},
			{Name: "personalized", Points: []Point{{X: 2, Y: 0.5}}},
		}},
		{
			Title: "eps", X: Axis{Label: "eps"}, Y: Axis{Label: "gain, points"},
			Lines: []Line{{Name: "global", Points: []Point{{X: 0.5, Y: 1}}}},
		},
	}}
	var svg, csv bytes.Buffer
	if err := errors.Join(f.Write(&svg, SVG, Light), f.Write(&csv, CSV, Light)); err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		if !strings.Contains(svg.String(), ">"+name+"<") {
			t.Errorf("no %s in the picture", name)
		}
	}
	if !strings.Contains(svg.String(), "global: from 2 at constant to -1 at 0.1") {
		t.Error("the places are not described by their names")
	}
	if want := "panel,line,run,x,value,half_interval\n\"schedule: gain, points\",global,,constant,2,3\n\"schedule: gain, points\",global,,0.1,-1,1.5\n\"schedule: gain, points\",personalized,,adaptive,0.5,\n\"eps: gain, points\",global,,0.5,1,\n"; csv.String() != want {
		t.Errorf("%s\nwant\n%s", csv.String(), want)
	}
	tables := f.Tables()
	if len(tables) != 2 || tables[0].Title != "schedule: gain, points" ||
		fmt.Sprint(tables[0].Rows) != "[[constant 2 3 ] [adaptive   0.5] [0.1 -1 1.5 ]]" {
		t.Errorf("%+v", tables)
	}
	without := *f
	without.Panels = slices.Clone(f.Panels)
	without.Panels[0].Lines = []Line{
		{Name: "global", Points: []Point{{X: 1, Y: 2}, {X: 3, Y: -1}}},
		{Name: "personalized", Points: []Point{{X: 2, Y: 0.5}}},
	}
	var bare bytes.Buffer
	if err := without.Write(&bare, SVG, Light); err != nil {
		t.Fatal(err)
	}
	if with, bare := strings.Count(svg.String(), "<path"), strings.Count(bare.String(), "<path"); with != bare+2*3 { // a bar and two caps for each interval
		t.Errorf("%d strokes with two intervals, %d without", with, bare)
	}
	for _, x := range []float64{0, 1.5, 4} {
		f.Panels[0].Lines = []Line{{Name: "l", Points: []Point{{X: x, Y: 1}}}}
		if err := f.Write(&bytes.Buffer{}, SVG, Light); err == nil || !strings.Contains(err.Error(),
			"is no place on the axis \"schedule\", which has 3") {
			t.Errorf("at %v: %v", x, err)
		}
	}
	f.Panels[0].Lines = []Line{{Name: "l", Points: []Point{{X: 1, Y: 1}, {X: 3, Y: math.NaN()}}}}
	if tables := f.Tables(); fmt.Sprint(tables[0].Rows) != "[[constant 1] [0.1 ]]" {
		t.Errorf("%+v", tables[0].Rows)
	}
	f.Panels[0].Dots = []Dots{{Name: "d", Points: []Dot{{X: 1, Y: 1}}}}
	if err := f.Write(&bytes.Buffer{}, SVG, Light); err == nil || !strings.Contains(err.Error(),
		"no place for runs and dots") {
		t.Errorf("dots: %v", err)
	}
}

// TestBandsOnALogarithmicAxis lays out intervals that reach below 0, which have no end there.
func TestBandsOnALogarithmicAxis(t *testing.T) {
	f := &Figure{Title: "t", Panels: []Panel{{
		Y:     Axis{Log: true, Bands: true},
		Lines: []Line{{Name: "l", Points: []Point{{X: 1, Y: 1, Half: 2}, {X: 2, Y: 40, Half: 30}}}},
	}}}
	_, y := f.sheet(Light).scales(&f.Panels[0])
	if y.lo > 1 || y.lo <= 0 || y.hi < 70 {
		t.Errorf("from %v to %v", y.lo, y.hi)
	}
}

// TestPanelsInRows has up to three panels side by side, four in two rows and more
// than that three to a row; those of a column are below each other.
func TestPanelsInRows(t *testing.T) {
	title := regexp.MustCompile(`<text x="([0-9.]+)" y="([0-9.]+)"[^>]*>panel<`)
	for panels, across := range []int{1: 1, 2, 3, 2, 3, 3, 3} {
		if panels == 0 {
			continue
		}
		f := &Figure{Name: "rows", Title: "rows"}
		for range panels {
			f.Panels = append(f.Panels, Panel{
				Title: "panel",
				Lines: []Line{{Name: "a", Points: []Point{{X: 1, Y: 2}, {X: 2, Y: 3}}}},
			})
		}
		titles := title.FindAllStringSubmatch(write(t, f, SVG, Light), -1)
		if len(titles) != panels {
			t.Fatalf("%d titles of %d panels", len(titles), panels)
		}
		for i := range titles {
			for j := range i {
				sameX, sameY := titles[i][1] == titles[j][1], titles[i][2] == titles[j][2]
				if sameX != (i%across == j%across) || sameY != (i/across == j/across) {
					t.Errorf("%d panels: panel %d is at %v, panel %d at %v", panels, i, titles[i][1:], j, titles[j][1:])
				}
			}
		}
	}
}

// TestNarrow draws panels one below the other on a phone, and leaves out numbers that would overlap.
func TestNarrow(t *testing.T) {
	line := Line{Name: "a", Points: []Point{{X: 0.001, Y: 1}, {X: 0.006, Y: 2}}}
	panel := Panel{X: Axis{Label: "x"}, Y: Axis{Label: "y"}, Lines: []Line{line}}
	heights := map[float64]float64{}
	for _, width := range []float64{1300, 340} {
		f := &Figure{Name: "narrow", Title: "Narrow", Width: 1300, Panels: []Panel{panel, panel, panel}}
		f.Narrow(width)
		heights[width] = f.sheet(Light).height
		var text strings.Builder
		if err := f.Write(&text, SVG, Light); err != nil {
			t.Fatal(err)
		}
		if told := strings.Contains(text.String(), ">0.002<"); told != (width == 1300) {
			t.Errorf("%v points: 0.002 is told: %t", width, told)
		}
	}
	if heights[340] < 1.5*heights[1300] {
		t.Errorf("heights %v", heights)
	}
	parallel := &Figure{Width: 1300, Panels: []Panel{{Heat: &Heat{}}}}
	if parallel.Narrow(340); parallel.Width != manyWidth {
		t.Errorf("a map of %v points", parallel.Width)
	}
}
