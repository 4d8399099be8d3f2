package bench_test

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/fedfast/fedfast/bench"
	"github.com/fedfast/fedfast/internal/figure"
)

// TestRunScale runs the small crowds and draws them.
func TestRunScale(t *testing.T) {
	if testing.Short() {
		t.Skip("trains clients for seconds")
	}
	report, err := bench.Run(t.Context(), bench.Config{Suites: []string{"scale"}, Quick: true, Workers: 1}, nil)
	if err != nil {
		t.Fatal(err)
	}
	var small, most int
	for _, r := range report.Results {
		x := r.Round
		if x == nil || x.ClientSeconds <= 0 || x.Heap <= 0 || r.Threads != 1 {
			t.Fatalf("result %+v", r)
		}
		if want := r.Seconds / float64(x.Cohort*x.Trials); x.ClientSeconds < 0.999*want || x.ClientSeconds > 1.001*want {
			t.Errorf("%s: %v s a client, want %v", r.Shape, x.ClientSeconds, want)
		}
		if r.Name == "logistic" {
			small++
		}
		most = max(most, x.Clients)
	}
	if small != 1 || most != 10000 {
		t.Errorf("%d rows of the small model; at most %d clients", small, most)
	}
	f, err := report.ScaleFigure()
	if err != nil {
		t.Fatal(err)
	}
	points := 0
	for _, p := range f.Panels {
		for _, l := range p.Lines {
			points += len(l.Points)
		}
	}
	if want := 2 * (1 + 4 + 1); points != want { // a crowd that is in two sweeps is drawn in both
		t.Errorf("%d points, want %d", points, want)
	}
}

// TestScaleFigure draws the recorded report, and compares it with the picture
// beside it.
func TestScaleFigure(t *testing.T) {
	report, err := bench.ReadReport("results/scale.json")
	if err != nil {
		t.Fatal(err)
	}
	f, err := report.ScaleFigure()
	if err != nil {
		t.Fatal(err)
	}
	var svg, png bytes.Buffer
	if err := errors.Join(f.Write(&svg, figure.SVG, figure.Light), f.Write(&png, figure.PNG, figure.Dark)); err != nil {
		t.Fatal(err)
	}
	recorded, err := os.ReadFile("results/scale.svg")
	if err != nil {
		t.Fatal(err)
	}
	if runtime.GOARCH == "amd64" && !bytes.Equal(svg.Bytes(), recorded) {
		t.Error("results/scale.svg is stale: fedfast bench --from bench/results/scale.json --plot bench/results/scale.svg draws it")
	}
	for _, want := range []string{
		">time, ms<", ">memory, MB<", ">10,000<", ">clients per round, of 1,000<",
		"AMD EPYC, 2 cores, level avx512",
	} {
		if !strings.Contains(svg.String(), want) {
			t.Errorf("no %s", want)
		}
	}
	if _, err := (&bench.Report{}).ScaleFigure(); err == nil {
		t.Error("no error for a report without the suite")
	}
}

// TestSpeedFigure draws the recorded comparison with PyTorch, and compares it with the
// picture beside it.
func TestSpeedFigure(t *testing.T) {
	report, err := bench.ReadReport("results/nn-zen4.json")
	if err != nil {
		t.Fatal(err)
	}
	f, err := report.Figure()
	if err != nil {
		t.Fatal(err)
	}
	var svg bytes.Buffer
	if err := f.Write(&svg, figure.SVG, figure.Light); err != nil {
		t.Fatal(err)
	}
	recorded, err := os.ReadFile("results/speed.svg")
	if err != nil {
		t.Fatal(err)
	}
	if runtime.GOARCH == "amd64" && !bytes.Equal(svg.Bytes(), recorded) {
		t.Error("results/speed.svg is stale: fedfast bench --from bench/results/nn-zen4.json --plot bench/results/speed.svg draws it")
	}
	// In results/nn-zen4.json: 2.2 times PyTorch's best in fp32 and 3.7 times in bf16.
	lines := f.Panels[0].Lines
	if at := slices.Index(f.Panels[0].X.Names, "leaf-femnist-cnn"); at < 0 ||
		math.Abs(lines[0].Points[at].Y-3.74) > 0.01 || math.Abs(lines[1].Points[at].Y-2.23) > 0.01 ||
		lines[2].Points[at].Y != 1 {
		t.Errorf("the lines are %+v", lines)
	}
	if _, err := (&bench.Report{}).Figure(); err == nil {
		t.Error("no error for a report without either")
	}
}

// TestREADMESaysWhatWasMeasured makes README's sentences on speed again: from the report that
// its picture is drawn from, and from that of a Xeon.
func TestREADMESaysWhatWasMeasured(t *testing.T) {
	report, err := bench.ReadReport("results/nn-zen4.json")
	if err != nil {
		t.Fatal(err)
	}
	f, err := report.Figure()
	if err != nil {
		t.Fatal(err)
	}
	lines := map[string][]float64{} // times PyTorch's best, of each network
	for _, l := range f.Panels[0].Lines {
		for _, p := range l.Points {
			lines[l.Name] = append(lines[l.Name], p.Y)
		}
	}
	bf16, fp32, torch := lines["fedfast bf16"], lines["fedfast fp32"], lines["PyTorch fp32"]
	n := len(f.Panels[0].X.Names)
	if len(bf16) != n || len(fp32) != n || len(torch) != n {
		t.Fatalf("%d networks, but the lines are %v", n, lines)
	}
	var alike []float64
	autocast := 0
	for i, x := range torch {
		if alike = append(alike, fp32[i]/x); x < 1 {
			autocast++
		}
	}
	spread := func(xs []float64) string { return fmt.Sprintf("%.1f to %.1f", slices.Min(xs), slices.Max(xs)) }
	lstm := map[string]float64{}
	for _, r := range report.Results {
		if r.Name == "leaf-char-lstm" && r.Batch == 16 {
			lstm[r.Precision] = r.Ratio
		}
	}

	xeon, err := bench.ReadReport("results/nn-spr.json")
	if err != nil {
		t.Fatal(err)
	}
	gains := map[string]bool{}
	for _, r := range xeon.Results {
		gains[r.Name] = gains[r.Name] || r.Gain > 1
	}
	faster := 0
	for _, gain := range gains {
		if gain {
			faster++
		}
	}

	emerald, err := bench.ReadReport("results/nn-emr.json")
	if err != nil {
		t.Fatal(err)
	}
	gain, ratio := map[string][]float64{}, []float64{}
	for _, r := range emerald.Results {
		gain[r.Precision] = append(gain[r.Precision], r.Gain)
		if r.Precision == "fp32" {
			ratio = append(ratio, r.Ratio)
		}
	}

	var readme strings.Builder
	for _, page := range []string{"../README.md", "results/speed.md"} {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		readme.WriteString(strings.Join(strings.Fields(string(text)), " "))
	}
	for _, want := range []string{
		spread(alike) + " times as fast as PyTorch, both in float32, on Zen 4",
		"bf16 is " + spread(bf16) + " times as fast, fp32 " + spread(fp32) + " times](bench/results/speed.svg)",
		"for " + fmt.Sprintf("%d of these %d networks is bfloat16", autocast, n),
		"float32 against float32, fedfast is " + spread(alike) + " times as fast; its bf16 is " + spread(bf16) +
			" and its fp32 " + spread(fp32) + " times as fast as PyTorch's best",
		fmt.Sprintf("`leaf-char-lstm` has %.1f and %.1f times its best", lstm["bf16"], lstm["fp32"]),
		"bf16 is " + spread(gain["bf16"]) + " and bf16-amx " + spread(gain["bf16-amx"]) + " times as fast as fp32, fp32 " +
			spread(ratio) + " times as fast as PyTorch 2.6's best",
		"without AMX bf16 is " + spread(gain["bf16"]) + " times as fast as float32",
		fmt.Sprintf("uses their AMX unit, which is faster for %d of %d networks", faster, len(gains)),
	} {
		if !strings.Contains(readme.String(), want) {
			t.Errorf("neither README nor speed.md says %q, as the measurements do", want)
		}
	}
}
