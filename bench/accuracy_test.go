package bench_test

import (
	"strings"
	"testing"

	"github.com/fedfast/fedfast/bench"
	"github.com/fedfast/fedfast/fl"
)

// TestRunAccuracy trains every method for some rounds.
func TestRunAccuracy(t *testing.T) {
	report, err := bench.Run(t.Context(), bench.Config{Suites: []string{"accuracy"}, Workers: 2, Quick: true}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(report.Results) != len(fl.Methods()) {
		t.Fatalf("%d results of %d methods", len(report.Results), len(fl.Methods()))
	}
	for i, r := range report.Results {
		a := r.Accuracy
		if a == nil || r.Name != fl.Methods()[i] || r.Seconds <= 0 || r.SamplesPerSecond <= 0 || a.Data != "glyphs" || a.Rounds < 1 {
			t.Fatalf("result %+v of %+v", a, r)
		}
		if !(a.FirstLoss > 0) || !(a.LastLoss > 0) || a.GlobalError < 0 || a.GlobalError > 1 || a.PersonalizedError < 0 || a.PersonalizedError > 1 || a.Dropped > 0 {
			t.Errorf("%s: %+v", r.Name, *a)
		}
		if !(a.LastLoss < a.FirstLoss) {
			t.Errorf("%s: the training loss goes from %v to %v: nothing learns", r.Name, a.FirstLoss, a.LastLoss)
		}
	}
	if row := strings.Join(report.Table()[1], " "); !strings.Contains(row, ", personalized ") {
		t.Errorf("the table does not tell of accuracies: %s", row)
	}
}
