package dehb_test

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/fedfast/fedfast/internal/test/playtest"
	"github.com/fedfast/fedfast/internal/tuner/dehb"
	"github.com/fedfast/fedfast/internal/tuner/random"
	"github.com/fedfast/fedfast/tuners"
)

// TestSchedule: the first pass is Hyperband's, in the second all trials are new. With eta = 2 and
// M = 4 the brackets are of 4, 3 and 3 trials.
func TestSchedule(t *testing.T) {
	s := playtest.Over(dehb.Tuner, 28+36+4, 4, tuners.Params{"eta": tuners.Num(2), "brackets": tuners.Num(3)})
	s.Score = func(trial int, _ tuners.Params, _ int) float64 { return float64(trial) }
	r := s.Play(t)
	var got []string
	for _, line := range r.Log {
		if line, _, _ = strings.Cut(line, " with"); !strings.HasPrefix(line, "release") {
			got = append(got, line)
		}
	}
	want := []string{
		"start 0 to 1", "start 1 to 1", "start 2 to 1", "start 3 to 1",
		"resume 0 to 2", "resume 1 to 2", "resume 0 to 4",
		"start 4 to 2", "start 5 to 2",
	}
	if !slices.Equal(got[:len(want)], want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	// A pass costs 4 + 2 + 2, 3 x 2 + 2, 3 x 4 rounds, of new trials 4 + 2 x 2 + 4, 3 x 2 + 4, 3 x 4.
	if r.Spent != 28+12+10+12+4 || r.Best != 0 {
		t.Errorf("spent %d rounds, best %d", r.Spent, r.Best)
	}
	news := 0
	for _, rounds := range r.Rounds {
		if rounds == 4 {
			news++
		}
	}
	if news != 1+1+3+1+1+3+1 {
		t.Errorf("%d trials reach the last rung", news)
	}
}

func TestBeatsRandomSearch(t *testing.T) {
	const seeds = 6
	wins := 0
	var ours, theirs float64
	for seed := range uint64(seeds) {
		var best [2]float64
		for i, tuner := range []tuners.Tuner{dehb.Tuner, random.Tuner} {
			s := playtest.Over(tuner, 2000, 27, nil)
			s.Request.Seed = seed
			r := s.Play(t)
			best[i] = playtest.Bowl(0, r.Params[r.Best], 27)
			if r.Spent > 2000 || r.Spent < 2000-27 {
				t.Errorf("spent %d rounds", r.Spent)
			}
			if i == 0 && r.Live > 27+12+6+4 {
				t.Errorf("up to %d trials are alive", r.Live)
			}
		}
		ours, theirs = ours+best[0]/seeds, theirs+best[1]/seeds
		if best[0] < best[1] {
			wins++
		}
	}
	t.Logf("mean best error: dehb %.2g, random %.2g; dehb is better with %d of %d seeds", ours, theirs, wins, seeds)
	if wins < seeds-1 || ours > 0.5*theirs {
		t.Errorf("mean best error %v, random %v; better with %d of %d seeds", ours, theirs, wins, seeds)
	}
}

func TestGoesOnFromItsState(t *testing.T) {
	s := playtest.Over(dehb.Tuner, 1500, 27, nil)
	s.Reopened(t, 1, 3)
	s.InAnyOrder(t)
}

func TestMaximizeAndFailures(t *testing.T) {
	s := playtest.Over(dehb.Tuner, 1500, 27, nil)
	s.Mirrored(t)
	s.Score = func(trial int, p tuners.Params, round int) float64 { // two thirds fail
		if p.Float("client.lr", 0) > 1e-3 {
			return math.NaN()
		}
		return playtest.Bowl(trial, p, round)
	}
	if r := s.Play(t); r.Best < 0 || r.Params[r.Best].Float("client.lr", 0) > 1e-3 {
		t.Errorf("most fail: best %d", r.Best)
	}
}

func TestValidate(t *testing.T) {
	for _, c := range []struct {
		rounds  int
		options tuners.Params
		want    string
	}{
		{600, tuners.Params{"factor": tuners.Num(0)}, "options.factor: factor must be above 0, at most 2, not 0"},
		{600, tuners.Params{"crossover": tuners.Num(2)}, "options.crossover: crossover must be from 0 to 1, not 2"},
		{600, tuners.Params{"eta": tuners.Num(1)}, "options.eta: eta must be an integer from 2 to 1000, not 1"},
		{20, nil, "budget.rounds = 20 is less than the cheapest bracket"},
		{1 << 30, tuners.Params{"eta": tuners.Num(27), "brackets": tuners.Num(4)}, "at most 2 brackets are possible"},
	} {
		_, err := dehb.Tuner.Open(t.Context(), playtest.Over(dehb.Tuner, c.rounds, 27, c.options).Request)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("got %v, want %s", err, c.want)
		}
	}
	large := playtest.Over(dehb.Tuner, 1<<40, 1<<30, tuners.Params{
		"eta":      tuners.Num(2),
		"brackets": tuners.Num(12),
	}).Request
	if _, err := dehb.Tuner.Open(t.Context(), large); err == nil || !strings.Contains(err.Error(),
		"the populations have ") {
		t.Error(fmt.Sprint(err))
	}
}
