package study

import (
	"path/filepath"
	"testing"

	"github.com/fedfast/fedfast/data"
	"github.com/fedfast/fedfast/fl/study/config"
	"github.com/fedfast/fedfast/internal/test/npztest"
	"github.com/fedfast/fedfast/plugins"
)

// TestClientsAreLookedUpByAllTheirSamples hands clients of 80 and 100 samples a
// table with a row for each: those of 100 take theirs, though they train on 90 or
// 80 of them.
func TestClientsAreLookedUpByAllTheirSamples(t *testing.T) {
	path := filepath.Join(t.TempDir(), "own.npz")
	const train, test = 700, 140
	values := func(n int) (x []float32, y []int64) {
		for i := range n {
			x, y = append(x, float32(i%7), float32(i%5)), append(y, int64(i%5))
		}
		return x, y
	}
	x, y := values(train)
	xTest, yTest := values(test)
	npztest.Write(t, path, true,
		npztest.Array{Name: "x", Shape: []int{train, 2}, Values: x}, npztest.Array{Name: "y", Shape: []int{train}, Values: y},
		npztest.Array{Name: "x_test", Shape: []int{test, 2}, Values: xTest}, npztest.Array{
			Name: "y_test", Shape: []int{test},
			Values: yTest,
		})
	rates := map[int]float64{80: 0.01, 100: 0.02}
	for _, split := range []string{"90/10/files", "80/10/10"} {
		s := glyphStudy(t, plugins.Builtin()["fedtune-hrt"])
		c := &s.Config
		c.Space, c.Tuner.Name, c.Cohort, c.Sampling = nil, "fedtune-hrt", 6, "without"
		c.Data = config.Data{Config: data.Config{
			Name: "npz-vectors", Path: path, Split: split, Partition: "classes",
			ClientClasses: 5, Clients: 6, Sizes: []int{80, 100},
		}}
		c.Budget, c.Eval.Personalized, c.Select = config.Budget{Rounds: 1, TrialRounds: 1}, false, config.SelectPaper
		c.Tuner.Options = map[string]any{"table": "0 80 0.01 8 1; 0 100 0.02 8 1; 1 100 0.03 8 1"}
		var err error
		if s.Data, s.Model, err = config.Prepare(t.Context(), c); err != nil {
			t.Fatal(err)
		}
		seen := &watched{}
		s.method = seen.method(t, c.Method)
		if _, err := Tune(t.Context(), s); err != nil {
			t.Fatal(err)
		}
		want := map[float64]int{}
		for _, client := range s.Data.Clients {
			samples := client.Train.Len() + client.Val.Len()
			if !s.Data.FilesTest {
				samples += client.Test.Len()
			}
			if rates[samples] == 0 {
				t.Fatalf("%s: a client of %d samples", split, samples)
			}
			want[rates[samples]]++
		}
		got := map[float64]int{}
		for _, p := range seen.params {
			got[p.LR]++
		}
		if got[0.01] != want[0.01] || got[0.02] != want[0.02] || len(seen.params) != 6 {
			t.Errorf("%s: clients train with the learning rates %v, must with %v", split, got, want)
		}
	}
}
