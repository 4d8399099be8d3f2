package repro

import (
	"math"
	"testing"

	"github.com/fedfast/fedfast/fl/study/workdir"
)

// TestFullCounts splits the whole sets by hand.
func TestFullCounts(t *testing.T) {
	for name, want := range map[string]workdir.Counts{
		// 226.8 samples a writer
		"fedex-table1/femnist-iid/sha/global/alone": {Clients: 3550, Train: 181.5, Val: 22.7, Test: 22.7},
		// a tenth is test, of the others a twentieth validation
		"fathom-table1/base/fathom": {Clients: 3550, Train: 193.9, Val: 10.2, Test: 22.7},
		// 500 clients of 100, and 10,000 test images
		"fedex-table1/cifar10-iid/rs/global/fedex": {Clients: 500, Train: 80, Val: 20, Test: 20},
		// 100 to 1,000 samples, 516.7 in the mean
		"fedtune-table1/fmnist/global": {Clients: 50, Train: 465, Val: 51.7, Test: 200},
		// all 70,000 samples
		"pfllib/fmnist-dir01/fedavg":    {Clients: 20, Train: 2625, Test: 875},
		"fedtune-table1/femnist/global": {Clients: 192, Train: 465, Val: 51.7, Test: 419.4},
	} {
		cells, err := Select(name)
		if err != nil {
			t.Fatal(err)
		}
		c, _, err := cells[0].Training.config(Options{}, 1, "")
		if err != nil {
			t.Fatal(err)
		}
		got := papers().Data[cells[0].Training.Needs].counts(c)
		near := func(a, b float64) bool { return math.Abs(a-b) < 0.06 }
		if got.Clients != want.Clients || !near(got.Train, want.Train) || !near(got.Val, want.Val) ||
			!near(got.Test, want.Test) {
			t.Errorf("%s: %+v, want %+v", name, got, want)
		}
	}
}

// TestListWithoutData names what is missing without failing.
func TestListWithoutData(t *testing.T) {
	cells, err := Select("fedex-table1/cifar10-iid/rs/global")
	if err != nil {
		t.Fatal(err)
	}
	cells = append(cells, Cell{Name: "elsewhere", Why: "it cannot be run"})
	entries, err := List(t.Context(), cells, Options{Data: t.TempDir(), Seeds: 2, Scale: 0.01}, 1)
	if err != nil {
		t.Fatal(err)
	}
	if len(entries) != 3 || entries[0].AtHand || entries[0].Seeds != 2 || entries[0].SecondsEstimate == nil ||
		*entries[0].SecondsEstimate <= 0 {
		t.Errorf("%+v", entries)
	}
	// 40 rounds of 10 clients and the personalization of 500, 80 images each in 3 passes in the
	// mean: 336,000 images of 42 MFLOP (bench/results/nn-zen4.json) are 1.4e13; test images
	// come on top, for after every round 10,000 of them are looked at.
	if f := entries[0].FLOP; f < 1.4e13 || f > 2.8e13 {
		t.Errorf("%v operations", f)
	}
	if entries[2].SecondsEstimate != nil || entries[2].Why == "" {
		t.Errorf("%+v", entries[2])
	}
}
