package bo_test

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/fedfast/fedfast/internal/test/playtest"
	"github.com/fedfast/fedfast/internal/tuner/bo"
	"github.com/fedfast/fedfast/internal/tuner/grid"
	"github.com/fedfast/fedfast/internal/tuner/internal/gp"
	"github.com/fedfast/fedfast/internal/tuner/random"
	"github.com/fedfast/fedfast/tuners"
)

var space = tuners.Space{
	{Name: "client.lr", Kind: tuners.Log10, Lo: -4, Hi: 0},
	{Name: "client.momentum", Kind: tuners.Uniform, Lo: 0, Hi: 1},
}

// mixed has every kind of dimension.
var mixed = tuners.Space{
	{Name: "client.batch", Kind: tuners.Log2, Lo: 3, Hi: 7},
	{Name: "client.epochs", Kind: tuners.Int, Lo: 1, Hi: 5},
	{Name: "client.lr", Kind: tuners.Log10, Lo: -4, Hi: 0},
	{Name: "client.momentum", Kind: tuners.Uniform, Lo: 0, Hi: 1},
	{Name: "server.decay", Kind: tuners.Log10OneMinus, Lo: -4, Hi: -2},
	{Name: "server.rule", Kind: tuners.Choice, Choices: []tuners.Value{
		tuners.Str("adam"), tuners.Str("sgd"),
		tuners.Bool(true),
	}},
}

// bowl is smooth, lowest (0) at client.lr = 10^-2.3, client.momentum = 0.3.
func bowl(_ int, p tuners.Params, _ int) float64 {
	x, y := math.Log10(p.Float("client.lr", 0))+2.3, p.Float("client.momentum", 0)-0.3
	s := 0.1*x*x + y*y + 0.1*x*y
	return s / (1 + s)
}

func study(tuner tuners.Tuner, s tuners.Space, t, m int, options tuners.Params) playtest.Study {
	return playtest.Study{Tuner: tuner, Score: bowl, Request: tuners.OpenRequest{
		Space: s, Options: options, Budget: tuners.Budget{Rounds: t, TrialRounds: m}, Seed: 2, Trial: tuners.StudySession,
	}}
}

func TestBeatsRandomSearch(t *testing.T) {
	const seeds, trials = 8, 20
	wins := 0
	var ours, theirs float64
	for seed := range uint64(seeds) {
		var best [2]float64
		for i, tuner := range []tuners.Tuner{bo.Tuner, random.Tuner} {
			s := study(tuner, space, trials*3, 3, nil)
			s.Request.Seed = seed
			r := s.Play(t)
			best[i] = bowl(0, r.Params[r.Best], 3)
			if r.Spent != trials*3 || len(r.Params) != trials {
				t.Errorf("%d trials and %d rounds, want %d and %d", len(r.Params), r.Spent, trials, trials*3)
			}
		}
		ours, theirs = ours+best[0]/seeds, theirs+best[1]/seeds
		if best[0] < best[1] {
			wins++
		}
	}
	t.Logf("mean best error of %d trials: bo %.2g, random %.2g; bo is better with %d of %d seeds", trials, ours, theirs,
		wins, seeds)
	if wins < seeds-1 || ours > theirs/10 {
		t.Errorf("mean best error %v, random search %v; better with %d of %d seeds", ours, theirs, wins, seeds)
	}
}

func TestFirstTrialsAreThoseOfRandomSearch(t *testing.T) {
	r := study(bo.Tuner, mixed, 100, 10, tuners.Params{"init": tuners.Num(4)}).Play(t)
	other := study(random.Tuner, mixed, 100, 10, nil).Play(t)
	if len(r.Stages[0]) != 4 || len(r.Params) != 10 {
		t.Errorf("%d random trials of %d, want 4 of 10", len(r.Stages[0]), len(r.Params))
	}
	for i, p := range r.Ordered() {
		if same := p.Equal(other.Params[i]); same != (i < 4) {
			t.Errorf("trial %d: %s, random search has %s", i, p, other.Params[i])
		}
	}
}

// finite has 5 x 4 points.
var finite = tuners.Space{
	{Name: "client.epochs", Kind: tuners.Int, Lo: 1, Hi: 5},
	{Name: "client.lr", Kind: tuners.Choice, Choices: []tuners.Value{
		tuners.Num(0.1), tuners.Num(0.01), tuners.Num(0.001),
		tuners.Num(0.0001),
	}},
}

// TestProposesTheLargestExpectedImprovement works out every proposal in a space
// that can be listed.
func TestProposesTheLargestExpectedImprovement(t *testing.T) {
	score := func(_ int, p tuners.Params, _ int) float64 {
		e := p.Float("client.epochs", 0)
		return (e-4)*(e-4) + 3*math.Abs(math.Log10(p.Float("client.lr", 0))+3)
	}
	features := func(p tuners.Params) []float64 {
		f := []float64{(p.Float("client.epochs", 0) - 1) / 4, 0, 0, 0, 0}
		f[1+slices.Index(finite[1].Choices, p["client.lr"])] = 1
		return f
	}
	s := study(bo.Tuner, finite, 14, 1, nil)
	s.Score = score
	trials := s.Play(t).Ordered()
	for n := 5; n < len(trials); n++ {
		var x [][]float64
		var y []float64
		for _, p := range trials[:n] {
			x, y = append(x, features(p)), append(y, score(0, p, 0))
		}
		sorted := slices.Sorted(slices.Values(y))
		for i := range y { // far outcomes are bounded
			y[i] = min(y[i], sorted[0]+5*(sorted[n/2]-sorted[0]))
		}
		process, err := gp.New(gp.Fit(x, y, 50), x, y)
		if err != nil {
			t.Fatal(err)
		}
		best := math.Inf(1)
		for _, f := range x {
			mean, _ := process.Predict(f)
			best = min(best, mean)
		}
		var want tuners.Params
		top := -1.0
		for i := range 20 {
			p := grid.Point(finite, 1, i)
			mean, deviation := process.Predict(features(p))
			tried := slices.ContainsFunc(trials[:n], p.Equal)
			if gain := gp.ExpectedImprovement(mean, deviation, best); !tried && gain > top {
				want, top = p, gain
			}
		}
		if !trials[n].Equal(want) {
			t.Errorf("trial %d is %s, want %s", n, trials[n], want)
		}
	}
}

func TestNoPointRepeatsUntilAllAreTried(t *testing.T) {
	s := study(bo.Tuner, finite, 30, 1, tuners.Params{"init": tuners.Num(1)})
	s.Parallel = 3
	trials := s.Play(t).Ordered()
	seen := map[string]int{}
	for i, p := range trials {
		if seen[p.String()]++; i < 20 && seen[p.String()] > 1 {
			t.Errorf("trial %d repeats %s", i, p)
		}
	}
	if len(trials) != 30 || len(seen) != 20 {
		t.Errorf("%d trials at %d points, want 30 at 20", len(trials), len(seen))
	}
}

func TestTrialsInFlightSpread(t *testing.T) {
	s := study(bo.Tuner, space, 16, 1, nil)
	s.Parallel, s.Rungs = 4, true // 5 random ones, then 4 + 4 + 3 that are proposed together
	r := s.Play(t)
	if sizes := []int{len(r.Stages[0]), len(r.Stages[1]), len(r.Stages[2]), len(r.Stages[3])}; !slices.Equal(sizes,
		[]int{5, 4, 4, 3}) {
		t.Fatalf("%v trials together", sizes)
	}
	for i, p := range r.Ordered() {
		for j, q := range r.Ordered()[:i] {
			a, b := math.Log10(p.Float("client.lr", 0)/q.Float("client.lr", 0))/4,
				p.Float("client.momentum", 0)-q.Float("client.momentum", 0)
			if i < 9 && math.Hypot(a, b) < 0.02 {
				t.Errorf("trials %d and %d nearly coincide: %s, %s", j, i, q, p)
			}
		}
	}
}

func TestGoesOnFromItsState(t *testing.T) {
	s := study(bo.Tuner, mixed, 12, 1, nil)
	s.Reopened(t, 1, 3)
	s.Parallel, s.Next = 3, func(running []int) int { return len(running) - 1 }
	s.Reopened(t, 1, 2)
	req := s.Request
	req.State = []byte(`{"trials":[{"point":[1]}]}`)
	if _, err := bo.Tuner.Open(t.Context(), req); err == nil || !strings.Contains(err.Error(),
		"trial 0 has 1 coordinates, the space has 6") {
		t.Errorf("a state of another space: %v", err)
	}
	req.State = []byte(`{`)
	if _, err := bo.Tuner.Open(t.Context(), req); err == nil || !strings.Contains(err.Error(), "damaged") {
		t.Errorf("half a state: %v", err)
	}
}

func TestOrderOfReportsChangesNothing(t *testing.T) {
	s := study(bo.Tuner, mixed, 9, 1, nil)
	s.Parallel = 2
	s.InAnyOrder(t)
}

func TestFailedTrials(t *testing.T) {
	s := study(bo.Tuner, space, 20, 1, nil)
	s.Score = func(int, tuners.Params, int) float64 { return math.NaN() }
	r := s.Play(t)
	points := map[string]bool{}
	for _, p := range r.Params {
		points[p.String()] = true
	}
	if r.Best != -1 || len(points) != 20 {
		t.Errorf("all fail: best %d, %d points of 20 trials", r.Best, len(points))
	}
	// Above 0.1 training diverges, to a huge score or to none.
	failures := 0
	s.Score = func(trial int, p tuners.Params, round int) float64 {
		switch {
		case p.Float("client.lr", 0) <= 0.1:
			return bowl(trial, p, round)
		case trial%2 == 0:
			failures++
			return 1e200
		}
		failures++
		return math.NaN()
	}
	r = s.Play(t)
	if best := bowl(0, r.Params[r.Best], 0); best > 0.01 || failures > 6 {
		t.Errorf("with a cliff: best error %v, %d of 20 trials beyond it", best, failures)
	}
}

func TestMaximize(t *testing.T) {
	s := study(bo.Tuner, mixed, 12, 1, nil)
	down := s.Play(t)
	s.Request.Objective.Direction = tuners.Maximize
	s.Score = func(trial int, p tuners.Params, round int) float64 { return -bowl(trial, p, round) }
	up := s.Play(t)
	if up.Best != down.Best || !slices.Equal(up.Log, down.Log) {
		t.Errorf("maximizing -f: best %d, want %d as in minimizing f", up.Best, down.Best)
	}
}

func TestASpaceOfOnePoint(t *testing.T) {
	one := tuners.Space{{Name: "client.lr", Kind: tuners.Log10, Lo: -2, Hi: -2}, {
		Name: "x", Kind: tuners.Choice,
		Choices: []tuners.Value{tuners.Num(1)},
	}}
	s := study(bo.Tuner, one, 7, 1, nil)
	s.Score = func(trial int, _ tuners.Params, _ int) float64 { return float64(trial % 2) }
	if r := s.Play(t); len(r.Params) != 7 || r.Best != 0 {
		t.Errorf("%d trials, best %d", len(r.Params), r.Best)
	}
}

func TestValidate(t *testing.T) {
	for _, c := range []struct {
		t, m         int
		options      tuners.Params
		key, message string
	}{
		{60, 10, nil, "", ""},
		{60, 10, tuners.Params{"trials": tuners.Num(2), "init": tuners.Num(1)}, "", ""},
		{1_000_000, 1, nil, "", ""},
		{
			59, 10, nil, "options.init",
			"5 random trials leave none of 5 for the model: lower options.init or raise budget.rounds",
		},
		{
			60, 10,
			tuners.Params{"trials": tuners.Num(7)},
			"options.trials",
			"7 trials of 10 rounds exceed budget.rounds = 60; at most 6 fit",
		},
		{9, 10, nil, "budget.rounds", "budget.rounds = 9 is less than one trial of 10 rounds"},
		{60, 0, nil, "budget.trial_rounds", "at least 1 round, not 0"},
		{60, 10, tuners.Params{"init": tuners.Num(0)}, "options.init", "init must be an integer from 1 to 500, not 0"},
		{60, 10, tuners.Params{"trials": tuners.Num(501)}, "options.trials", "from 0 to 500, not 501"},
		{60, 10, tuners.Params{"candidates": tuners.Num(1.5)}, "options.candidates", "from 1 to 16384, not 1.5"},
		{60, 10, tuners.Params{"xi": tuners.Num(1)}, "options.xi", "available: init, trials, candidates"},
	} {
		playtest.Rejects(t, bo.Tuner, tuners.ValidateRequest{
			Space: space, Options: c.options,
			Budget: tuners.Budget{Rounds: c.t, TrialRounds: c.m},
		}, c.key, c.message)
	}
}

// BenchmarkPropose is the time of one proposal after n trials in six dimensions
// (eight features).
func BenchmarkPropose(b *testing.B) {
	for _, n := range []int{20, 100, 400} {
		b.Run(fmt.Sprintf("n=%d", n), func(b *testing.B) {
			ctx := b.Context()
			req := study(bo.Tuner, mixed, n+1, 1, tuners.Params{"init": tuners.Num(float64(n))}).Request
			s, err := bo.Tuner.Open(ctx, req)
			if err != nil {
				b.Fatal(err)
			}
			decisions, err := s.Suggest(ctx, 1)
			if err != nil {
				b.Fatal(err)
			}
			for _, d := range decisions {
				if err := s.Report(ctx, tuners.TrialReport{Trial: d.Trial, Round: 1, Score: bowl(0, d.Params, 1)}); err != nil {
					b.Fatal(err)
				}
			}
			req.State = s.State()
			for b.Loop() {
				if s, err = bo.Tuner.Open(ctx, req); err != nil {
					b.Fatal(err)
				}
				if _, err := s.Suggest(ctx, 1); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkStudy is a whole study in six dimensions, one trial at a time.
func BenchmarkStudy(b *testing.B) {
	for _, n := range []int{100, 500} {
		b.Run(fmt.Sprintf("n=%d", n), func(b *testing.B) {
			for b.Loop() {
				s := study(bo.Tuner, mixed, n, 1, nil)
				s.Play(b)
			}
			b.ReportMetric(float64(b.Elapsed().Milliseconds())/float64(b.N*n), "ms/trial")
		})
	}
}
