package repro

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"testing"
)

// TestTablesAreThoseRecorded makes every table of papers.md that `repro merge` writes
// again from the recorded metrics.
func TestTablesAreThoseRecorded(t *testing.T) {
	if runtime.GOARCH != "amd64" {
		t.Skip("the last digit of an interval may be another one where multiply-adds are fused")
	}
	page, err := os.ReadFile(filepath.Join("..", "..", "bench", "results", "papers.md"))
	if err != nil {
		t.Fatal(err)
	}
	found := recorded(t)
	commands := regexp.MustCompile(`repro merge bench/results/(\S+) --name (\S+) --markdown bench/results/(\S+\.md)`).FindAllSubmatch(page, -1)
	if len(commands) < 9 {
		t.Fatalf("papers.md has %d commands that write a table", len(commands))
	}
	claims, err := AbstractClaims(found)
	if err != nil {
		t.Fatal(err)
	}
	var top bytes.Buffer
	claims.WriteMarkdown(&top)
	if !bytes.Contains(page, top.Bytes()) {
		t.Errorf("the claims at the top of papers.md are stale: `repro merge bench/results/repro --claims` writes\n%s", &top)
	}
	for _, c := range commands {
		cells, err := Select(string(c[2]))
		if err != nil {
			t.Fatal(err)
		}
		from := found
		if folder := string(c[1]); folder != "repro" {
			if from, err = Find(filepath.Join(results, folder)); err != nil {
				t.Fatal(err)
			}
		}
		report, err := NewReport(cells, from)
		if err != nil {
			t.Fatal(err)
		}
		var text bytes.Buffer
		report.WriteMarkdown(&text)
		if recorded, err := os.ReadFile(filepath.Join("..", "..", "bench", "results", string(c[3]))); err != nil || !bytes.Equal(text.Bytes(), recorded) {
			t.Errorf("%s is stale: %s writes it (%v)", c[3], c[0], err)
		}
	}
}
