package bench_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/fedfast/fedfast/bench"
	"github.com/fedfast/fedfast/nn"
)

// TestRunRounds measures rounds of a small model with one worker and with two.
func TestRunRounds(t *testing.T) {
	report, err := bench.Run(t.Context(), bench.Config{
		Suites: []string{"fl"}, Models: []string{"logistic"}, Batch: 10,
		Workers: 2, Quick: true,
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(report.Results) != 2 {
		t.Fatalf("%d results, want one for each number of workers", len(report.Results))
	}
	for i, r := range report.Results {
		x := r.Round
		if r.Threads != i+1 || r.Suite != "fl" || r.Optimizer != "sgd" || r.Batch != 10 || r.Seconds <= 0 || r.GFLOPS <= 0 ||
			x == nil {
			t.Fatalf("result %+v", r)
		}
		if x.Cohort != 4 || x.Clients != 4 || x.Trials != 1 || x.GCStop <= 0 || x.Outside <= 0 || x.Outside >= 1 {
			t.Errorf("%d workers: %+v", r.Threads, *x)
		}
		if x.AllocsPerStep > 0.2 { // of 12 steps: one of a result that waits, one of a runtime that is busy elsewhere; an allocation in each step would be 1
			t.Errorf("%d workers: %v allocations a step, want none", r.Threads, x.AllocsPerStep)
		}
		if (x.Speedup > 0) != (i > 0) {
			t.Errorf("%d workers: speed-up %v", r.Threads, x.Speedup)
		}
		if want := x.Outside * r.Seconds; x.OutsideSeconds != want {
			t.Errorf("%d workers: %v s outside, want %v", r.Threads, x.OutsideSeconds, want)
		}
	}
}

// TestRoundsOfEveryKindOfInput makes clients for networks of each kind of input.
func TestRoundsOfEveryKindOfInput(t *testing.T) {
	text := func(output string) string {
		return "[[model.layers]]\ntype = \"embedding\"\nsize = 4\n[[model.layers]]\ntype = \"lstm\"\nhidden = 8\noutput = \"" + output + "\"\n[[model.layers]]\ntype = \"dense\"\n"
	}
	for _, c := range []struct {
		layers string
		input  nn.Shape
	}{
		{
			"[[model.layers]]\ntype = \"conv\"\nfilters = 4\nkernel = 3\n[[model.layers]]\ntype = \"dense\"\n",
			nn.Shape{H: 6, W: 5, C: 3},
		},
		{"[[model.layers]]\ntype = \"dense\"\n", nn.Shape{H: 1, W: 1, C: 9}},
		{text("last"), nn.Shape{Seq: 7, Vocab: 30}},
		{text("every"), nn.Shape{Seq: 7, Vocab: 300}},
	} {
		path := filepath.Join(t.TempDir(), "small.toml")
		if err := os.WriteFile(path, []byte(c.layers), 0o600); err != nil {
			t.Fatal(err)
		}
		cfg := bench.Config{
			Suites: []string{"fl"}, Models: []string{path}, Input: c.input, Classes: 30, Workers: 1,
			Quick: true,
		}
		report, err := bench.Run(t.Context(), cfg, nil)
		if err != nil {
			t.Fatalf("%+v: %v", c.input, err)
		}
		if r := report.Results[0]; len(report.Results) != 1 || r.Name != "small" || r.Batch != 20 {
			t.Errorf("%+v: results %+v", c.input, report.Results)
		}
	}
}
