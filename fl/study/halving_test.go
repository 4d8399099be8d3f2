package study

import (
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"testing"

	"github.com/fedfast/fedfast/fl/study/config"
	"github.com/fedfast/fedfast/fl/study/result"
	"github.com/fedfast/fedfast/plugins"
	"github.com/fedfast/fedfast/tuners"
)

// twoClients has the recordings of trials in a federation of two clients with 3 and 1 samples.
type twoClients []Recording

func (c twoClients) Take(trial int, p tuners.Params) *Recording {
	c[trial].Params = p
	return &c[trial]
}

func (twoClients) Samples() (val, test []int, central int) { return []int{3, 1}, []int{3, 1}, 0 }

// TestHalvingByHand: errors of two clients in a shared cohort, of nine trials with rungs of 1, 3
// and 9 rounds. A score is the mean of the rounds since the rung before, each weighted by samples;
// three finalists are scored on all clients, stopped ones among them.
func TestHalvingByHand(t *testing.T) {
	nan := math.NaN()
	first := [][2]float64{
		{.4, .8}, {.6, .2}, {.3, .3}, {nan, nan}, {.9, .1}, {.2, .6}, {.55, .55}, {.45, .45}, {.1, .98},
	}
	later := map[int][][2]float64{
		2: {{.28, .28}, {.3, .3}, {.3, .3}},
		5: {{.3, .34}, {.25, .25}, {.26, .26}},
		8: {{.27, .27}, {.29, .29}, {.24, .24}},
	}
	for _, c := range []struct {
		rounds5   int // that trial 5 runs
		finalists []result.Finalist
	}{
		{9, []result.Finalist{
			{Trial: 5, Round: 9, Score: .26},
			{Trial: 8, Round: 3, Score: .24},
			{Trial: 2, Round: 3, Score: .3},
		}},
		{5, []result.Finalist{
			{Trial: 8, Round: 3, Score: .24},
			{Trial: 2, Round: 3, Score: .3},
			{Trial: 7, Round: 1, Score: .45},
		}},
	} {
		curves := make(twoClients, len(first))
		for i, e := range first {
			curves[i] = Recording{Trial: i, Rounds: 9}
			if math.IsNaN(e[0]) {
				curves[i].Rounds = 0
			} else if i == 5 {
				curves[i].Rounds = c.rounds5
			}
			all := append([][2]float64{e}, later[i]...)
			for round := range 10 {
				v := all[min(round, len(all)-1)]
				p := RecordedPoint{Round: round, Val: v[:], Test: v[:], TrainLoss: nan, Seconds: nan, SHA256: fmt.Sprint(i, round)}
				curves[i].Points = append(curves[i].Points, p)
			}
		}
		cfg := config.Default()
		cfg.Target, cfg.Cohort, cfg.Finalists.Survivors = "global", 2, 3
		cfg.Budget = config.Budget{Rounds: 21, TrialRounds: 9}
		cfg.Tuner.First, cfg.Tuner.Options = config.StartNone, map[string]any{"first_rung": int64(1)}
		cfg.Space = map[string]any{"client.lr": map[string]any{"log10": []any{-4.0, 0.0}}}
		r, err := Played{Config: cfg, Tuner: plugins.Builtin()["halving"], Curves: curves}.Play(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range []struct {
			trial, rung int
			score       float64
		}{{0, 0, .5}, {1, 0, .5}, {4, 0, .7}, {8, 0, .32}, {2, 1, .29}, {5, 1, .28}, {8, 1, .28}} {
			if got := r.Trials[want.trial].Rungs[want.rung].Score; math.Abs(got-want.score) > 1e-12 {
				t.Errorf("trial %d scores %v at rung %d, want %v", want.trial, got, want.rung, want.score)
			}
		}
		for i, f := range r.Finalists {
			r.Finalists[i] = result.Finalist{Trial: f.Trial, Round: f.Round, Score: math.Round(f.Score*1e9) / 1e9}
		}
		if !reflect.DeepEqual(r.Finalists, c.finalists) || r.Best.Number != 8 || r.Best.Round != 3 {
			t.Errorf("returned %d after %d of %+v, want trial 8 after 3 of %+v",
				r.Best.Number, r.Best.Round, r.Finalists, c.finalists)
		}
	}
}

// TestHalvingTrains: all trials of a study share their cohorts, trial 0 starts from the built-in
// values or the file's, and the number of workers changes no decision.
func TestHalvingTrains(t *testing.T) {
	for start, want := range map[string]float64{"": 0.05, config.StartFile: 0.1, config.StartNone: nanStart} {
		s := tuned(t, "halving")
		s.Config.Space = map[string]any{"client.lr": map[string]any{"log10": []any{-4.0, 0.0}}}
		s.Config.Client.LR, s.Config.Tuner.First = 0.1, start
		s.Config.Budget = config.Budget{Rounds: 24, TrialRounds: 9}
		rec := &recorder{}
		s.Observer = rec
		r, err := Tune(t.Context(), s)
		if err != nil {
			t.Fatal(err)
		}
		if got := r.Trials[0].Params.Float("client.lr", 0); want != nanStart && math.Abs(got-want) > 1e-12 {
			t.Errorf("start %q: trial 0 has client.lr = %v, want %v", start, got, want)
		}
		cohorts := map[int]map[string]bool{}
		for _, e := range rec.events {
			if e.Event == "round" {
				if cohorts[e.Round] == nil {
					cohorts[e.Round] = map[string]bool{}
				}
				cohorts[e.Round][fmt.Sprint(e.Clients)] = true
			}
		}
		for round, of := range cohorts {
			if len(of) != 1 {
				t.Errorf("round %d has the cohorts %v", round, slices.Sorted(maps.Keys(of)))
			}
		}
		s.Workers = 3
		again, err := Tune(t.Context(), s)
		if err != nil || again.WeightsSHA256 != r.WeightsSHA256 || len(again.Finalists) != len(r.Finalists) ||
			len(r.Finalists) < 3 {
			t.Errorf("with three workers: %v, %d and %d finalists", err, len(again.Finalists), len(r.Finalists))
		}
	}
}

// nanStart stands for no start.
const nanStart = -1
