package repro

import (
	"bytes"
	"encoding/binary"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fedfast/fedfast/fl/study/config"
)

// barsFolder writes 500 images of 28 x 28 as Fashion-MNIST's files: a bar whose place is
// its class, 0 to 9.
func barsFolder(t *testing.T) string {
	dir := t.TempDir()
	for name, n := range map[string]int{"train": 400, "t10k": 100} {
		var images, labels bytes.Buffer
		for _, x := range []uint32{0x803, uint32(n), 28, 28} {
			images.Write(binary.BigEndian.AppendUint32(nil, x))
		}
		for _, x := range []uint32{0x801, uint32(n)} {
			labels.Write(binary.BigEndian.AppendUint32(nil, x))
		}
		for i := range n {
			labels.WriteByte(byte(i % 10))
			image := make([]byte, 28*28)
			for at := range 28 {
				image[28*(2*(i%10)+i/10%3)+at] = 255
			}
			images.Write(image)
		}
		for kind, content := range map[string][]byte{"images-idx3": images.Bytes(), "labels-idx1": labels.Bytes()} {
			if err := os.WriteFile(filepath.Join(dir, name+"-"+kind+"-ubyte"), content, 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	return dir
}

// TestPFLlib runs FedAvg and Ditto in both settings of the leaderboard, on small images
// and for two rounds: the rows have the published numbers, and the best and the last
// accuracy of a curve, of the clients' own models with Ditto.
func TestPFLlib(t *testing.T) {
	all := pfllibCells()
	var cells []Cell
	for _, c := range all {
		part := strings.Split(c.Name, "/")
		if method := part[2]; method != "fedavg" && method != "ditto" {
			continue
		}
		small := *c.Training
		small.Sets = override(small.Sets, []string{
			"data.clients=10", "data.min_samples=8", "cohort=10", "model=logistic", "client.batch=4", "client.lr=0.01",
			"rounds=2", "budget.rounds=2", "budget.trial_rounds=2",
		})
		c.Training = &small
		cells = append(cells, c)
	}
	jobs, _, err := Plan(t.Context(), cells, Options{Seeds: 1, Data: barsFolder(t)}, t.TempDir())
	if err != nil || len(jobs) != 4 {
		t.Fatal(len(jobs), err)
	}
	report, err := NewReport(cells, runAll(t, jobs))
	if err != nil {
		t.Fatal(err)
	}
	if len(report.Rows) != 8 || len(report.Verdicts) != 2 {
		t.Fatalf("%d rows, %d claims", len(report.Rows), len(report.Verdicts))
	}
	for _, row := range report.Rows {
		if x := row.Values[0]; !(x > 10 && x <= 100) {
			t.Errorf("%s: accuracy %v", row.Name, x)
		}
		curve := row.metrics[0].End.Curve
		if len(curve) != 2 || curve[1].Round != 2 {
			t.Fatalf("%s: measured at %v", row.Name, curve)
		}
		want := 100 * (1 - math.Min(curve[0].TestError, curve[1].TestError))
		if want := 100 * (1 - curve[1].TestError); strings.HasSuffix(row.Name, "/last") && row.Values[0] != want {
			t.Errorf("%s: %v, want %v", row.Name, row.Values[0], want)
		}
		if strings.HasSuffix(row.Name, "/best") && row.Values[0] != want {
			t.Errorf("%s: %v, want %v", row.Name, row.Values[0], want)
		}
	}
	if best := report.Rows[4].Published; report.Rows[4].Name != "pfllib/fmnist-pat2/fedavg/best" || best.Mean != 80.41 {
		t.Errorf("%s, published %+v", report.Rows[3].Name, best)
	}
}

// TestPFLlibTuned runs three methods of the tuned board, small: each has an error without
// tuning and one with it, and the table of orders has Kendall's tau of both.
func TestPFLlibTuned(t *testing.T) {
	t.Parallel()
	var cells []Cell
	for _, c := range boardCells() {
		method := strings.Split(c.Name, "/")[2]
		if method != "fedavg" && method != "fedprox" && method != "ditto" {
			continue
		}
		small := *c.Training
		sets := []string{
			"data.clients=10", "data.min_samples=8", "cohort=10", "model=logistic", "client.batch=4", "data.max_samples=40",
			"rounds=3", "budget.rounds=3", "budget.trial_rounds=3", "eval.every=3",
		}
		if small.Mode == config.ModeTune {
			sets = append(sets[:7:7], "budget.rounds=7", "budget.trial_rounds=4", "tuner.options.eliminations=1")
		}
		small.Sets = override(small.Sets, sets)
		c.Training = &small
		cells = append(cells, c)
	}
	jobs, _, err := Plan(t.Context(), cells, Options{Seeds: 1, Data: barsFolder(t)}, t.TempDir())
	if err != nil || len(jobs) != 6 {
		t.Fatal(len(jobs), err)
	}
	report, err := NewReport(cells, runAll(t, jobs))
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range report.Rows {
		if x := row.Values[0]; !(x >= 0 && x < 90) {
			t.Errorf("%s: error %v", row.Name, x)
		}
	}
	orders := report.orderTable()
	if len(orders.Rows) != 1 || orders.Rows[0][0] != "3" || orders.Rows[0][2] != "1" || strings.Count(orders.Rows[0][4], ",") != 2 {
		t.Errorf("orders: %v", orders.Rows)
	}
	tuned := map[string]float64{"ditto": 3, "fedavg": 2, "fedprox": 1}
	for i := range report.Rows {
		method := strings.Split(report.Rows[i].Name, "/")[2]
		x := tuned[method]
		if strings.HasSuffix(report.Rows[i].Name, "/untuned") {
			x = 10 * (4 - x) // the order turned round
		}
		report.Rows[i].Values[0] = x
	}
	if tau := report.orderTable().Rows[0][1]; tau != "-1.00" {
		t.Errorf("tau of opposite orders: %q", tau)
	}
	for i := range report.Rows {
		if r := &report.Rows[i]; r.Name == tunedBoard+"/ditto/sha" { // the trial that it kept failed: the worst
			r.Values[0], r.Sample.N = math.NaN(), 0
		}
	}
	if row := report.orderTable().Rows[0]; row[1] != "-1.00" || !strings.Contains(row[4], "ditto") || !strings.Contains(row[4], " (0 of 1 seeds)") {
		t.Errorf("order with a study that kept no trial: %q", row)
	}
}
