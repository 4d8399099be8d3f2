package repro

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fedfast/fedfast/fl/study/config"
)

func TestLargerScale(t *testing.T) {
	for x, want := range map[float64]float64{
		0.01: 0.011, 0.019: 0.02, 0.0995: 0.1, 0.0123: 0.013, 0.99: 1, 0.3: 0.31,
		1: 1,
	} {
		if got := LargerScale(x); math.Abs(got-want) > 1e-12 {
			t.Errorf("%v is followed by %v, want %v", x, got, want)
		}
	}
	for x := 1e-6; x < 1; {
		next := LargerScale(x)
		if !(next > x) {
			t.Fatalf("%v is followed by %v", x, next)
		}
		x = next
	}
}

// TestTooSmallScaleNamesOneThatWorks plans with what the error names.
func TestTooSmallScaleNamesOneThatWorks(t *testing.T) {
	training := &Training{
		Key: "t", Mode: config.ModeTune, Preset: "quickstart", Needs: "leaf-femnist", Seeds: 1,
		Shrink: shrinkFedex,
	}
	o := Options{Scale: 0.001, Data: t.TempDir()}
	if err := os.Mkdir(filepath.Join(o.Data, "train"), 0o700); err != nil {
		t.Fatal(err)
	}
	_, err := newJob(t.Context(), training, o, 1, "out")
	if err == nil {
		t.Fatal("a thousandth of the budget is accepted")
	}
	_, named, found := strings.Cut(err.Error(), "; --scale ")
	if _, scanned := fmt.Sscanf(named, "%g works", &o.Scale); !found || scanned != nil {
		t.Fatalf("%v names no scale", err)
	}
	if _, err := newJob(t.Context(), training, o, 1, "out"); err != nil {
		t.Errorf("at the scale of %q: %v", named, err)
	}
}
