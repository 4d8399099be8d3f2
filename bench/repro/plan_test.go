package repro

import (
	"slices"
	"strings"
	"testing"

	"github.com/fedfast/fedfast/fl/study/config"
)

// TestPlan checks the order of jobs and their shards.
func TestPlan(t *testing.T) {
	here(t)
	jobs, _, err := Plan(t.Context(), smallCells(), Options{Seeds: 3}, "out")
	if err != nil {
		t.Fatal(err)
	}
	at := map[string]int{}
	seen := map[*Job]int{}
	for i, j := range jobs {
		at[j.Study] = i
		if j.From != "" {
			source, ok := at[j.From]
			if !ok || !jobs[source].Keep || jobs[source].group != j.group || jobs[source].Seed != j.Seed {
				t.Errorf("%s, seed %d, shares %s", j.Training.Key, j.Seed, j.From)
			}
		}
	}
	for i := 1; i <= 4; i++ {
		for _, j := range jobs {
			if j.In(Shard{i, 4}) {
				seen[j]++
			}
		}
	}
	for _, j := range jobs {
		if seen[j] != 1 {
			t.Errorf("%s, seed %d, is in %d shards", j.Training.Key, j.Seed, seen[j])
		}
	}
	tables, _, err := Plan(t.Context(), []Cell{{Name: "a", Training: &Training{
		Key: "t", Mode: config.ModeTune,
		Preset: "quickstart", Needs: "glyphs", OneTable: true, Shrink: shrinkFedex,
	}}}, Options{Seeds: 3}, "out")
	if err != nil {
		t.Fatal(err)
	}
	if tables[2].table != tables[0] || tables[2].group != tables[0].group {
		t.Errorf("the third seed looks up the table of %+v", tables[2].table)
	}
	only, _, err := Plan(t.Context(), smallCells(), Options{Seeds: 3, Only: []int{3, 1}}, "out")
	if err != nil || len(only) != len(jobs) {
		t.Errorf("%d jobs, of which some are asked for: %v", len(only), err)
	}
	for i, j := range only {
		if want := j.Seed != 2; j.In(Shard{}) != want || j.group != jobs[i].group ||
			j.In(Shard{1, 2}) != (want && jobs[i].In(Shard{1, 2})) {
			t.Errorf("seeds 1 and 3: %s, seed %d", j.Training.Key, j.Seed)
		}
	}
	third, _, err := Plan(t.Context(), []Cell{{Name: "a", Training: tables[0].Training}},
		Options{Seeds: 3, Only: []int{3}}, "out")
	if err != nil || !third[0].In(Shard{}) || third[1].In(Shard{}) || !third[2].In(Shard{}) {
		t.Errorf("the third seed without the one whose table it looks up: %v", err)
	}
	for _, seed := range []int{0, -1, 4} {
		if _, _, err := Plan(t.Context(), smallCells(), Options{Seeds: 3, Only: []int{seed}}, "out"); err == nil ||
			!strings.Contains(err.Error(), "must be between 1 and 3") {
			t.Errorf("seed %d of 3: %v", seed, err)
		}
	}
	missing := &Training{
		Key: "m", Mode: config.ModeTune, Preset: "quickstart", Needs: "cifar100", Seeds: 1,
		Shrink: shrinkFedex,
	}
	some, left, err := Plan(t.Context(), append(smallCells(), Cell{Name: "b", Training: missing}), Options{Seeds: 1},
		"out")
	if err != nil || len(some) != 4 || !slices.Equal(left, []string{"m"}) {
		t.Errorf("%d jobs, without %q: %v", len(some), left, err)
	}
	if _, _, err := Plan(t.Context(), []Cell{{Name: "b", Training: missing}}, Options{}, "out"); err == nil ||
		!strings.Contains(err.Error(), "data cifar100: ") {
		t.Errorf("got %v", err)
	}
	if _, _, err := Plan(t.Context(), smallCells(), Options{Scale: 0.05}, "out"); err == nil ||
		!strings.Contains(err.Error(), "small-personalized-alone: budget.") {
		t.Errorf("too small a budget: %v", err)
	}
	for _, text := range []string{"0/2", "3/2", "1", "a/b", "1/0", "-1/3"} {
		if err := new(Shard).Set(text); err == nil {
			t.Errorf("%q is a shard", text)
		}
	}
}
