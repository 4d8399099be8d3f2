package bench

import (
	"context"
	"math"
	"os"
	"testing"

	"github.com/fedfast/fedfast/bench/repro"
	"github.com/fedfast/fedfast/tuners/host"
)

// TestRunCluster measures a small cluster, of processes of the program too.
func TestRunCluster(t *testing.T) {
	if testing.Short() {
		t.Skip("lets the program work for seconds")
	}
	exe, err := os.Executable() // TestMain makes it the program
	if err != nil {
		t.Fatal(err)
	}
	report, err := Run(t.Context(), Config{Suites: []string{"cluster"}, Quick: true, Workers: 1, Tuners: host.Paths{Serve: []string{exe}}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]Result{}
	for _, r := range report.Results {
		found[r.Name] = r
	}
	if r := found["round"]; r.Seconds <= 0 || r.P99 < r.Seconds {
		t.Errorf("round %+v", r)
	}
	if c := found["turns"].Cluster; c == nil || c.TurnsPerSecond <= 0 {
		t.Errorf("turns %+v", c)
	}
	for _, name := range []string{"blob-there", "blob-back"} {
		if c := found[name].Cluster; c == nil || c.Readers != 1 || c.BytesPerSecond <= 0 {
			t.Errorf("%s %+v", name, c)
		}
	}
	for _, name := range []string{"two-workers", "shared-rounds"} {
		if c := found[name].Cluster; c == nil || c.Ratio <= 0 || found["one-process"].Seconds <= 0 {
			t.Errorf("%s %+v", name, c)
		}
	}
	if c := found["speed-up"].Cluster; c == nil || len(c.SpeedUps) != len(speedUpMachines) {
		t.Errorf("speed-up %+v", c)
	}
	if _, err := Run(t.Context(), Config{Suites: []string{"cluster"}}, nil); err == nil {
		t.Error("without the program it runs")
	}
}

// TestMakespan lays out successive halving of 27 trials, whose speed-ups can be told
// by hand: of 9, 3, 1 and 1 steps on three machines, say, there are 40.
func TestMakespan(t *testing.T) {
	e := errand{}
	for _, n := range []int{27, 9, 3, 1} {
		batch := make([]part, n)
		for i := range batch {
			batch[i].seconds = 2
		}
		e.batches = append(e.batches, batch)
	}
	for machines, steps := range map[int]float64{1: 40, 3: 14, 9: 6, 27: 4, 100: 4} {
		if got := makespan([]errand{e}, machines); got != 2*steps {
			t.Errorf("%d machines take %v s, not %v", machines, got, 2*steps)
		}
	}
	// Two studies fill what one leaves idle: 80 steps on three machines, of which the
	// second's last two are alone.
	if got, least := makespan([]errand{e, e}, 3), 2*math.Ceil(80.0/3); got < least || got > least+4 {
		t.Errorf("two studies take %v s on three machines, where %v are the least", got, least)
	}
	e.batches[0][0].extra = 1
	if got := e.alone(); got != 80 {
		t.Errorf("without a cluster it takes %v s", got)
	}
	if got := makespan([]errand{e}, 1); got != 81 {
		t.Errorf("with a cluster of one it takes %v s", got)
	}
}

// TestSchedules plays a study of FedEx's Table 1: 27 trials, of which a third goes on
// at each rung.
func TestSchedules(t *testing.T) {
	cells, err := repro.Select("fedex-table1/femnist-iid/sha/personalized/alone")
	if err != nil {
		t.Fatal(err)
	}
	all, err := repro.Schedules(context.Background(), cells, 1)
	if err != nil {
		t.Fatal(err)
	}
	if len(all) != 1 || all[0].Repeats != 10 || all[0].Seconds <= 0 || all[0].Bytes < 4<<20 {
		t.Fatalf("%+v", all)
	}
	var sizes []int
	for _, batch := range all[0].Batches {
		if len(batch) > 0 {
			sizes = append(sizes, len(batch))
		}
	}
	if len(sizes) < 3 || sizes[0] != 27 || sizes[1] != 9 || sizes[2] != 3 {
		t.Errorf("batches of %v trials", sizes)
	}
}
