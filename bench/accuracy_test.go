package bench_test

import (
	"cmp"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/fedfast/fedfast/bench"
	"github.com/fedfast/fedfast/fl/study/result"
	"github.com/fedfast/fedfast/nn"
)

// TestRunAccuracy trains methods for some rounds. The other rows differ from these in their
// method, whose tests are beside them.
func TestRunAccuracy(t *testing.T) {
	methods := []string{"ditto", "fedadam", "fedavg", "fednova", "fedtp", "heterofl", "maml", "scaffold"}
	report, err := bench.Run(t.Context(), bench.Config{
		Suites: []string{"accuracy"}, Workers: 2, Quick: true, Rows: regexp.MustCompile("^(" + strings.Join(methods, "|") + ") "),
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(report.Results) != len(methods) {
		t.Fatalf("%d results of %d methods", len(report.Results), len(methods))
	}
	for i, r := range report.Results {
		a := r.Accuracy
		if a == nil || r.Name != methods[i] || r.Seconds <= 0 || r.SamplesPerSecond <= 0 || a.Data != "fashion-small" || a.Rounds < 1 || len(a.Curve) != a.Rounds {
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
		Suites: []string{"accuracy"}, Workers: 1, Quick: true, Rows: regexp.MustCompile("^fedavg .*model=composed"), Precisions: []nn.Precision{nn.FP32, nn.BF16},
		Seeds: 2, Keep: t.TempDir(),
	}
	run := func() []bench.Result {
		report, err := bench.Run(t.Context(), cfg, nil)
		if err != nil {
			t.Fatal(err)
		}
		if len(report.Results) != 2 {
			t.Fatalf("%d results of one row in two precisions", len(report.Results))
		}
		return report.Results
	}
	results := run()
	a, b := results[0].Accuracy, results[1].Accuracy
	if d := b.Against; a.Against != nil || d == nil || math.Abs(b.GlobalError.Mean-a.GlobalError.Mean-d.GlobalError.Mean) > 1e-12 || a.GlobalError.Half <= 0 {
		t.Errorf("%+v and %+v, which differs by %+v", a, b, d)
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

// TestAccuracyOfOldReports reads what was recorded before errors had measures: its text shows
// errors in percent.
func TestAccuracyOfOldReports(t *testing.T) {
	report, err := bench.ReadReport("results/accuracy-zen5.json")
	if err != nil {
		t.Fatal(err)
	}
	rows := 0
	for _, r := range report.Results {
		if r.Accuracy == nil {
			continue
		}
		rows++
		text, _, _ := strings.Cut(r.Accuracy.String(), ";")
		if !strings.HasPrefix(text, "loss ") || !strings.Contains(text, "test error ") || !strings.Contains(text, " %") {
			t.Errorf("%s %s: %q", r.Name, r.Shape, text)
		}
		if want := "loss 4.143 to 3.342 ± 0.143, test error 78.9 ± 25.6 %, personalized 88.9 ± 11.5 %"; rows == 1 && text != want {
			t.Errorf("%s %s: %q, want %q", r.Name, r.Shape, text, want)
		}
	}
	if rows < 50 {
		t.Errorf("%d rows with accuracies", rows)
	}
}

// TestAdviceOnPrecision compares the advice on bf16 with the records of trainings and rounds.
func TestAdviceOnPrecision(t *testing.T) {
	read := func(name string) *bench.Report {
		t.Helper()
		report, err := bench.ReadReport("results/" + name + ".json")
		if err != nil {
			t.Fatal(err)
		}
		return report
	}
	report := read("accuracy-learnt")
	page, err := os.ReadFile("results/advice.md")
	if err != nil {
		t.Fatal(err)
	}
	var fp32, global, personalized []any
	for _, r := range report.Results {
		if a := r.Accuracy; a.Against == nil {
			fp32 = append(fp32, 100*a.GlobalError.Mean)
		} else {
			global = append(global, 100*a.Against.GlobalError.Mean, 100*a.Against.GlobalError.Half)
			personalized = append(personalized, 100*a.Against.PersonalizedError.Mean, 100*a.Against.PersonalizedError.Half)
		}
	}
	args := slices.Concat(fp32, global, personalized)
	if len(args) != 3+6+6 {
		t.Fatalf("%d figures", len(args))
	}
	says := func(format string, args ...any) {
		if want := fmt.Sprintf(format, args...); !strings.Contains(strings.Join(strings.Fields(string(page)), " "), want) {
			t.Errorf("advice.md lacks %q", want)
		}
	}
	says("that end at %.1f, %.1f and %.1f %% in fp32, the test error in bf16 differs by %.1f +- %.1f, %.1f +- %.1f and %.1f +- %.1f points, the personalized one by %.1f +- %.1f, %.1f +- %.1f and %.1f +- %.1f", args...)
	loss := report.Results[1].Accuracy.Against.LastLoss
	says("a training loss that is %.3f +- %.3f lower in bf16", -loss.Mean, loss.Half)

	differences, beyond, most := 0, 0, 0.0
	for _, r := range read("accuracy-tags").Results {
		if a := r.Accuracy.Against; a != nil {
			for _, d := range []*bench.Estimate{&a.LastLoss, &a.GlobalError, a.PersonalizedError} {
				if d == nil {
					continue
				}
				if differences++; math.Abs(d.Mean) > d.Half {
					beyond, most = beyond+1, max(most, math.Abs(d.Mean))
				}
			}
		}
	}
	says("With the loss for tags it is %d of %d, all below 0.00001", beyond, differences)
	if most >= 0.00001 {
		t.Errorf("a difference of %v", most)
	}

	least, gain := math.Inf(1), 0.0
	for _, r := range slices.Concat(read("rounds-zen4").Results, read("rounds-zen5").Results) {
		if r.Gain > 0 {
			least, gain = min(least, r.Gain), max(gain, r.Gain)
		}
	}
	says("Rounds are %.1f to %.1f times as fast", least, gain)
}

// TestAccuracyOfTags trains the tags of real posts: their error is 1 - recall, and is not
// personalized.
func TestAccuracyOfTags(t *testing.T) {
	root := cmp.Or(os.Getenv("FEDFAST_DATA"), "../../shared/data")
	if _, err := os.Stat(filepath.Join(root, "stackexchange")); err != nil || testing.Short() {
		t.Skipf("no dump at %s, or a short test; set FEDFAST_DATA to the folder of data sets", root)
	}
	t.Setenv("FEDFAST_DATA", root)
	cfg := bench.Config{Suites: []string{"accuracy"}, Workers: 2, Rows: regexp.MustCompile("^fedadagrad .*so-tag-lr"), Rounds: 6, Seeds: 1}
	report, err := bench.Run(t.Context(), cfg, nil)
	if err != nil {
		t.Fatal(err)
	}
	a := report.Results[0].Accuracy
	if text := a.String(); !regexp.MustCompile(`^loss 0\.[0-9]+ to 0\.[0-9]+, test 1 - recall [0-9]+\.[0-9] %$`).MatchString(text) {
		t.Error(text)
	}
	if a.Measure != result.MeasureRecall || a.PersonalizedError != nil || !(a.GlobalError.Mean > 0.3) || !(a.GlobalError.Mean < 0.95) || !(a.LastLoss.Mean < a.FirstLoss) {
		t.Errorf("%+v", *a)
	}
}
