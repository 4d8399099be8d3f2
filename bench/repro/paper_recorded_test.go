package repro

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestPaper looks up each row of the tables of the draft of a paper in the file that its last
// column links: one line there begins with the same name and has all its numbers.
func TestPaper(t *testing.T) {
	folder := filepath.Join("..", "results", "paper")
	text, err := os.ReadFile(filepath.Join(folder, "paper.md"))
	if err != nil {
		t.Fatal(err)
	}
	if words := len(strings.Fields(string(text))); words > 1500 {
		t.Errorf("the draft has %d words; 1500 fit on its pages", words)
	}
	rows := 0
	form := regexp.MustCompile(`(?m)^\| ([^|]+) \|(.*)\| \[[^]]+\]\(([^)]+)\) \|$`)
	for _, row := range form.FindAllStringSubmatch(string(text), -1) {
		rows++
		source, err := os.ReadFile(filepath.Join(folder, filepath.FromSlash(row[3])))
		if err != nil {
			t.Fatal(err)
		}
		found, cells := false, strings.Split(row[2], "|")
		for line := range strings.Lines(string(source)) {
			found = found || strings.HasPrefix(line, "| "+row[1]) && hasAll(strings.Split(line, "|"), cells)
		}
		if !found {
			t.Errorf("%s has no line of %q with%s", row[3], row[1], row[2])
		}
	}
	if rows < 14 {
		t.Errorf("%d rows name a file, want 14", rows)
	}
}

// hasAll says whether cells come in a line in this order, others between.
func hasAll(line, cells []string) bool {
	for _, cell := range line {
		if len(cells) > 0 && strings.TrimSpace(cells[0]) == strings.TrimSpace(cell) {
			cells = cells[1:]
		}
	}
	return len(cells) == 0 || len(cells) == 1 && strings.TrimSpace(cells[0]) == ""
}
