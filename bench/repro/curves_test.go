package repro

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/fedfast/fedfast/internal/figure"
	"github.com/fedfast/fedfast/internal/sys/oneline"
)

// TestCurvesAreThoseRecorded draws every curve of the recorded metrics, and
// compares the pictures with those beside them.
func TestCurvesAreThoseRecorded(t *testing.T) {
	report, err := NewReport(Cells(), recorded(t))
	if err != nil {
		t.Fatal(err)
	}
	drawn := 0
	for _, c := range report.Curves() {
		recorded, err := os.ReadFile(filepath.Join("..", "..", "bench", "results", "curves", c.Name+".svg"))
		if err != nil {
			continue // the pages of papers show some of them
		}
		drawn++
		var svg bytes.Buffer
		if err := errors.Join(c.Figure().Write(&svg, figure.SVG, figure.Light), c.WriteCSV(io.Discard)); err != nil {
			t.Fatal(err)
		}
		if runtime.GOARCH == "amd64" && !bytes.Equal(svg.Bytes(), recorded) {
			t.Errorf("%s.svg is stale: fedfast repro merge bench/results/repro --plot bench/results/curves draws it", c.Name)
		}
		for _, s := range c.Series {
			if want := ">" + s.Name + " (" + oneline.Count(len(s.Seeds), "seed") + ")<"; !strings.Contains(svg.String(), want) {
				t.Errorf("%s: no %s", c.Name, want)
			}
		}
	}
	recorded, err := filepath.Glob(filepath.Join("..", "..", "bench", "results", "curves", "*.svg"))
	if err != nil || drawn == 0 || drawn != len(recorded) {
		t.Errorf("%d pictures are drawn from the metrics, %d recorded, %v", drawn, len(recorded), err)
	}
}

// TestLosses: where the objective is the loss, scores are no errors in percent in curves.
func TestLosses(t *testing.T) {
	cells, err := Select("fedex-table1/cifar10-iid/sha/personalized")
	if err != nil {
		t.Fatal(err)
	}
	report, err := NewReport(cells, recorded(t))
	if err != nil {
		t.Fatal(err)
	}
	labels := map[string]string{}
	for _, c := range report.Curves() {
		var csv bytes.Buffer
		if err := c.WriteCSV(&csv); err != nil {
			t.Fatal(err)
		}
		head, _, _ := strings.Cut(csv.String(), "\n")
		labels[c.Variant] = c.YLabel + ": " + head
	}
	if got, want := labels["--scale 0.05 --as-paper"],
		"best personalized validation loss so far: method,seed,rounds,value,test_error_percent,variant"; got != want {
		t.Errorf("by loss: %q", got)
	}
	if got, want := labels["--scale 0.05"],
		"best personalized validation error so far, %: method,seed,rounds,value_percent,test_error_percent,variant"; got != want {
		t.Errorf("by error: %q", got)
	}
}
