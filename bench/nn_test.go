package bench_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fedfast/fedfast/bench"
	"github.com/fedfast/fedfast/nn"
)

// TestRunModels times one step of a small model, forward and back.
func TestRunModels(t *testing.T) {
	cfg := bench.Config{Suites: []string{"nn", "nn-forward"}, Models: []string{"logistic"}, Batch: 7, Quick: true}
	report, err := bench.Run(t.Context(), cfg, nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(report.Results) != 2 {
		t.Fatalf("%d results, want 2", len(report.Results))
	}
	for i, suite := range cfg.Suites {
		r := report.Results[i]
		if r.Suite != suite || r.Name != "logistic" || r.Batch != 7 || r.Shape != "28x28x1" || r.SamplesPerSecond <= 0 ||
			r.GFLOPS <= 0 || r.PeakGFLOPS <= 0 {
			t.Errorf("result %+v", r)
		}
		if got := float64(r.Batch) / r.Seconds; got < 0.999*r.SamplesPerSecond || got > 1.001*r.SamplesPerSecond {
			t.Errorf("%s: %v samples a second in %v s a step", suite, r.SamplesPerSecond, r.Seconds)
		}
	}
	if o := report.Results[0].Optimizer; o != "momentum" {
		t.Errorf("optimizer %q, want momentum", o)
	}
	cfg.Models = []string{"logistics"}
	if _, err := bench.Run(t.Context(), cfg, nil); err == nil {
		t.Error("no error for an unknown model")
	}
}

// TestRunPlainSGD wants rows of both optimizers where the plain one is asked for.
func TestRunPlainSGD(t *testing.T) {
	report, err := bench.Run(t.Context(), bench.Config{
		Suites: []string{"nn"}, Models: []string{"leaf-femnist-cnn"},
		Batch: 1, Quick: true,
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(report.Results) != 2 || report.Results[0].Optimizer != "momentum" || report.Results[1].Optimizer != "sgd" {
		t.Errorf("results %+v", report.Results)
	}
}

// TestRunComposedModel times the network of a study file.
func TestRunComposedModel(t *testing.T) {
	path := filepath.Join(t.TempDir(), "small.toml")
	text := "[[model.layers]]\ntype = \"conv\"\nfilters = 4\nkernel = 3\n\n[[model.layers]]\ntype = \"dense\"\n"
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	cfg := bench.Config{
		Suites: []string{"nn"}, Models: []string{path}, Batch: 3, Quick: true,
		Input: nn.Shape{H: 6, W: 5, C: 2}, Classes: 4,
	}
	report, err := bench.Run(t.Context(), cfg, nil)
	if err != nil {
		t.Fatal(err)
	}
	r := report.Results[0]
	// 2 x 4 x 3 pixels x 4 filters x 18 inputs, twice; dense 48 x 4, three times.
	perSample := 2*(2*4*3*4*18) + 3*(2*48*4)
	if want := float64(perSample) * r.SamplesPerSecond / 1e9; r.Name != "small" || r.Shape != "6x5x2" ||
		r.GFLOPS < 0.999*want || r.GFLOPS > 1.001*want {
		t.Errorf("result %+v; want %v GFLOP/s", r, want)
	}
	cfg.Input = nn.Shape{}
	if _, err := bench.Run(t.Context(), cfg, nil); err == nil || !strings.Contains(err.Error(), "small.toml") {
		t.Errorf("without an input and without data: error %v", err)
	}
}

// TestParseInput reads what reports write.
func TestParseInput(t *testing.T) {
	for text, want := range map[string]nn.Shape{
		"28x28x1": {H: 28, W: 28, C: 1}, "784": {H: 1, W: 1, C: 784}, "80of90": {Seq: 80, Vocab: 90},
	} {
		if got, err := bench.ParseInput(text); err != nil || got != want {
			t.Errorf("%s: %+v, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "28x28", "0x3x1", "-4", "80of", "80of90x2", "a"} {
		if got, err := bench.ParseInput(text); err == nil {
			t.Errorf("%q: no error but %+v", text, got)
		}
	}
}
