package repro

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"testing"
)

// TestPicture reads the picture of a curve: a line for each trial and each mean, in the field, and the names.
func TestPicture(t *testing.T) {
	step := func(rounds int, value float64) Step { return Step{Rounds: rounds, Value: value, Test: math.NaN()} }
	c := Curve{Title: "a <title> & more", YLabel: "test accuracy, %", Series: []Series{
		{Name: "fedavg", Trials: map[int][]Step{1: {step(10, 20), step(200, 61.5)}, 2: {step(10, math.NaN()), step(50, 30), step(180, 55)}}},
		{Name: "fathom", Trials: map[int][]Step{1: {step(10, 40), step(4000, 82)}}},
		{Name: "not yet", Trials: map[int][]Step{}},
	}}
	var b strings.Builder
	if err := c.WriteSVG(&b); err != nil {
		t.Fatal(err)
	}
	lines, texts := 0, []string{}
	for d := xml.NewDecoder(strings.NewReader(b.String())); ; {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		switch x := token.(type) {
		case xml.CharData:
			if text := strings.TrimSpace(string(x)); text != "" {
				texts = append(texts, text)
			}
		case xml.StartElement:
			if x.Name.Local != "polyline" {
				continue
			}
			lines++
			for point := range strings.FieldsSeq(x.Attr[0].Value) {
				var px, py float64
				if _, err := fmt.Sscanf(point, "%f,%f", &px, &py); err != nil || px < left || px > left+fieldWidth || py < top || py > top+fieldHeight {
					t.Errorf("the point %s lies outside", point)
				}
			}
		}
	}
	if lines != 5 {
		t.Errorf("%d lines", lines)
	}
	for _, want := range []string{"a <title> & more", "test accuracy, %", "rounds of the study", "fedavg (2 trials)", "fathom (1 trial)", "4000", "80"} {
		if !slices.Contains(texts, want) {
			t.Errorf("%q is not among %q", want, texts)
		}
	}
}

func TestTicks(t *testing.T) {
	for _, span := range [][2]float64{{0, 1}, {0, 4000}, {0, 7}, {61.2, 63.9}, {-3, 1e-3}, {0.5, 1.5}} {
		got := ticks(span[0], span[1])
		if len(got) < 3 || len(got) > 7 || got[0] < span[0] || got[len(got)-1] > span[1] {
			t.Errorf("%v to %v has the ticks %v", span[0], span[1], got)
		}
	}
	var b strings.Builder
	if err := (Curve{}).WriteSVG(&b); err != nil || !strings.HasSuffix(b.String(), "</svg>\n") {
		t.Errorf("an empty curve: %v, %q", err, b.String())
	}
}
