package fl

import (
	"math"
	"strings"
	"testing"

	"github.com/fedfast/fedfast/data"
	"github.com/fedfast/fedfast/fl/hyper"
	"github.com/fedfast/fedfast/internal/test/fltest"
)

func TestLookup(t *testing.T) {
	cell := func(hi, samples, lr float64) hyper.Cell {
		return hyper.Cell{HI: hi, Samples: samples, Params: ClientParams{LR: lr}}
	}
	table := []hyper.Cell{cell(0.2, 100, 1), cell(0.2, 1000, 2), cell(0.6, 100, 3), cell(0.6, 1000, 4)}
	for _, c := range []struct{ hi, samples, lr float64 }{
		{0.1, 90, 1},
		{0.3, 2000, 2},
		{1, 100, 3},
		{0.6, 900, 4},
		{0.4, 1000, 2}, // midway: the lower column
		{0.2, 550, 1},  // midway: the lower row
		{0.9, 0, 3},    // the column counts first
	} {
		if got := lookup(table, c.hi, c.samples).LR; got != c.lr {
			t.Errorf("hi %v, %v samples: cell %v, want %v", c.hi, c.samples, got, c.lr)
		}
	}
}

func TestHeterogeneity(t *testing.T) {
	for want, counts := range map[float64][]int{
		0.8: {2, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0},
		1:   {0, 7, 0},
		0:   {1, 1, 1},
	} {
		if got := heterogeneity(counts); math.Abs(got-want) > 1e-15 {
			t.Errorf("counts %v of the classes give %v, want %v", counts, got, want)
		}
	}
	if got := heterogeneity(make([]int, 3)); got != 1 {
		t.Errorf("no samples give %v, want 1", got)
	}
}

// samplesOf returns how many samples a client has.
func samplesOf(c data.Client) int { return c.Train.Len() + c.Val.Len() + c.Test.Len() }

// TestTablesAreLookedUpByClients trains with a table and with the same
// hyperparameters a slot.
func TestTablesAreLookedUpByClients(t *testing.T) {
	fed := fltest.OpenGlyphs(t, 8, 40)
	e := newEngine(t, Config{Method: average(), Model: fltest.SmallCNN(t, fed), Data: fed, Cohort: 4, Seed: 1})
	low, high := hyper.DefaultClient(), hyper.DefaultClient()
	low.LR, high.LR = 0.01, 0.1
	middle := 0.0
	for _, c := range fed.Clients {
		middle += float64(samplesOf(c)) / float64(len(fed.Clients))
	}
	table := []hyper.Cell{{Samples: middle - 10, Params: low}, {Samples: middle + 10, Params: high}}
	tr, same := e.NewTrial(0), e.NewTrial(0)
	r, err := tr.Round(t.Context(), Plan{Server: hyper.DefaultServer(), Table: table})
	if err != nil {
		t.Fatal(err)
	}
	var each []ClientParams
	used := map[float64]bool{}
	for _, s := range r.Slots {
		want := low
		samples := samplesOf(fed.Clients[s.Client])
		if float64(samples) > middle {
			want = high
		}
		if s.Params.LR != want.LR {
			t.Errorf("a client of %d samples trains with lr %v, want %v", samples, s.Params.LR, want.LR)
		}
		used[s.Params.LR] = true
		each = append(each, want)
	}
	if len(used) != 2 {
		t.Fatalf("the cohort uses %v; both cells should be", used)
	}
	runRounds(t, same, Plan{Server: hyper.DefaultServer(), Clients: each}, 1)
	if a, b := e.Model().SHA256(tr.Weights()), e.Model().SHA256(same.Weights()); a != b {
		t.Errorf("with the table %s, with the same hyperparameters a slot %s", a, b)
	}
	_, err = tr.Round(t.Context(), Plan{Server: hyper.DefaultServer(), Table: table, Clients: each})
	if err == nil || !strings.Contains(err.Error(), "only one of the two") {
		t.Errorf("a plan with both: %v", err)
	}
	table[1].Params.LR = -1
	if _, err = tr.Round(t.Context(), Plan{Server: hyper.DefaultServer(), Table: table}); err == nil ||
		!strings.Contains(err.Error(), "client.lr") {
		t.Errorf("a bad cell: %v", err)
	}
}
