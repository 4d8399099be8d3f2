package choose

import (
	"math"
	"slices"
	"testing"

	"github.com/fedfast/fedfast/fl/fleet"
	"github.com/fedfast/fedfast/fl/internal/clock"
	"github.com/fedfast/fedfast/kernels"
)

func keyed(draw uint64) uint64 { return kernels.Key(1, draw) }

// pick returns the clients of a choice without a fleet, after which they may be chosen again.
func pick(t testing.TB, c Chooser, n int, draw uint64) []int32 {
	t.Helper()
	got, err := c.Choose(t.Context(), clock.Choice{Number: n, Draw: draw})
	if err != nil {
		t.Fatal(err)
	}
	got = slices.Clone(got)
	for _, client := range got {
		c.Put(client)
	}
	return got
}

// near reports an x that is not within a share of what it is to be.
func near(t *testing.T, what string, x, want, within float64) {
	t.Helper()
	if !(math.Abs(x-want) <= within) {
		t.Errorf("%s: %v, want %v", what, x, want)
	}
}

// TestOortsUtilities compares utilities with the formulas of the paper, for clients of known
// utilities and times: equally useful but for 0 and 9, of 1 s but for 8, which takes 4 s.
func TestOortsUtilities(t *testing.T) {
	bonus := math.Sqrt(0.1 * math.Log(10) / 9)
	for clip, want := range map[float64]map[int32]float64{
		0.8:  {0: bonus, 1: 1 + bonus, 8: (1 + bonus) / 16, 9: 1 + bonus}, // at the second highest of ten
		0.95: {1: 5./995 + bonus, 9: 1 + bonus},
	} {
		cfg := fleet.DefaultSampler()
		cfg.Clip = clip
		c := NewOort(cfg, make([]int64, 20), keyed)
		c.Reset(nil)
		var results []Result
		for i := range int32(10) {
			r := Result{Client: i, Samples: 10, Squared: 1, Seconds: 1}
			switch i {
			case 0:
				r.Samples = 5
			case 8:
				r.Seconds = 4
			case 9:
				r.Squared = 10000
			}
			results = append(results, r)
		}
		c.Learn(9, results)
		for client, want := range want {
			near(t, "utility", c.utility(&c.known[c.at[client]]), want, 1e-6)
		}
	}
}

// TestOortsChoices: half of the clients are new, as often as their devices are fast; the others
// are those that come close to the highest utility.
func TestOortsChoices(t *testing.T) {
	cfg := fleet.DefaultSampler()
	cfg.Exploration, cfg.ExplorationDecay, cfg.Clip = 0.5, 1, 0.8
	speeds := make([]float64, 24)
	for i := range speeds {
		speeds[i] = 1
	}
	speeds[23] = 4
	c := NewOort(cfg, Weights(speeds), keyed)
	c.Reset(nil)
	var results []Result
	for i := range int32(10) {
		results = append(results, Result{Client: i, Samples: 10, Squared: 1, Seconds: 1})
	}
	results[0].Samples, results[8].Seconds, results[9].Squared = 5, 4, 10000
	c.Learn(9, results)
	fresh, fast := 0, 0
	const trials = 2000
	for n := range uint64(trials) {
		picked := pick(t, c, 3, n)
		if slices.Sort(picked); len(slices.Compact(picked)) != 3 || slices.Contains(picked, 0) || slices.Contains(picked, 8) {
			t.Fatalf("picked %v", picked)
		}
		for _, client := range picked {
			if client >= 10 {
				fresh++
			}
			if client == 23 {
				fast++
			}
		}
	}
	near(t, "share of new clients", float64(fresh)/(3*trials), 0.5, 4*math.Sqrt(0.25/6000))
	// of 1, 1.5 and 2 that are new in a choice, each time in proportion: first 4/17
	near(t, "choices of the fast one", float64(fast)/trials, 0.5*4/17+0.5*(4./17+13./17*4/16), 0.05)
}

// TestPacer: utilities that fall raise the quantile of the clients' times.
func TestPacer(t *testing.T) {
	cfg := fleet.DefaultSampler()
	cfg.PaceRounds = 2
	c := NewOort(cfg, make([]int64, 2), keyed)
	c.Reset(nil)
	for i, want := range []float64{0.3, 0.3, 0.3, 0.35, 0.35, 0.35} {
		c.Learn(i+1, []Result{{Client: 1, Samples: 10, Squared: []float64{4, 4, 1, 1, 1, 1}[i], Seconds: 1}})
		near(t, "quantile", float64(c.pace.quantile), want, 1e-6)
	}
	near(t, "utility of 10 samples with losses of 1", float64(c.known[0].utility), 10, 0)
}

// TestRareRankings: a ranking that is not made anew after each round has the order that one
// made of its scale has.
func TestRareRankings(t *testing.T) {
	cfg := fleet.DefaultSampler()
	c := NewOort(cfg, make([]int64, 1000), keyed)
	c.Reset(nil)
	draws := kernels.NewStream(1, 1)
	stale := 0
	for round := range 300 {
		var results []Result
		for range 7 {
			results = append(results, Result{
				Client: int32(draws.IntN(1000)), Samples: 1 + draws.IntN(50),
				Squared: draws.Float64(), Seconds: draws.Float64(), Lost: draws.IntN(5) == 0,
			})
		}
		if c.Learn(round+1, results); c.results > 0 {
			stale++
		}
		got, n := make([]int32, 0, c.ranking.Len()), c.ranking.Len()
		for rank := range n {
			got = append(got, c.ranking.At(rank).Client)
		}
		again := NewOort(cfg, make([]int64, 1000), keyed)
		if err := again.Load(c.State()); err != nil {
			t.Fatal(err)
		}
		again.Reset(nil)
		for rank := range n {
			if want := again.ranking.At(rank).Client; got[rank] != want {
				t.Fatalf("round %d: rank %d has client %d, want %d", round, rank, got[rank], want)
			}
		}
		if n != len(c.known) || again.ranking.Len() != n {
			t.Fatalf("%d and %d clients are ranked, of %d", n, again.ranking.Len(), len(c.known))
		}
	}
	if stale < 50 {
		t.Errorf("the ranking was older than its clients in %d rounds", stale)
	}
}
