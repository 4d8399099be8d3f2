package fedtune_test

import (
	"math"
	"reflect"
	"testing"

	"github.com/fedfast/fedfast/internal/test/playtest"
	"github.com/fedfast/fedfast/internal/tuner/fedtune"
	"github.com/fedfast/fedfast/tuners"
)

// mixedTrial is where a trial of a mixed search ran.
type mixedTrial struct {
	environment tuners.Environment
	cells       []tuners.Cell
}

// playMixed plays a mixed search with seed 9. The error of a trial is the mean of its cells'.
// A rate above 0.1 fails.
func playMixed(t *testing.T, o tuners.Params) ([]mixedTrial, []float64, tuners.Session) {
	t.Helper()
	var trials []mixedTrial
	var last tuners.Session
	score := func(trial int, _ tuners.Params, _ int) float64 {
		sum := 0.0
		for _, c := range trials[trial].cells {
			if c.Params.Float("client.lr", 0) > 0.1 {
				return math.NaN()
			}
			sum += surface(tuners.Environment{HI: c.Keys["hi"]}, c.Params)
		}
		return sum / float64(len(trials[trial].cells))
	}
	playtest.Study{
		Tuner: fedtune.Tuner, Request: request(o), Rungs: true, Score: score,
		Check: func(s tuners.Session, decisions []tuners.Decision) {
			last = s
			for _, d := range decisions {
				if d.Kind == tuners.Start {
					if d.Trial != len(trials) || len(d.Params) != 0 {
						t.Errorf("trial %d starts as %+v", len(trials), d)
					}
					trials = append(trials, mixedTrial{*d.Environment, d.Table})
				}
			}
		},
	}.Play(t)
	scores := make([]float64, len(trials))
	for i := range trials {
		scores[i] = score(i, nil, 0)
	}
	return trials, scores, last
}

// TestMixed fills a table on one federation with a client of each cell.
func TestMixed(t *testing.T) {
	o := small.Merge(tuners.Params{"mixed": tuners.Bool(true), "choices": tuners.Num(3), "scale": tuners.Num(0.1)})
	trials, scores, last := playMixed(t, o)
	table := looked(t, o, last.State())
	if len(table) != 4 || table[0].Keys["samples"] != 100 || table[3].Keys["samples"] != 1000 ||
		table[3].Keys["hi"] != 0.8 {
		t.Fatalf("table %v", table)
	}
	alike, best := 0, 0
	for i, trial := range trials {
		if trial.environment != trials[0].environment || trial.environment.Clients != 4 || trial.environment.Cohort != 4 ||
			len(trial.cells) != 4 {
			t.Fatalf("trial %d ran on %+v", i, trial)
		}
		if trial.cells[0].Keys["samples"] != 10 || trial.cells[1].Keys["samples"] != 100 || trial.cells[2].Keys["hi"] != 0.8 {
			t.Fatalf("trial %d: clients %v", i, trial.cells)
		}
		if alike == i && reflect.DeepEqual(trial.cells[0].Params, trial.cells[3].Params) {
			alike++
		}
		if scores[i] < scores[best] || math.IsNaN(scores[best]) {
			best = i
		}
	}
	if want := alike + 4*3; len(trials) != want || alike < 6 {
		t.Errorf("%d trials, the first %d of them with one point for all cells; want 3 further ones for each of 4 cells",
			len(trials), alike)
	}
	for i, c := range trials[best].cells {
		if !reflect.DeepEqual(c.Params, table[i].Params) {
			t.Errorf("cell %d holds %v, the best trial had %v", i, table[i].Params, c.Params)
		}
	}
	if reflect.DeepEqual(table[0].Params, table[2].Params) || best < alike {
		t.Errorf("cells of hi 0.2 and 0.8 have one point, %v (trial %d)", table[0].Params, best)
	}
	// Every trial changes one cell of the best before it.
	for i := alike; i < len(trials); i++ {
		differ := 0
		for cell, c := range trials[i].cells {
			if first := alike + 3*((i-alike)/3); !reflect.DeepEqual(c.Params,
				trials[lowest(scores[:first])].cells[cell].Params) {
				differ++
				if cell != (i-alike)/3 {
					t.Errorf("trial %d changes cell %d", i, cell)
				}
			}
		}
		if differ != 1 {
			t.Errorf("trial %d changes %d cells", i, differ)
		}
	}
}

// lowest returns the index of the lowest score, of equal ones the first.
func lowest(scores []float64) int {
	at := -1
	for i, x := range scores {
		if x == x && (at < 0 || x < scores[at]) {
			at = i
		}
	}
	return at
}
