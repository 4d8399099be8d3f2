package bench_test

import (
	"os"
	"testing"

	"github.com/fedfast/fedfast/bench"
	"github.com/fedfast/fedfast/tuners/host"
)

// TestRunFaults kills the program a few times and watches its memory for a
// moment.
func TestRunFaults(t *testing.T) {
	if testing.Short() {
		t.Skip("lets the program work for seconds")
	}
	exe, err := os.Executable() // TestMain makes it the program
	if err != nil {
		t.Fatal(err)
	}
	cfg := bench.Config{Suites: []string{"faults"}, Quick: true, Tuners: host.Paths{Serve: []string{exe}}}
	report, err := bench.Run(t.Context(), cfg, nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(report.Results) != 2 {
		t.Fatalf("results %+v", report.Results)
	}
	kills, memory := report.Results[0].Fault, report.Results[1].Fault
	if kills == nil || kills.Kills != 3 || kills.Studies < 1 {
		t.Errorf("kills %+v", kills)
	}
	if memory == nil || memory.Rounds != 400 || memory.FirstRSS < 1<<20 {
		t.Fatalf("memory %+v", memory)
	}
	// Keeping one vector of the model's weights a round, 195 KB, would be 39 MB
	// over the half of the rounds that is watched.
	if grown := memory.LastRSS - memory.FirstRSS; grown > 10<<20 {
		t.Errorf("the memory grows by %d bytes in 200 rounds: %+v", grown, memory)
	}
	cfg.Tuners = host.Paths{}
	if _, err := bench.Run(t.Context(), cfg, nil); err == nil {
		t.Error("without the program it runs")
	}
}
