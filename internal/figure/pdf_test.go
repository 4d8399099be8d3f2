package figure

import (
	"strings"
	"testing"
)

// TestPDFIsOfTheFigureAlone draws text and lines, with fonts, and the same bytes each time.
func TestPDFIsOfTheFigureAlone(t *testing.T) {
	lines := []Line{{Name: "a", Points: []Point{{0, 1, 0.1}, {1, 2, 0.2}}}}
	f := &Figure{Name: "t", Title: "Größe ± 1", Panels: []Panel{{Y: Axis{Label: "error"}, Lines: lines}}}
	first := write(t, f, PDF, Light)
	for _, want := range []string{"%PDF-", "/FontFile2", "/MediaBox"} {
		if !strings.Contains(first, want) {
			t.Errorf("no %s", want)
		}
	}
	if again := write(t, f, PDF, Dark); again != first {
		t.Error("another file of the same figure")
	}
}
