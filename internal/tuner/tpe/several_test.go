package tpe

import (
	"math"
	"slices"
	"testing"

	"github.com/fedfast/fedfast/internal/tuner/internal/guided"
	"github.com/fedfast/fedfast/internal/tuner/internal/record"
	"github.com/fedfast/fedfast/tuners"
)

// TestSeveralAsOptuna compares the good of 60 trials in two and three losses, and their
// weights, with those of Optuna 3.1.0 (_split_observation_pairs and
// _calculate_weights_below_for_multi_objective).
func TestSeveralAsOptuna(t *testing.T) {
	var trials []guided.Trial
	for i := range 60 {
		losses := []float64{float64(7*i%60) / 60, float64((23*i+5)%60) / 60, float64(37*i*i%60) / 60}
		trials = append(trials, guided.Trial{Outcome: record.Outcome{Reported: true, Losses: losses}})
	}
	for _, c := range []struct {
		losses  int
		good    []int
		weights map[int]float64 // of those that are not next to 0
	}{
		{2, []int{0, 1, 5, 11, 26, 52}, map[int]float64{0: .832258065, 5: .056451613, 26: .064516129, 52: 1}},
		{2, []int{0, 1, 3, 5, 9, 11, 19, 21, 26, 52}, map[int]float64{0: .974193548, 5: .056451613, 26: .064516129, 52: 1}},
		{3, []int{0, 5, 13, 26, 52, 53}, map[int]float64{0: 1, 5: .00649004, 13: .004590736, 26: .00093615, 52: .144131104}},
		{3, []int{0, 5, 13, 26, 30, 35, 37, 43, 47, 52, 53, 55}, map[int]float64{
			0: 1, 5: .005101626, 13: .00360864,
			26: .000735879, 52: .113297129,
		}},
	} {
		cut, all := slices.Clone(trials), make([]int, len(trials))
		for i := range cut {
			cut[i].Losses, all[i] = cut[i].Losses[:c.losses], i
		}
		good := fittest(cut, all, len(c.good))
		slices.Sort(good)
		if !slices.Equal(good, c.good) {
			t.Errorf("%d losses: good are %v, Optuna's are %v", c.losses, good, c.good)
			continue
		}
		var best []guided.Trial
		for _, i := range good {
			best = append(best, cut[i])
		}
		for k, w := range worths(tuners.Aims{Objectives: make([]tuners.Objective, c.losses)}, best) {
			if want := c.weights[good[k]]; math.Abs(w-want) > 1e-8 {
				t.Errorf("%d losses: weight of trial %d is %v, Optuna's is %v", c.losses, good[k], w, want)
			}
		}
	}
}

// TestFeasibleTrialsAreGoodFirst prefers a worse score within the constraints, then the
// least violation.
func TestFeasibleTrialsAreGoodFirst(t *testing.T) {
	var trials []guided.Trial
	for i := range 30 {
		o := record.Outcome{Reported: true, Score: float64(i), Violation: float64(30 - i)}
		if i == 25 || i == 28 {
			o.Violation = 0
		}
		trials = append(trials, guided.Trial{Outcome: o})
	}
	good := split(tuners.Aims{Objectives: make([]tuners.Objective, 1), Constraints: make([]tuners.Constraint, 1)}, trials)
	for i, is := range good {
		if is != (i == 25 || i == 28 || i == 29) {
			t.Errorf("trial %d is good: %t", i, is)
		}
	}
}
