package bench_test

import (
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fedfast/fedfast/bench"
	"github.com/fedfast/fedfast/nn"
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
	if err := os.WriteFile(empty, []byte("#!/bin/sh\necho '{\"error\": \"No module named torch\"}'\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	for python, lack := range map[string]string{"/nosuch/python": "no such file", empty: "No module named torch"} {
		_, err := bench.StartTorch(t.Context(), python)
		if err == nil || !strings.Contains(err.Error(), lack) || !strings.Contains(err.Error(), "python3-torch") || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: error %v", python, err)
		}
	}
	t.Setenv("FEDFAST_PYTHON", "/nosuch/python")
	if _, err := bench.StartTorch(t.Context(), ""); err == nil {
		t.Error("FEDFAST_PYTHON is not heeded")
	}
}

// TestTorchHasTheSameNetworks compares the loss of every model, which a row does
// before it is measured, and the ratios.
func TestTorchHasTheSameNetworks(t *testing.T) {
	torch := startTorch(t)
	if testing.Short() {
		t.Skip("builds every model")
	}
	want := []string{
		"logistic", "leaf-femnist-cnn", "reddi-emnist-cnn", "fedex-femnist-cnn", "fedex-cifar-cnn", "mcmahan-cifar-cnn", "fedtune-2conv2dense", "fedtune-4conv2dense",
		"resnet18-gn", "mobilenet-small", "leaf-char-lstm", "fedex-char-lstm", "tff-char-lstm", "so-nwp-lstm", "so-tag-lr",
	}
	report, err := bench.Run(t.Context(), bench.Config{Suites: []string{"nn-forward"}, Models: want, Batch: 2, Quick: true, Torch: torch}, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range report.Results {
		if len(r.Torch) != 1 || r.Torch[0].Threads != 1 || r.Torch[0].Processes != 1 {
			t.Errorf("%s: %+v", r.Name, r.Torch)
			continue
		}
		if got := r.SamplesPerSecond / r.Torch[0].SamplesPerSecond; math.Abs(got-r.Ratio) > 1e-9*got || r.Ratio != r.Torch[0].Ratio {
			t.Errorf("%s: ratio %v and %v, want %v", r.Name, r.Ratio, r.Torch[0].Ratio, got)
		}
	}
	if report.Torch == nil || report.Torch.Version == "" {
		t.Error("the report does not say which PyTorch")
	}
}

// TestTorchBuildsComposedNetworks compares a network of the layers that no named
// model has so.
func TestTorchBuildsComposedNetworks(t *testing.T) {
	torch := startTorch(t)
	path := filepath.Join(t.TempDir(), "odd.toml")
	text := `
[[model.layers]]
type = "conv"
filters = 6
kernel = 3
padding = "same"

[[model.layers]]
type = "groupnorm"
groups = 2

[[model.layers]]
type = "maxpool"
size = 3
stride = 2
padding = "same"

[[model.layers]]
type = "lrn"
radius = 1
alpha = 0.5
beta = 0.5

[[model.layers]]
type = "avgpool"
size = 2

[[model.layers]]
type = "dense"
`
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	cfg := bench.Config{
		Suites: []string{"nn", "nn-forward"}, Models: []string{path}, Batch: 3, Quick: true, Torch: torch, Input: nn.Shape{H: 11, W: 10, C: 3}, Classes: 4,
	}
	if _, err := bench.Run(t.Context(), cfg, nil); err != nil {
		t.Fatal(err)
	}
}

// TestTorchRounds compares whole rounds with PyTorch's three forms.
func TestTorchRounds(t *testing.T) {
	torch := startTorch(t)
	cfg := bench.Config{Suites: []string{"fl"}, Models: []string{"logistic"}, Batch: 10, Workers: 2, Quick: true, Torch: torch}
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
