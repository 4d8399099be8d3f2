package grid_test

import (
	"math"
	"strings"
	"testing"

	"github.com/fedfast/fedfast/internal/test/playtest"
	"github.com/fedfast/fedfast/internal/tuner/grid"
	"github.com/fedfast/fedfast/tuners"
	"github.com/fedfast/fedfast/tuners/host"
)

var space = tuners.Space{
	{Name: "client.batch", Kind: tuners.Log2, Lo: 3, Hi: 4},
	{Name: "client.lr", Kind: tuners.Log10, Lo: -4, Hi: 0},
	{Name: "client.method", Kind: tuners.Choice, Choices: []tuners.Value{tuners.Str("b"), tuners.Str("a")}},
}

func request(rounds, trialRounds int, options tuners.Params) tuners.OpenRequest {
	return tuners.OpenRequest{
		Space: space, Options: options, Seed: 5, Trial: tuners.StudySession,
		Budget: tuners.Budget{Rounds: rounds, TrialRounds: trialRounds},
	}
}

func TestOrderAndBudget(t *testing.T) {
	ctx := t.Context()
	req := request(125, 10, nil)
	s, err := host.Local(grid.Tuner).Open(ctx, req)
	if err != nil {
		t.Fatal(err)
	}
	decisions, err := s.Suggest(ctx, 1)
	if err != nil {
		t.Fatal(err)
	}
	want := strings.Split(strings.TrimSpace(`
client.batch=8 client.lr=0.0001 client.method=b
client.batch=8 client.lr=0.0001 client.method=a
client.batch=8 client.lr=0.01 client.method=b
client.batch=8 client.lr=0.01 client.method=a
client.batch=8 client.lr=1 client.method=b
client.batch=8 client.lr=1 client.method=a
client.batch=16 client.lr=0.0001 client.method=b
client.batch=16 client.lr=0.0001 client.method=a
client.batch=16 client.lr=0.01 client.method=b
client.batch=16 client.lr=0.01 client.method=a
client.batch=16 client.lr=1 client.method=b
client.batch=16 client.lr=1 client.method=a`), "\n")
	if len(decisions) != len(want) {
		t.Fatalf("%d trials, want %d", len(decisions), len(want))
	}
	for i, d := range decisions {
		if d.Kind != tuners.Start || d.Trial != i || d.ToRound != 10 || d.Params.String() != want[i] {
			t.Errorf("decision %d: %+v, want %s", i, d, want[i])
		}
	}
	// Trials 3 and 8 tie, 1 fails; the session is closed and opened again before
	// every report.
	for i := range decisions {
		req.State = s.State()
		if s, err = host.Local(grid.Tuner).Open(ctx, req); err != nil {
			t.Fatal(err)
		}
		if d, err := s.Suggest(ctx, 1); err != nil || len(d) != 1 || d[0].Kind != tuners.Wait {
			t.Fatalf("before report %d: %v, %v", i, d, err)
		}
		score := 1.0
		switch i {
		case 1:
			score = math.NaN()
		case 3, 8:
			score = 0.5
		}
		if err := s.Report(ctx, tuners.TrialReport{Trial: i, Round: 10, Score: score, Failed: i == 1}); err != nil {
			t.Fatal(err)
		}
	}
	if d, err := s.Suggest(ctx, 1); err != nil || len(d) != 1 || d[0].Kind != tuners.Done || d[0].Best != 3 {
		t.Errorf("at the end: %v, %v, want the best to be 3", d, err)
	}
}

func TestPoints(t *testing.T) {
	for _, c := range []struct {
		dim    tuners.Dim
		points int
		want   []float64
	}{
		{tuners.Dim{Kind: tuners.Uniform, Lo: 1, Hi: 2}, 1, []float64{1.5}},
		{tuners.Dim{Kind: tuners.Uniform, Lo: 1, Hi: 2}, 5, []float64{1, 1.25, 1.5, 1.75, 2}},
		{tuners.Dim{Kind: tuners.Uniform, Lo: 1, Hi: 1}, 5, []float64{1}},
		{tuners.Dim{Kind: tuners.Log10OneMinus, Lo: -2, Hi: -1}, 2, []float64{0.99, 0.9}},
		{tuners.Dim{Kind: tuners.Int, Lo: -1, Hi: 2}, 2, []float64{-1, 0, 1, 2}},
		{tuners.Dim{Kind: tuners.Int, Base: 10, Step: 8, Hi: 2}, 9, []float64{10, 18, 26}},
		{tuners.Dim{Kind: tuners.Uniform, Base: 0.1, Step: 0.1, Hi: 2}, 9, []float64{0.1, 0.2, 0.3}},
		{tuners.Dim{Kind: tuners.Log2, Lo: -1, Hi: 2}, 2, []float64{0.5, 1, 2, 4}},
	} {
		c.dim.Name = "x"
		s := tuners.Space{c.dim}
		n, all := grid.Count(s, c.points, 100)
		if n != len(c.want) || !all {
			t.Errorf("%s: %d points, want %d", c.dim, n, len(c.want))
			continue
		}
		for i, w := range c.want {
			p := grid.Point(s, c.points, i)
			if x := p.Float("x", 0); x != w || s.Contains(p) != nil {
				t.Errorf("%s: point %d is %v, want %v", c.dim, i, x, w)
			}
		}
	}
	wide := tuners.Space{
		{Name: "a", Kind: tuners.Int, Lo: -1 << 52, Hi: 1 << 52},
		{Name: "b", Kind: tuners.Int, Lo: -1 << 52, Hi: 1 << 52},
	}
	if n, all := grid.Count(wide, 3, 1000); n != 1000 || all {
		t.Errorf("a huge grid: %d, %t", n, all)
	}
	if n, all := grid.Count(nil, 3, 1000); n != 1 || !all {
		t.Errorf("an empty space: %d, %t, want its one point", n, all)
	}
}

func TestValidate(t *testing.T) {
	for _, c := range []struct {
		rounds, trialRounds int
		options             tuners.Params
		key, message        string
	}{
		{120, 10, nil, "", ""},
		{40, 10, tuners.Params{"points": tuners.Num(1)}, "", ""},
		{
			119, 10, nil, "budget.rounds",
			"only 11 trials of 10 rounds fit into 119 rounds, but the grid has 12: raise budget.rounds, lower options.points or narrow the space",
		},
		{119, 10, tuners.Params{"points": tuners.Num(1e6)}, "budget.rounds", "the grid has 4e+06"},
		{9, 10, nil, "budget.rounds", "budget.rounds = 9 is less than one trial of 10 rounds"},
		{-9, 10, nil, "budget.rounds", "is less than one trial"},
		{9, 0, nil, "budget.trial_rounds", "at least 1 round, not 0"},
		{
			120, 10,
			tuners.Params{"points": tuners.Num(0)},
			"options.points",
			"points must be an integer from 1 to 1000000, not 0",
		},
		{120, 10, tuners.Params{"point": tuners.Num(1)}, "options.point", "available: points"},
	} {
		playtest.Rejects(t, grid.Tuner, tuners.ValidateRequest{
			Space: space, Options: c.options,
			Budget: tuners.Budget{Rounds: c.rounds, TrialRounds: c.trialRounds},
		}, c.key, c.message)
		if _, err := grid.Tuner.Open(t.Context(), request(c.rounds, c.trialRounds,
			c.options)); (err == nil) != (c.key == "") {
			t.Errorf("T=%d M=%d %v: Open says %v", c.rounds, c.trialRounds, c.options, err)
		}
	}
}
