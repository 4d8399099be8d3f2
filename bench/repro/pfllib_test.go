package repro

import (
	"bytes"
	"encoding/binary"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
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
