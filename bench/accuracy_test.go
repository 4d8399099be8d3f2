package bench_test

import (
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/fedfast/fedfast/bench"
	"github.com/fedfast/fedfast/fl"
	"github.com/fedfast/fedfast/nn"
)

// TestRunAccuracy trains every method for some rounds.
func TestRunAccuracy(t *testing.T) {
	report, err := bench.Run(t.Context(), bench.Config{Suites: []string{"accuracy"}, Workers: 2, Quick: true}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(report.Results) != len(fl.Methods())+2 {
		t.Fatalf("%d results of %d methods and 2 studies", len(report.Results), len(fl.Methods()))
	}
	for i, r := range report.Results[:len(fl.Methods())] {
		a := r.Accuracy
		if a == nil || r.Name != fl.Methods()[i] || r.Seconds <= 0 || r.SamplesPerSecond <= 0 || a.Data != "glyphs" || a.Rounds < 1 || len(a.Curve) != a.Rounds {
			t.Fatalf("result %+v of %+v", a, r)
		}
		global, personal := a.GlobalError.Mean, a.PersonalizedError.Mean
		if !(a.FirstLoss > 0) || !(a.LastLoss.Mean > 0) || global < 0 || global > 1 || personal < 0 || personal > 1 || a.Dropped > 0 {
			t.Errorf("%s: %+v", r.Name, *a)
		}
		if !(a.LastLoss.Mean < a.FirstLoss) {
			t.Errorf("%s: the training loss goes from %v to %v: nothing learns", r.Name, a.FirstLoss, a.LastLoss.Mean)
		}
	}
	for _, r := range report.Results[len(fl.Methods()):] {
		if d := r.Decisions; d == nil || d.Trials != 9 || d.Seeds != 1 || !(d.TestError.Mean > 0) || !(d.TestError.Mean < 1) || r.Seconds <= 0 {
			t.Errorf("%s: %+v", r.Name, d)
		}
	}
	if row := strings.Join(report.Table()[1], " "); !strings.Contains(row, ", personalized ") {
		t.Errorf("the table does not tell of accuracies: %s", row)
	}
}

// TestAccuracyInBothPrecisions pairs the seeds of both, and goes on from a folder
// that keeps some of them.
func TestAccuracyInBothPrecisions(t *testing.T) {
	if err := nn.BF16.Check(); err != nil {
		t.Skip(err)
	}
	cfg := bench.Config{
		Suites: []string{"accuracy"}, Workers: 1, Quick: true, Rows: regexp.MustCompile("^(fedavg|fedex) "), Precisions: []nn.Precision{nn.FP32, nn.BF16},
		Seeds: 2, Keep: t.TempDir(),
	}
	run := func() []bench.Result {
		report, err := bench.Run(t.Context(), cfg, nil)
		if err != nil {
			t.Fatal(err)
		}
		if len(report.Results) != 4 {
			t.Fatalf("%d results of two rows in two precisions", len(report.Results))
		}
		return report.Results
	}
	results := run()
	a, b := results[0].Accuracy, results[1].Accuracy
	if d := b.Against; a.Against != nil || d == nil || math.Abs(b.GlobalError.Mean-a.GlobalError.Mean-d.GlobalError.Mean) > 1e-12 || a.GlobalError.Half <= 0 {
		t.Errorf("%+v and %+v, which differs by %+v", a, b, d)
	}
	if d := results[3].Decisions; !d.Compared || d.Seeds != 2 || d.SameTrials < d.SameRungs*d.Trials || d.SameSurvivor > 0 && d.ThetaCompared == 0 {
		t.Errorf("the decisions are %+v", d)
	}
	kept, err := filepath.Glob(filepath.Join(cfg.Keep, "fedavg-*.json"))
	if err != nil || len(kept) != 4 {
		t.Fatalf("%v are kept: %v", kept, err)
	}
	if err := os.Remove(kept[0]); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(kept[1], []byte(`{"losses": [7, 7, 7, 7], "rounds": 4, "examples": 8, "round_seconds": 1}`), 0o600); err != nil {
		t.Fatal(err)
	}
	again := run()
	if x := again[0].Accuracy.FirstLoss + again[1].Accuracy.FirstLoss - a.FirstLoss - b.FirstLoss; !(x > 1) {
		t.Errorf("what is kept was trained again: the losses differ by %v", x)
	}
	if err := os.WriteFile(kept[0], []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := bench.Run(t.Context(), cfg, nil); err == nil || !strings.Contains(err.Error(), kept[0]) {
		t.Errorf("error %v of a damaged file", err)
	}
}
