package figure

import (
	"fmt"
	"strings"
	"testing"
)

// TestSpansSayWhatTheyAre draws more classes than there are colours: the texts of the
// spans tell them apart where there is room, and no legend names them.
func TestSpansSayWhatTheyAre(t *testing.T) {
	for classes, legend := range map[int]bool{3: true, 9: false} {
		s := &Spans{Row: "worker", Rows: []string{"a-1"}}
		for i := range classes {
			from := float64(i)
			s.Classes = append(s.Classes, fmt.Sprintf("trial %d", i))
			s.Spans = append(s.Spans, Span{Class: i, From: from, To: from + 0.9, Text: fmt.Sprintf("no%d", i)})
		}
		s.Spans[0].To = 0.01 // too narrow for a text
		f := &Figure{Title: "workers", Panels: []Panel{{X: Axis{Label: "seconds"}, Spans: s}}}
		_, texts := parse(t, write(t, f, SVG, Light))
		for i := range classes {
			if strings.Contains(texts, fmt.Sprintf("no%d", i)) != (i > 0) ||
				strings.Contains(texts, fmt.Sprintf("trial %d", i)) != legend {
				t.Errorf("%d classes: class %d in %q", classes, i, texts)
			}
		}
		if rows := f.Tables()[0].Rows; len(rows) != classes || rows[classes-1][1] != fmt.Sprintf("trial %d", classes-1) {
			t.Errorf("rows %q", rows)
		}
	}
}

// TestWholeAxis marks an axis of integers at those only.
func TestWholeAxis(t *testing.T) {
	for _, tt := range []struct {
		whole bool
		want  string
	}{{true, "1 2 3"}, {false, "1.0 1.5 2.0 2.5 3.0"}} {
		a := Axis{Whole: tt.whole}
		var labels []string
		for _, tick := range a.layOut(1, 3, mostY).ticks {
			labels = append(labels, tick.label)
		}
		if got := strings.Join(labels, " "); got != tt.want {
			t.Errorf("whole %v: %s, want %s", tt.whole, got, tt.want)
		}
	}
}
