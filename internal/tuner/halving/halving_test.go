package halving_test

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/fedfast/fedfast/internal/test/playtest"
	"github.com/fedfast/fedfast/internal/tuner/halving"
	"github.com/fedfast/fedfast/tuners"
)

var space = tuners.Space{
	{Name: "client.lr", Kind: tuners.Log10, Lo: -4, Hi: 0},
	{Name: "server.lr", Kind: tuners.Log10, Lo: -1, Hi: 1},
}

func study(t, m int, options tuners.Params, score func(int, tuners.Params, int) float64) playtest.Study {
	return playtest.Study{Tuner: halving.Tuner, Score: score, Request: tuners.OpenRequest{
		Space: space, Options: options, Budget: tuners.Budget{Rounds: t, TrialRounds: m}, Seed: 11,
		Trial: tuners.StudySession,
	}}
}

// TestPlan: as many trials as the budget pays for, and what they cost.
func TestPlan(t *testing.T) {
	for _, c := range []struct {
		rounds, trialRounds, trials, cost int
		rungs                             []int
	}{
		{21, 9, 5, 21, []int{3, 9}},
		{162, 81, 8, 162, []int{9, 27, 81}},
		{324, 81, 17, 297, []int{9, 27, 81}},
		{648, 81, 32, 630, []int{9, 27, 81}},
		{2592, 81, 125, 2565, []int{9, 27, 81}},
		{54, 27, 8, 54, []int{3, 9, 27}},
		{864, 27, 125, 855, []int{3, 9, 27}},
		{5100, 100, 197, 5004, []int{11, 33, 100}},
		{100, 100, 1, 100, []int{11, 33, 100}},
		{14, 5, 2, 10, []int{5}},
		{17, 17, 1, 17, []int{5, 17}},
	} {
		var rungs []int
		r := study(c.rounds, c.trialRounds, nil, func(trial int, _ tuners.Params, round int) float64 {
			if !slices.Contains(rungs, round) {
				rungs = append(rungs, round)
			}
			return float64(trial)
		}).Play(t)
		slices.Sort(rungs)
		if len(r.Params) != c.trials || r.Spent != c.cost || !slices.Equal(rungs, c.rungs) {
			t.Errorf("B = %d, M = %d: %d trials cost %d with rungs %v, want %d, %d and %v",
				c.rounds, c.trialRounds, len(r.Params), r.Spent, rungs, c.trials, c.cost, c.rungs)
		}
	}
	request := tuners.ValidateRequest{Space: space, Budget: tuners.Budget{Rounds: 99, TrialRounds: 100}}
	playtest.Rejects(t, halving.Tuner, request, "budget.rounds",
		"budget.rounds = 99 is less than one trial of 100 rounds (budget.trial_rounds)")
	request.Budget.TrialRounds = 0
	playtest.Rejects(t, halving.Tuner, request, "budget.trial_rounds", "at least 1 round")
	playtest.Rejects(t, halving.Tuner, tuners.ValidateRequest{
		Space: space, Budget: tuners.Budget{Rounds: 99, TrialRounds: 9}, Options: tuners.Params{"first_rung": tuners.Num(0)},
	}, "options.first_rung", "from 1 to 9")
	playtest.Rejects(t, halving.Tuner, tuners.ValidateRequest{
		Space: space, Budget: tuners.Budget{Rounds: 99, TrialRounds: 9}, Options: tuners.Params{"first_rung": tuners.Num(10)},
	}, "options.first_rung", "from 1 to 9")
}

// TestDecisions: nine trials with rungs of 1, 3 and 9 rounds, one of which fails.
func TestDecisions(t *testing.T) {
	scores := map[int][]float64{
		1: {.5, .5, .3, math.NaN(), .7, .3, .55, .45, .32},
		3: {2: .29, 5: .28, 8: .28}, 9: {5: .2},
	}
	s := study(21, 9, tuners.Params{"first_rung": tuners.Num(1)}, func(trial int, _ tuners.Params, round int) float64 {
		return scores[round][trial]
	})
	s.Rungs = true
	r := s.Play(t)
	want := []string{
		"start 0 to 1", "start 1 to 1", "start 2 to 1", "start 3 to 1", "start 4 to 1",
		"start 5 to 1", "start 6 to 1", "start 7 to 1", "start 8 to 1",
		"stop 0", "stop 1", "stop 3", "stop 4", "stop 6", "stop 7", "resume 2 to 3", "resume 5 to 3", "resume 8 to 3",
		"stop 2", "stop 8", "resume 5 to 9", "done 5",
	}
	var got []string
	for _, line := range r.Log {
		if line, _, _ = strings.Cut(line, " with"); !strings.HasPrefix(line, "release") {
			got = append(got, line)
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	s.Reopened(t, 1, 4, 9)
}
