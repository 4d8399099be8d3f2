package hyperband_test

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/fedfast/fedfast/internal/test/playtest"
	"github.com/fedfast/fedfast/internal/tuner/hyperband"
	"github.com/fedfast/fedfast/tuners"
)

var space = tuners.Space{{Name: "client.lr", Kind: tuners.Log10, Lo: -4, Hi: 0}, {
	Name: "server.lr", Kind: tuners.Log10,
	Lo: -1, Hi: 1,
}}

func study(t, m int, options tuners.Params, score func(trial int, p tuners.Params, round int) float64) playtest.Study {
	return playtest.Study{Tuner: hyperband.Tuner, Score: score, Request: tuners.OpenRequest{
		Space: space, Options: options, Budget: tuners.Budget{Rounds: t, TrialRounds: m}, Seed: 11,
		Trial: tuners.StudySession,
	}}
}

// bowl is lowest at client.lr = 0.01, server.lr = 1.
func bowl(_ int, p tuners.Params, _ int) float64 {
	c, s := math.Log10(p.Float("client.lr", 0))+2, math.Log10(p.Float("server.lr", 0))
	return c*c + s*s
}

func TestSpendsItsBudgetExactly(t *testing.T) {
	for _, c := range []struct{ t, m int }{{4000, 800}, {2000, 200}, {200, 20}, {2628, 200}, {5, 1}, {77, 10}} {
		r := study(c.t, c.m, nil, bowl).Play(t)
		if r.Spent != c.t {
			t.Errorf("T=%d M=%d: spent %d rounds", c.t, c.m, r.Spent)
		}
		for trial, p := range r.Params { // the surface does not move, so the best of all survives
			if bowl(0, p, 0) < bowl(0, r.Params[r.Best], 0) {
				t.Errorf("T=%d M=%d: trial %d beats the survivor %d", c.t, c.m, trial, r.Best)
			}
		}
		if r.Live > 28 { // the 27 arms of the widest bracket and the best so far
			t.Errorf("T=%d M=%d: up to %d of %d trials are alive", c.t, c.m, r.Live, len(r.Params))
		}
	}
}

// TestByHand plays M = 4, eta = 2, R = 2 (rungs 1, 2, 4; 4, 3 and 3 arms; costs 8,
// 8, 12) against a table of scores.
func TestByHand(t *testing.T) {
	scores := map[int]float64{
		0: 5, 1: 3, 2: 3, 3: 9, // 1 and 2 tie at rung 1 and go on
		4: 1, 5: math.NaN(), 6: 2, // one goes on of three
		7: 8, 8: 2.5, 9: 2.5,
	}
	s := study(8+8+12, 4, tuners.Params{"eta": tuners.Num(2), "brackets": tuners.Num(3)}, func(trial int, _ tuners.Params,
		round int,
	) float64 {
		if trial == 1 && round == 2 {
			return 7 // it loses against 2, which stays at 3
		}
		if trial == 4 && round == 4 {
			return 4 // the second bracket ends worse than the first one
		}
		return scores[trial]
	})
	s.Rungs = true
	r := s.Play(t)
	var got []string
	for _, line := range r.Log {
		line, _, _ = strings.Cut(line, " with")
		if !strings.HasPrefix(line, "release") {
			got = append(got, line)
		}
	}
	want := []string{
		"start 0 to 1", "start 1 to 1", "start 2 to 1", "start 3 to 1",
		"stop 0", "stop 3", "resume 1 to 2", "resume 2 to 2",
		"stop 1", "resume 2 to 4",
		"start 4 to 2", "start 5 to 2", "start 6 to 2",
		"stop 5", "stop 6", "resume 4 to 4",
		"stop 4", "start 7 to 4", "start 8 to 4", "start 9 to 4",
		"stop 7", "stop 2", "stop 9", "done 8",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if r.Spent != 28 {
		t.Errorf("spent %d rounds, want 28", r.Spent)
	}
}

func TestAllFail(t *testing.T) {
	r := study(2000, 200, nil, func(int, tuners.Params, int) float64 { return math.NaN() }).Play(t)
	// Every bracket ends at its first rung; the schedule is the schedule of T, with 3
	// brackets and one short arm.
	if r.Best != -1 || len(r.Params) != 27+12+6+1 {
		t.Errorf("the survivor is %d of %d trials, want -1 of 46", r.Best, len(r.Params))
	}
}

func TestMaximize(t *testing.T) {
	s := study(590, 200, nil, func(trial int, _ tuners.Params, _ int) float64 { return float64(trial) })
	s.Request.Objective.Direction = tuners.Maximize
	if r := s.Play(t); r.Best != 26 {
		t.Errorf("the survivor is %d, want 26", r.Best)
	}
}

func TestOrderOfReportsAndStateChangeNothing(t *testing.T) {
	s := study(2000, 200, nil, bowl)
	first := s.Play(t)
	s.Reopened(t, 1, 2, 7)
	s.Rungs, s.Next = true, func(running []int) int { return len(running) - 1 }
	last := s.Play(t)
	if fmt.Sprint(first.Stages) != fmt.Sprint(last.Stages) || first.Best != last.Best {
		t.Errorf("with reports in reverse: %v, want %v", last.Stages, first.Stages)
	}
}

func TestValidate(t *testing.T) {
	for _, c := range []struct {
		t, m         int
		options      tuners.Params
		key, message string
	}{
		{2000, 200, nil, "", ""},
		{
			573, 200, nil, "budget.rounds",
			"budget.rounds = 573 is less than the cheapest bracket of trials of 200 rounds (budget.trial_rounds), which takes 574",
		},
		{2000, 20, nil, "", ""}, // three brackets fit under eta^3 = 27 rounds
		{2000, 20, tuners.Params{"brackets": tuners.Num(4)}, "options.brackets", "at most 3 brackets are possible"},
		{2000, 0, nil, "budget.trial_rounds", "at least 1 round, not 0"},
		{2000, 200, tuners.Params{"eta": tuners.Num(1)}, "options.eta", "eta must be an integer from 2 to 1000, not 1"},
		{2000, 200, tuners.Params{"eta": tuners.Num(2.5)}, "options.eta", "not 2.5"},
		{2000, 200, tuners.Params{"brackets": tuners.Num(-1)}, "options.brackets", "from 0 to 64"},
		{2000, 200, tuners.Params{"bracket": tuners.Num(1)}, "options.bracket", "available: eta, brackets"},
		{
			1 << 40, 1 << 30,
			tuners.Params{"brackets": tuners.Num(19)},
			"options.brackets",
			"start 387420489 trials; at most 100000",
		},
	} {
		playtest.Rejects(t, hyperband.Tuner, tuners.ValidateRequest{
			Space: space, Options: c.options,
			Budget: tuners.Budget{Rounds: c.t, TrialRounds: c.m},
		}, c.key, c.message)
	}
}
