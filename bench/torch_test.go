package bench_test

import (
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/fedfast/fedfast/bench"
	"github.com/fedfast/fedfast/internal/list"
	"github.com/fedfast/fedfast/nn"
	"github.com/fedfast/fedfast/nn/models"
)

// startTorch starts PyTorch or skips the test.
func startTorch(t *testing.T) *bench.Torch {
	t.Helper()
	torch, err := bench.StartTorch(t.Context(), "")
	if err != nil {
		t.Skip(err)
	}
	t.Cleanup(func() {
		if err := torch.Close(); err != nil {
			t.Error(err)
		}
	})
	return torch
}

// TestTorchIsMissing wants one line that says what to do.
func TestTorchIsMissing(t *testing.T) {
	empty := filepath.Join(t.TempDir(), "python")
	if err := os.WriteFile(empty, []byte("#!/bin/sh\necho '{\"error\": \"No module named torch\"}'\n"),
		0o700); err != nil {
		t.Fatal(err)
	}
	for python, lack := range map[string]string{"/nosuch/python": "no such file", empty: "No module named torch"} {
		_, err := bench.StartTorch(t.Context(), python)
		if err == nil || !strings.Contains(err.Error(), lack) || !strings.Contains(err.Error(), "python3-torch") ||
			strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: error %v", python, err)
		}
	}
	t.Setenv("FEDFAST_PYTHON", "/nosuch/python")
	if _, err := bench.StartTorch(t.Context(), ""); err == nil {
		t.Error("FEDFAST_PYTHON is not heeded")
	}
}

// fakeTorch starts a PyTorch that answers as the shell script says.
func fakeTorch(t *testing.T, version, script string) *bench.Torch {
	t.Helper()
	python := filepath.Join(t.TempDir(), "python")
	hello := `echo '{"torch": "` + version +
		`", "python": "3", "blas": "'$OPENBLAS_CORETYPE$OPENBLAS_L2_SIZE'libblas", "blas_kernel": "Zen"}'`
	if err := os.WriteFile(python, []byte("#!/bin/sh\n"+hello+"\n"+script), 0o700); err != nil {
		t.Fatal(err)
	}
	torch, err := bench.StartTorch(t.Context(), python)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := torch.Close(); err != nil {
			t.Error(err)
		}
	})
	return torch
}

// TestTorchThatCrashes wants a row that says so, and is compared with the PyTorch
// that runs.
func TestTorchThatCrashes(t *testing.T) {
	t.Setenv("OPENBLAS_CORETYPE", "Haswell")
	t.Setenv("OPENBLAS_L2_SIZE", "")
	crashing := fakeTorch(t, "9.1", "read job; kill -KILL $$")
	running := fakeTorch(t, "9.2", `while read job; do echo '{"times": [0.25, 0.25]}'; done`)
	cfg := bench.Config{
		Suites: []string{"fl"}, Models: []string{"logistic"}, Batch: 10, Workers: 1, Quick: true,
		Torch: []*bench.Torch{crashing, running},
	}
	report, err := bench.Run(t.Context(), cfg, nil)
	if err != nil {
		t.Fatal(err)
	}
	r := report.Results[0]
	if len(r.Torch) != 2 || !strings.Contains(r.Torch[0].Error, "killed") || r.Torch[0].Ratio != 0 ||
		r.Torch[1].Seconds != 0.25 || r.Ratio != r.Torch[1].Ratio {
		t.Errorf("ratio %v to %+v", r.Ratio, r.Torch)
	}
	table := strings.Join(append(report.Heading(), strings.Join(report.Table()[1], " ")), "\n")
	for _, want := range []string{
		"PyTorch 9.1, Python 3, BLAS libblas, its kernel Zen; run with MALLOC_",
		"; without OPENBLAS_CORETYPE=Haswell and OPENBLAS_L2_SIZE=",
		"640 (9.2 1 thread), failed (9.1 1 thread: PyTorch exited: signal: killed)",
	} {
		if !strings.Contains(table, want) {
			t.Errorf("there is no %q in\n%s", want, table)
		}
	}
}

// TestTorchCompiles wants networks compiled, too, by a PyTorch that has torch.compile, and no
// rounds.
func TestTorchCompiles(t *testing.T) {
	const answers = `while read job; do echo '{"times": [0.25, 0.25]}'; done`
	report, err := bench.Run(t.Context(), bench.Config{
		Suites: []string{"nn", "fl"}, Models: []string{"logistic"}, Batch: 10, Workers: 1, Quick: true, Compile: true,
		Torch: []*bench.Torch{fakeTorch(t, "1.13", answers), fakeTorch(t, "2.6", answers)},
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range [][]bool{{false, false, true}, {false, false}} {
		compiled := list.Of(report.Results[i].Torch, func(v bench.Rival) bool { return v.Compiled })
		if !slices.Equal(compiled, want) {
			t.Errorf("%s: compiled %v, want %v", report.Results[i].Suite, compiled, want)
		}
	}
	if e := report.Results[0].Torch[2].Error; !strings.HasPrefix(e, "loss is 0, fedfast's is 3.") {
		t.Errorf("error %q", e)
	}
}

// TestTorchHasTheSameNetworks compares the loss of every model and layer with PyTorch's, of
// models before and after three steps, and the ratios.
func TestTorchHasTheSameNetworks(t *testing.T) {
	torch := startTorch(t)
	if testing.Short() {
		t.Skip("builds every model")
	}
	names := models.Names()
	report, err := bench.Run(t.Context(), bench.Config{
		Suites: []string{"nn-forward", "nn", "layers"}, Models: names, Batch: 2, Quick: true, Torch: []*bench.Torch{torch},
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if layers := len(report.Results) - 2*len(names); layers < 20 {
		t.Errorf("%d single layers", layers)
	}
	before := map[string]float64{}
	for _, r := range report.Results {
		if len(r.Torch) != 1 || r.Torch[0].Error != "" || r.Torch[0].Threads != 1 || r.Torch[0].Processes != 1 {
			t.Errorf("%s: %+v", r.Name, r.Torch)
			continue
		}
		if got := r.SamplesPerSecond / r.Torch[0].SamplesPerSecond; math.Abs(got-r.Ratio) > 1e-9*got ||
			r.Ratio != r.Torch[0].Ratio {
			t.Errorf("%s: ratio %v and %v, want %v", r.Name, r.Ratio, r.Torch[0].Ratio, got)
		}
		moved := 0.0
		if r.Suite == "nn-forward" {
			before[r.Name] = r.Loss
		} else if first := before[r.Name]; first > 0 {
			if moved = math.Abs(r.Loss - first); moved < 1e-4 {
				t.Errorf("%s: three steps lead from loss %v to %v", r.Name, first, r.Loss)
			}
		}
		if theirs := r.Torch[0].Loss; !(math.Abs(r.Loss-theirs) <= 1e-6*(1+r.Loss)+0.01*moved) {
			t.Errorf("%s %s %s: loss %v, PyTorch's is %v", r.Suite, r.Name, r.Optimizer, r.Loss, theirs)
		}
	}
	if len(report.Torch) != 1 || report.Torch[0].Version == "" {
		t.Error("the report does not say which PyTorch")
	}
}

// TestTorchBuildsComposedNetworks compares networks of layers that no named model has so.
func TestTorchBuildsComposedNetworks(t *testing.T) {
	torch := startTorch(t)
	for _, c := range []struct {
		name  string
		input nn.Shape
		text  string
	}{
		{"images", nn.Shape{H: 11, W: 10, C: 3}, `
layers = [
  { type = "conv", filters = 6, kernel = 3, padding = "same" },
  { type = "groupnorm", groups = 2 },
  { type = "maxpool", size = 3, stride = 2, padding = "same" },
  { type = "conv", filters = 8, kernel = 3, pad = 2, groups = 2, dilation = 2 },
  { type = "lrn", radius = 1, alpha = 0.5, beta = 0.5 },
  { type = "avgpool", size = 2 },
  { type = "dense" },
]`},
		{"batches", nn.Shape{H: 8, W: 8, C: 2}, `
layers = [
  { type = "conv", filters = 6, kernel = 3, no_bias = true },
  { type = "batchnorm", momentum = 0.3 },
  { type = "dense", units = 5 },
  { type = "batchnorm", no_affine = true },
  { type = "dense" },
]`},
		{"text", nn.Shape{Vocab: 7, Seq: 5}, `
layers = [
  { type = "embedding", size = 6 },
  { type = "gru", hidden = 9, output = "every" },
  { type = "lstm", hidden = 5, output = "every" },
  { type = "gru", hidden = 8 },
  { type = "dense" },
]`},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "odd.toml")
			if err := os.WriteFile(path, []byte("[model]"+c.text), 0o600); err != nil {
				t.Fatal(err)
			}
			report, err := bench.Run(t.Context(), bench.Config{
				Suites: []string{"nn", "nn-forward"}, Models: []string{path}, Batch: 3, Quick: true, Torch: []*bench.Torch{torch},
				Input: c.input, Classes: 4,
			}, nil)
			if err != nil {
				t.Fatal(err)
			}
			for _, r := range report.Results {
				if r.Ratio == 0 || r.Torch[0].Error != "" {
					t.Errorf("%s: %+v", r.Suite, r.Torch)
				}
			}
		})
	}
}

// TestTorchRounds compares whole rounds with PyTorch's three forms.
func TestTorchRounds(t *testing.T) {
	torch := startTorch(t)
	cfg := bench.Config{
		Suites: []string{"fl"}, Models: []string{"logistic"}, Batch: 10, Workers: 2, Quick: true,
		Torch: []*bench.Torch{torch},
	}
	report, err := bench.Run(t.Context(), cfg, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []int{1, 3} {
		r := report.Results[i]
		if len(r.Torch) != want {
			t.Fatalf("%d workers: %d forms of PyTorch, want %d", r.Threads, len(r.Torch), want)
		}
		best := 0.0
		for _, v := range r.Torch {
			best = max(best, v.SamplesPerSecond)
		}
		if got := r.SamplesPerSecond / best; math.Abs(got-r.Ratio) > 1e-9*got {
			t.Errorf("%d workers: ratio %v to the fastest, want %v", r.Threads, r.Ratio, got)
		}
	}
	if last := report.Results[1].Torch[2]; last.Processes != 2 || last.Threads != 1 {
		t.Errorf("the last form is %+v, want 2 processes of 1 thread", last)
	}
}
