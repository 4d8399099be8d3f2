package random_test

import (
	"math"
	"slices"
	"testing"

	"github.com/fedfast/fedfast/internal/test/playtest"
	"github.com/fedfast/fedfast/internal/tuner/random"
	"github.com/fedfast/fedfast/tuners"
	"github.com/fedfast/fedfast/tuners/host"
)

var request = tuners.OpenRequest{
	Space:  tuners.Space{{Name: "client.lr", Kind: tuners.Log10, Lo: -4, Hi: 0}},
	Budget: tuners.Budget{Rounds: 4099, TrialRounds: 800}, Seed: 3, Trial: tuners.StudySession,
}

// play runs a study and returns its trials' params and the best; the session is
// opened anew from its state before every call.
func play(t *testing.T, req tuners.OpenRequest, score func(trial int) float64) (params []tuners.Params, best int) {
	t.Helper()
	ctx := t.Context()
	var state []byte
	reopen := func() tuners.Session {
		req.State = state
		s, err := host.Local(random.Tuner).Open(ctx, req)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	s := reopen()
	decisions, err := s.Suggest(ctx, 1)
	if err != nil {
		t.Fatal(err)
	}
	for i, d := range decisions {
		if d.Kind != tuners.Start || d.Trial != i || d.ToRound != req.Budget.TrialRounds {
			t.Errorf("decision %d: %+v", i, d)
		}
		params = append(params, d.Params)
	}
	for i := range slices.Backward(params) {
		state = s.State()
		s = reopen()
		if d, err := s.Suggest(ctx, 1); err != nil || d[0].Kind != tuners.Wait {
			t.Fatalf("before the report of trial %d: %v, %v", i, d, err)
		}
		if err := s.Report(ctx, tuners.TrialReport{
			Trial: i, Round: req.Budget.TrialRounds, Score: score(i),
			Failed: math.IsNaN(score(i)),
		}); err != nil {
			t.Fatal(err)
		}
	}
	state = s.State()
	decisions, err = reopen().Suggest(ctx, 1)
	if err != nil || len(decisions) != 1 || decisions[0].Kind != tuners.Done {
		t.Fatalf("at the end: %v, %v", decisions, err)
	}
	return params, decisions[0].Best
}

func TestStudy(t *testing.T) {
	scores := []float64{3, 1, math.NaN(), 1, 2}
	params, best := play(t, request, func(i int) float64 { return scores[i] })
	if len(params) != 5 || best != 1 {
		t.Errorf("%d trials, best %d; want floor(4099/800) = 5, best 1 (the lower of two that tie)", len(params), best)
	}
	for i, p := range params {
		for _, q := range params[:i] {
			if p.Equal(q) {
				t.Errorf("trial %d repeats %s", i, p)
			}
		}
	}
	up := request
	up.Objective.Direction = tuners.Maximize
	if _, best := play(t, up, func(i int) float64 { return scores[i] }); best != 0 {
		t.Errorf("maximizing: best %d, want 0", best)
	}
	if _, best := play(t, request, func(int) float64 { return math.NaN() }); best != -1 {
		t.Errorf("all failed: best %d, want -1", best)
	}
}

func TestValidate(t *testing.T) {
	for _, c := range []struct {
		budget  tuners.Budget
		options tuners.Params
		key     string
	}{
		{tuners.Budget{Rounds: 100, TrialRounds: 10}, nil, ""},
		{tuners.Budget{Rounds: 100, TrialRounds: 10}, tuners.Params{"trials": tuners.Num(10)}, ""},
		{tuners.Budget{Rounds: 100, TrialRounds: 10}, tuners.Params{"trials": tuners.Num(11)}, "options.trials"},
		{tuners.Budget{Rounds: 100, TrialRounds: 10}, tuners.Params{"trials": tuners.Num(1.5)}, "options.trials"},
		{tuners.Budget{Rounds: 100, TrialRounds: 10}, tuners.Params{"arms": tuners.Num(1)}, "options.arms"},
		{tuners.Budget{Rounds: 9, TrialRounds: 10}, nil, "budget.rounds"},
		{tuners.Budget{Rounds: 9}, nil, "budget.trial_rounds"},
	} {
		playtest.Rejects(t, random.Tuner, tuners.ValidateRequest{Space: request.Space, Options: c.options, Budget: c.budget},
			c.key, "")
	}
}

func TestTrialsOptionIsUsed(t *testing.T) {
	req := request
	req.Options = tuners.Params{"trials": tuners.Num(2)}
	if params, _ := play(t, req, func(i int) float64 { return float64(i) }); len(params) != 2 {
		t.Errorf("%d trials, want 2", len(params))
	}
}
