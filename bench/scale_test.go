package bench_test

import (
	"encoding/xml"
	"errors"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/fedfast/fedfast/bench"
	"github.com/fedfast/fedfast/plugins"
	"github.com/fedfast/fedfast/tuners"
)

// TestMain makes this test binary serve the built-in tuners, as fedfast does.
func TestMain(m *testing.M) {
	if len(os.Args) == 4 && os.Args[1] == "tuner" && os.Args[2] == "serve" {
		tuners.Serve(plugins.Builtin()[os.Args[3]])
		return
	}
	os.Exit(m.Run())
}

// TestRunTuner times a tuner that is this test binary.
func TestRunTuner(t *testing.T) {
	report, err := bench.Run(t.Context(), bench.Config{Suites: []string{"tuner"}, Quick: true}, nil)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, r := range report.Results {
		names = append(names, r.Name)
		if r.Seconds <= 0 || r.P99 < r.Seconds || r.GFLOPS != 0 {
			t.Errorf("result %+v", r)
		}
	}
	if got := strings.Join(names, " "); got != "launch plan-round observe-round" {
		t.Errorf("rows %s", got)
	}
}

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
	var svg strings.Builder
	if err := report.WriteScalePlot(&svg); err != nil {
		t.Fatal(err)
	}
	dots := 0
	for d := xml.NewDecoder(strings.NewReader(svg.String())); ; {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatalf("the picture is no XML: %v", err)
		}
		if e, ok := token.(xml.StartElement); ok && e.Name.Local == "title" {
			dots++
		}
	}
	if want := 2 * (1 + 4 + 1); dots != want { // a crowd that is in two sweeps is drawn in both
		t.Errorf("%d points, want %d", dots, want)
	}
	if err := (&bench.Report{}).WriteScalePlot(io.Discard); err == nil {
		t.Error("no error for a report without the suite")
	}
}
