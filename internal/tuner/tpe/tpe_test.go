package tpe_test

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/fedfast/fedfast/internal/test/playtest"
	"github.com/fedfast/fedfast/internal/tuner/random"
	"github.com/fedfast/fedfast/internal/tuner/tpe"
	"github.com/fedfast/fedfast/tuners"
)

var rules = []tuners.Value{tuners.Str("adam"), tuners.Str("sgd"), tuners.Bool(true)}

// mixed has every kind of dimension, and two of one value.
var mixed = tuners.Space{
	{Name: "client.batch", Kind: tuners.Log2, Lo: 3, Hi: 7},
	{Name: "client.epochs", Kind: tuners.Int, Lo: 1, Hi: 5},
	{Name: "client.lr", Kind: tuners.Log10, Lo: -4, Hi: 0},
	{Name: "client.momentum", Kind: tuners.Uniform, Lo: 0, Hi: 1},
	{Name: "client.one", Kind: tuners.Choice, Choices: []tuners.Value{tuners.Num(1)}},
	{Name: "client.two", Kind: tuners.Log10, Lo: -2, Hi: -2},
	{Name: "server.decay", Kind: tuners.Log10OneMinus, Lo: -4, Hi: -2},
	{Name: "server.rule", Kind: tuners.Choice, Choices: rules},
}

// bowl is lowest (0) at client.lr = 10^-2.3, client.momentum = 0.3 and server.rule = sgd.
func bowl(_ int, p tuners.Params, _ int) float64 {
	x, y := math.Log10(p.Float("client.lr", 0))+2.3, p.Float("client.momentum", 0)-0.3
	s := 0.1*x*x + y*y + 0.1*x*y
	if p["server.rule"] != tuners.Str("sgd") {
		s += 0.1
	}
	return s
}

func study(tuner tuners.Tuner, trials int) playtest.Study {
	return playtest.Study{Tuner: tuner, Score: bowl, Request: tuners.OpenRequest{
		Space: mixed, Budget: tuners.Budget{Rounds: 3 * trials, TrialRounds: 3}, Seed: 2, Trial: tuners.StudySession,
	}}
}

func TestBeatsRandomSearch(t *testing.T) {
	const seeds, trials = 10, 60
	wins := 0
	var ours, theirs float64
	for seed := range uint64(seeds) {
		var best [2]float64
		for i, tuner := range []tuners.Tuner{tpe.Tuner, random.Tuner} {
			s := study(tuner, trials)
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
	t.Logf("mean best error: tpe %.2g, random %.2g; tpe is better with %d of %d seeds", ours, theirs, wins, seeds)
	if wins < seeds-2 || ours > theirs/3 {
		t.Errorf("mean best error %v, random search %v; better with %d of %d seeds", ours, theirs, wins, seeds)
	}
}

func TestFirstTrialsAreThoseOfRandomSearch(t *testing.T) {
	r := study(tpe.Tuner, 20).Play(t)
	other := study(random.Tuner, 20).Play(t)
	if len(r.Stages[0]) != 10 || len(r.Params) != 20 {
		t.Errorf("%d random trials of %d, want 10 of 20", len(r.Stages[0]), len(r.Params))
	}
	for i, p := range r.Ordered() {
		if same := p.Equal(other.Params[i]); same != (i < 10) {
			t.Errorf("trial %d: %s, random search has %s", i, p, other.Params[i])
		}
	}
}

func TestGoesOnFromItsState(t *testing.T) {
	s := study(tpe.Tuner, 25)
	s.Reopened(t, 1, 3)
	s.Parallel, s.Next = 3, func(running []int) int { return len(running) - 1 }
	s.Reopened(t, 1, 2)
	req := s.Request
	req.State = []byte(`{"trials":[{"point":[1,2,3,4,5,6,7,9]}]}`)
	const want = "damaged: trial 0 has choice 5 of client.one, which has 1"
	if _, err := tpe.Tuner.Open(t.Context(), req); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("a state of another space: %v", err)
	}
}

func TestTrialsInFlightSpread(t *testing.T) {
	s := study(tpe.Tuner, 22)
	s.Parallel, s.Rungs = 4, true
	r := s.Play(t)
	for i, want := range []int{10, 4, 4, 4} {
		if got := len(r.Stages[i]); got != want {
			t.Fatalf("%d trials together, want %d", got, want)
		}
	}
	for i, p := range r.Ordered() {
		for j, q := range r.Ordered()[:i] {
			if p.Equal(q) {
				t.Errorf("trials %d and %d coincide: %s", j, i, p)
			}
		}
	}
}

func TestFailedTrialsAreNeverGood(t *testing.T) {
	s := study(tpe.Tuner, 20)
	s.Score = func(int, tuners.Params, int) float64 { return math.NaN() }
	if r := s.Play(t); r.Best != -1 || len(r.Params) != 20 {
		t.Errorf("all fail: best %d of %d trials", r.Best, len(r.Params))
	}
	failures := 0 // above 0.1 training diverges, and the best learning rate is just below
	s = study(tpe.Tuner, 60)
	s.Score = func(_ int, p tuners.Params, _ int) float64 {
		lr := p.Float("client.lr", 0)
		if lr > 0.1 {
			failures++
			return math.NaN()
		}
		return math.Abs(math.Log10(lr) + 1)
	}
	if r := s.Play(t); r.Best < 0 || failures > 25 {
		t.Errorf("with a cliff: best trial %d, %d of 60 trials beyond it", r.Best, failures)
	}
}

func TestMaximize(t *testing.T) {
	s := study(tpe.Tuner, 20)
	down := s.Play(t)
	s.Request.Objective.Direction = tuners.Maximize
	s.Score = func(trial int, p tuners.Params, round int) float64 { return -bowl(trial, p, round) }
	if up := s.Play(t); up.Best != down.Best || !slices.Equal(up.Log, down.Log) {
		t.Errorf("maximizing -f: best %d, want %d as in minimizing f", up.Best, down.Best)
	}
}

func TestASpaceOfOnePoint(t *testing.T) {
	s := study(tpe.Tuner, 20)
	s.Request.Space = mixed[4:6]
	s.Score = func(trial int, _ tuners.Params, _ int) float64 { return float64(trial % 2) }
	if r := s.Play(t); len(r.Params) != 20 || r.Best != 0 {
		t.Errorf("%d trials, best %d", len(r.Params), r.Best)
	}
}

func TestValidate(t *testing.T) {
	for _, c := range []struct {
		t, m         int
		options      tuners.Params
		key, message string
	}{
		{110, 10, nil, "", ""},
		{1_000_000, 1, nil, "", ""},
		{20, 10, nil, "", ""},
		{
			19, 10, nil, "options.init",
			"1 random trials leave none of 1 for the model: lower options.init or raise budget.rounds",
		},
		{
			60, 10,
			tuners.Params{"trials": tuners.Num(7)},
			"options.trials",
			"7 trials of 10 rounds exceed budget.rounds = 60; at most 6 fit",
		},
		{9, 10, nil, "budget.rounds", "budget.rounds = 9 is less than one trial of 10 rounds"},
		{60, 10, tuners.Params{"candidates": tuners.Num(0)}, "options.candidates", "from 1 to 1024, not 0"},
		{60, 10, tuners.Params{"gamma": tuners.Num(1)}, "options.gamma", "available: init, trials, candidates"},
	} {
		playtest.Rejects(t, tpe.Tuner, tuners.ValidateRequest{
			Space: mixed, Options: c.options,
			Budget: tuners.Budget{Rounds: c.t, TrialRounds: c.m},
		}, c.key, c.message)
	}
}
