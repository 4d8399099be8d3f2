package bench_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/fedfast/fedfast/bench"
	"github.com/fedfast/fedfast/kernels"
	"github.com/fedfast/fedfast/nn"
)

func TestRunKernels(t *testing.T) {
	var lines int
	report, err := bench.Run(t.Context(), bench.Config{Suites: []string{"kernels"}, Quick: true}, func(string) { lines++ })
	if err != nil {
		t.Fatal(err)
	}
	if lines != len(report.Results) || lines == 0 {
		t.Errorf("%d progress lines for %d results", lines, len(report.Results))
	}
	if report.PeakGFLOPS <= 0 {
		t.Errorf("peak is %v GFLOP/s", report.PeakGFLOPS)
	}
	var fractions []float64
	for _, r := range report.Results {
		if r.Suite != "kernels" || r.Name == "" || r.SamplesPerSecond <= 0 || r.Threads != 1 {
			t.Errorf("result %+v", r)
		}
		if !strings.HasPrefix(r.Name, "gemm") {
			continue
		}
		var m, n, k int64
		if _, err := fmt.Sscanf(r.Shape, "m=%d,n=%d,k=%d", &m, &n, &k); err != nil {
			t.Errorf("%s of shape %q: %v", r.Name, r.Shape, err)
		}
		if got, want := r.GFLOPS*r.Seconds, float64(2*m*n*k)/1e9; got < 0.999*want || got > 1.001*want {
			t.Errorf("%s %s counts %v billion operations, want %v", r.Name, r.Shape, got, want)
		}
		if r.PeakGFLOPS <= 0 || r.PeakFraction != r.GFLOPS/r.PeakGFLOPS {
			t.Errorf("%s %s: %v of %v GFLOP/s are not %v of the peak", r.Name, r.Shape, r.GFLOPS, r.PeakGFLOPS, r.PeakFraction)
		}
		fractions = append(fractions, r.PeakFraction)
	}
	// That half of the products beat the peak would mean that its operations are
	// counted wrongly; one row alone may, on a machine that others use.
	if slices.Sort(fractions); fractions[len(fractions)/2] > 1.5 {
		t.Errorf("products run at %v of the peak", fractions)
	}

	if got := len(report.Table()); got != lines+1 {
		t.Errorf("the table has %d rows for %d results", got, lines)
	}
}

// TestRunKernelsInBothPrecisions holds that products have a row in each, with the peak
// of its own.
func TestRunKernelsInBothPrecisions(t *testing.T) {
	if kernels.Current() == kernels.Generic {
		t.Skip("no assembly")
	}
	report, err := bench.Run(t.Context(), bench.Config{
		Suites: []string{"kernels", "nn-forward"}, Rows: regexp.MustCompile("^(gemm|conv|read|logistic)"),
		Models: []string{"logistic"}, Quick: true,
		Precisions: []nn.Precision{nn.FP32, nn.BF16},
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	count := map[string]int{}
	for i, r := range report.Results {
		if r.Precision == "fp32" {
			count[r.Name]++
			continue
		}
		count[r.Name]--
		fp32 := report.Results[i-1]
		if fp32.Name != r.Name || fp32.Shape != r.Shape || !(r.Gain > 0) || r.PeakGFLOPS <= 0 ||
			r.PeakGFLOPS == fp32.PeakGFLOPS {
			t.Errorf("%+v comes after %+v", r, fp32)
		}
	}
	want := map[string]int{
		"gemm": 0, "gemm-dx": 0, "gemm-dw": 0, "conv": 0, "conv-dw": 0, "logistic": 0,
		"read": count["read"],
	}
	if !maps.Equal(count, want) || count["read"] == 0 {
		t.Errorf("rows in fp32 without one in bf16: %v", count)
	}
}

// TestReportJSON holds the keys that readers of a report rely on.
func TestReportJSON(t *testing.T) {
	report, err := bench.Run(t.Context(), bench.Config{Suites: []string{"kernels"}, Quick: true}, nil)
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(report)
	if err != nil {
		t.Fatal(err)
	}
	var top map[string]any
	if err := json.Unmarshal(text, &top); err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"date", "machine", "peak_gflops", "results"} {
		if _, ok := top[key]; !ok {
			t.Errorf("report has no %q", key)
		}
	}
	first := top["results"].([]any)[0].(map[string]any)
	for _, key := range []string{
		"suite", "name", "level", "threads", "batch", "shape", "seconds", "gflops", "peak_gflops",
		"peak_fraction", "samples_per_second", "spread",
	} {
		if _, ok := first[key]; !ok {
			t.Errorf("result has no %q", key)
		}
	}
}

// TestRunChecksAllSuitesFirst measures nothing when a later suite cannot run.
func TestRunChecksAllSuitesFirst(t *testing.T) {
	started := 0
	_, err := bench.Run(t.Context(), bench.Config{
		Suites: []string{"kernels", "nn"}, Quick: true,
		Models: []string{"nope"},
	}, func(string) { started++ })
	if err == nil || !strings.Contains(err.Error(), "nope") || started > 0 {
		t.Errorf("error %v after %d rows", err, started)
	}
}

func TestRunUnknownSuite(t *testing.T) {
	_, err := bench.Run(t.Context(), bench.Config{Suites: []string{"kernel"}}, nil)
	if err == nil || !strings.Contains(err.Error(), `unknown suite "kernel"`) {
		t.Errorf("error %v", err)
	}
}

func TestRunCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	report, err := bench.Run(ctx, bench.Config{Suites: []string{"kernels"}, Quick: true}, func(string) { cancel() })
	if !errors.Is(err, context.Canceled) || report == nil || len(report.Results) != 1 {
		t.Errorf("report %+v, error %v; want the one finished row", report, err)
	}
}
