package bench_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/fedfast/fedfast/bench"
)

// sampleReport has a row of each kind.
func sampleReport() *bench.Report {
	return &bench.Report{
		Date:    "2026-01-02T03:04:05Z",
		Machine: bench.Machine{OS: "linux", Arch: "amd64", CPU: "Some CPU", Cores: 2, Level: "avx2", GoVersion: "go1"},
		Torch:   bench.TorchInfos{{Version: "1.13", Python: "3.11", BLAS: "libopenblas.so"}},
		Results: []bench.Result{
			{
				Suite: "nn", Name: "logistic", Threads: 1, Batch: 10, Shape: "784", Optimizer: "momentum", Seconds: 1e-3,
				GFLOPS: 50, PeakGFLOPS: 100,
				PeakFraction: 0.5, SamplesPerSecond: 1e4, Ratio: 2,
				Torch: []bench.Rival{{Threads: 1, Processes: 2, SamplesPerSecond: 5e3, Ratio: 2}},
			},
			{
				Suite: "kernels", Name: "gemm", Threads: 1, Batch: 1, Shape: "m=1", Seconds: 2e-6, Bound: "memory",
				RooflineFraction: 0.9, SamplesPerSecond: 5e5,
			},
			{
				Suite: "fl", Name: "logistic", Threads: 2, Batch: 10, Shape: "784", Seconds: 0.25, SamplesPerSecond: 8e3,
				Round: &bench.Round{Speedup: 1.9, Outside: 0.02},
			},
		},
	}
}

// TestTables wants every row, and as many cells as heads in each.
func TestTables(t *testing.T) {
	report := sampleReport()
	lines := report.Heading()
	for _, row := range report.Table() {
		lines = append(lines, strings.Join(row, " "))
	}
	table := strings.Join(lines, "\n")
	var markdown strings.Builder
	if err := report.WriteMarkdown(&markdown); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"2 processes", "90.0 % memory", "2.00", "1.90", "2.00 us", "PyTorch 1.13",
		"2026-01-02",
	} {
		if !strings.Contains(table, want) {
			t.Errorf("the table lacks %q:\n%s", want, table)
		}
		if !strings.Contains(markdown.String(), want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	rows := 0
	bars := 0
	for line := range strings.Lines(markdown.String()) {
		if n := strings.Count(line, "|"); n > 0 {
			rows++
			if bars == 0 {
				bars = n
			}
			if n != bars {
				t.Errorf("%d bars, the head has %d: %s", n, bars, line)
			}
		}
	}
	if rows != 2+len(report.Results) {
		t.Errorf("%d rows", rows)
	}
}

// TestBrief wants a table that fits a screen, the fastest PyTorch, and what is left out in notes.
func TestBrief(t *testing.T) {
	r := sampleReport()
	r.Torch = append(r.Torch, bench.TorchInfo{Version: "2.6"})
	x := &r.Results[0]
	x.Torch = append(x.Torch, bench.Rival{
		Version: "2.6", Precision: "bf16", Threads: 1, Processes: 1,
		Error: "ValueError: no layer of type batchnorm " + strings.Repeat("|", 300),
	})
	rows, notes := r.Brief(120, false)
	for _, row := range rows {
		if width := len(strings.Join(row, "  ")); width > 120 || len(row) != len(rows[0]) {
			t.Errorf("%d columns: %q", width, row)
		}
	}
	if all := len(r.Table()[0]); len(rows[0]) >= all || !slices.Contains(rows[0], "ratio") ||
		!slices.Contains(rows[0], "time") {
		t.Errorf("of %d columns there are %q", all, rows[0])
	}
	if len(notes) != 2 || !strings.Contains(notes[0], "PyTorch 2.6 bf16 failed: ValueError: no layer of type batchnorm") ||
		!strings.HasPrefix(notes[1], "not shown: allocs/round, ") {
		t.Errorf("notes %q", notes)
	}
	wide := *r // with all that a row of a network may have
	wide.Results = []bench.Result{{
		Suite: "nn-forward", Name: "fedtune-2conv2dense", Threads: 1, Batch: 64, Shape: "32x32x3", Optimizer: "momentum",
		Precision: "bf16-amx", Seconds: .123, GFLOPS: 100, PeakFraction: .5, SamplesPerSecond: 12345, Loss: 2.34567,
		Gain: 1.23, Ratio: 3.21, Torch: []bench.Rival{
			{Version: "2.6.0+debian", Precision: "bf16", Threads: 1, Compiled: true, SamplesPerSecond: 12345, Ratio: 3.21},
			{Version: "2.6.0+debian", Precision: "fp32", Threads: 1, SamplesPerSecond: 1, Ratio: 3.21},
		},
	}}
	rows, _ = wide.Brief(120, false)
	for i := range rows[1] {
		rows[1][i] += strings.Repeat(" ", max(0, len(rows[0][i])-len(rows[1][i])))
	}
	line := strings.Join(rows[1], "  ")
	if len(line) > 120 || !strings.Contains(line, "(2.6.0+debian bf16 compiled 1 thread)") {
		t.Errorf("%d columns: %q", len(line), line)
	}
	rows, notes = r.Brief(120, true) // PyTorch has a row, and what failed a note
	if len(rows) != 5 || !slices.Contains(rows[2], "PyTorch , 2 processes") || slices.Contains(rows[0], "PyTorch") ||
		!strings.Contains(notes[0], "PyTorch 2.6 bf16 failed") {
		t.Errorf("rows %q, notes %q", rows, notes)
	}
	if rows, _ := r.Brief(1<<20, false); len(rows[0]) != len(r.Table()[0]) {
		t.Error("columns are left out that have room")
	}
}

// TestEachRowIsKept ends a run after its second row, as an interrupt does.
func TestEachRowIsKept(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	var seen []int
	cfg := bench.Config{Suites: []string{"nn"}, Models: []string{"logistic"}, Quick: true}
	cfg.Models = append(cfg.Models, "reddi-emnist-cnn", "pfllib-cnn")
	cfg.Each = func(r *bench.Report) error {
		if seen = append(seen, len(r.Results)); len(seen) == 2 {
			cancel()
		}
		return nil
	}
	report, err := bench.Run(ctx, cfg, nil)
	if !errors.Is(err, context.Canceled) || len(report.Results) != 2 || !slices.Equal(seen, []int{1, 2}) ||
		report.PeakGFLOPS == 0 {
		t.Fatalf("rows %v, error %v", seen, err)
	}
}

// TestJoin compares a row with what another report measured of it, and refuses
// another machine's.
func TestJoin(t *testing.T) {
	a, b := sampleReport(), sampleReport()
	b.Torch[0].Version, b.Results = "2.6", b.Results[:1]
	x := &b.Results[0]
	x.Precision, x.SamplesPerSecond = "bf16", 15e3
	x.Torch = []bench.Rival{{
		Version: "2.6", Precision: "bf16", Threads: 1, Processes: 1, SamplesPerSecond: 8e3,
		Ratio: 15. / 8,
	}}
	a.Results[0].Precision = "fp32"
	all, err := bench.Join(a, b)
	if err != nil {
		t.Fatal(err)
	}
	first, last := all.Results[0], all.Results[3]
	if len(all.Torch) != 2 || len(first.Torch) != 2 || len(last.Torch) != 2 || first.Ratio != 1.25 ||
		last.Ratio != 1.875 || last.Gain != 1.5 {
		t.Errorf("%d PyTorches; %+v; %+v", len(all.Torch), first, last)
	}
	b.Machine.CPU = "Another"
	if _, err := bench.Join(a, b); err == nil || !strings.Contains(err.Error(), "Another") {
		t.Errorf("error %v", err)
	}
}
