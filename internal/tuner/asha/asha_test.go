package asha_test

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/fedfast/fedfast/internal/test/playtest"
	"github.com/fedfast/fedfast/internal/tuner/asha"
	"github.com/fedfast/fedfast/tuners"
)

var space = tuners.Space{{Name: "client.lr", Kind: tuners.Log10, Lo: -4, Hi: 0}, {
	Name: "server.lr", Kind: tuners.Log10,
	Lo: -1, Hi: 1,
}}

func study(t, m int, options tuners.Params, score func(trial int, p tuners.Params, round int) float64) playtest.Study {
	return playtest.Study{Tuner: asha.Tuner, Score: score, Request: tuners.OpenRequest{
		Space: space, Options: options, Budget: tuners.Budget{Rounds: t, TrialRounds: m}, Seed: 11,
		Trial: tuners.StudySession,
	}}
}

func table(scores ...float64) func(int, tuners.Params, int) float64 {
	return func(trial int, _ tuners.Params, _ int) float64 { return scores[trial] }
}

var halves = tuners.Params{"eta": tuners.Num(2), "eliminations": tuners.Num(2)} // of 4 rounds: rungs 1, 2, 4

// moves are the decisions that run trials, and the last one.
func moves(r playtest.Result) []string {
	var out []string
	for _, line := range r.Log {
		if line, _, _ = strings.Cut(line, " with"); !strings.HasPrefix(line, "stop") && !strings.HasPrefix(line, "release") {
			out = append(out, line)
		}
	}
	return out
}

func TestPromotionsByHand(t *testing.T) {
	// One trial at a time. Scores 5 3 4 1 2 2: the comments name the rungs'
	// standings, best first.
	r := study(14, 4, halves, table(5, 3, 4, 1, 2, 2)).Play(t)
	want := []string{
		"start 0 to 1", "start 1 to 1",
		"resume 1 to 2", // rung 1: 1 0
		"start 2 to 1",
		"start 3 to 1",  // rung 1: 1 2 0, its one place is taken
		"resume 3 to 2", // rung 1: 3 1 2 0
		"resume 3 to 4", // rung 2: 3 1
		"start 4 to 1",
		"resume 4 to 2", // rung 1: 3 4 1 2 0, two places
		"start 5 to 1",  // rung 2: 3 4 1, its one place is taken
		"resume 5 to 2", // rung 1: 3 4 5 1 2 0, three places
		"resume 4 to 4", // rung 2: 3 4 5 1, two places; 4 ties with 5
		"done 3",
	}
	if got := moves(r); !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if r.Spent != 14 {
		t.Errorf("spent %d rounds, want 14", r.Spent)
	}
}

func TestTwoInFlightByHand(t *testing.T) {
	s := study(12, 4, halves, table(5, 3, 4, 1, 2, 2, 9))
	s.Parallel, s.Next = 2, func([]int) int { return 0 } // in the order of their starts
	want := []string{
		"start 0 to 1", "start 1 to 1",
		"start 2 to 1",  // 0 reports: no place for one
		"resume 1 to 2", // 1 reports: 1 0
		"start 3 to 1",  // 2 reports: 1 2 0, one place, taken
		"start 4 to 1",  // 1 reports at rung 2, alone there
		"resume 3 to 2", // 3 reports: 3 1 2 0
		"resume 4 to 2", // 4 reports: 3 4 1 2 0
		"resume 3 to 4", // 3 reports at rung 2: 3 1
		"start 5 to 1",  // 4 reports at rung 2: 3 4 1, one place, taken
		"start 6 to 1",  // 3 reports at the end
		"wait",          // 5 reports: 3 4 5 1 2 0, but the 12 rounds are spent
		"done 3",
	}
	if got := moves(s.Play(t)); !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func TestFailedTrialsRankLast(t *testing.T) {
	nan := math.NaN()
	// Two of the first four fail: the other two are the best half. 3 fails on its
	// way to rung 2 and counts there.
	score := table(nan, 2, nan, 1, 3, 9, 9, 9, 9)
	r := study(12, 4, halves, func(trial int, p tuners.Params, round int) float64 {
		if trial == 3 && round == 2 {
			return nan
		}
		return score(trial, p, round)
	}).Play(t)
	want := []string{
		"start 0 to 1", "start 1 to 1", "resume 1 to 2", "start 2 to 1", "start 3 to 1", "resume 3 to 2",
		"resume 1 to 4", // rung 2: 1, and 3 which failed: one place
	}
	if got := moves(r); !slices.Equal(got[:len(want)], want) || r.Best != 1 {
		t.Errorf("got\n%s\nwant\n%s\n... done 1", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	all := study(12, 4, halves, table(nan, nan, nan, nan, nan, nan, nan, nan, nan, nan, nan, nan)).Play(t)
	if all.Best != -1 || all.Spent != 12 || len(all.Params) != 12 {
		t.Errorf("all fail: best %d of %d trials, %d rounds", all.Best, len(all.Params), all.Spent)
	}
}

func TestMaximizeAndTrialsOption(t *testing.T) {
	options := halves.Merge(tuners.Params{"trials": tuners.Num(4)})
	s := study(100, 4, options, table(5, 3, 4, 1))
	s.Request.Objective.Direction = tuners.Maximize
	r := s.Play(t)
	// The best half is 0 and 2; 0 goes on to the end, and with no trial to start
	// the study is over early.
	if r.Best != 0 || len(r.Params) != 4 || r.Rounds[0] != 4 || r.Rounds[2] != 2 {
		t.Errorf("the survivor is %d of %d trials; rounds %v", r.Best, len(r.Params), r.Rounds)
	}
}

// noise is a score without structure, so that ranks change from rung to rung; one
// in eight fails.
func noise(seed uint64) func(int, tuners.Params, int) float64 {
	return func(trial int, _ tuners.Params, round int) float64 {
		d := tuners.NewDraws(seed, trial, round, "noise")
		if d.IntN(8) == 0 {
			return math.NaN()
		}
		return float64(d.IntN(20))
	}
}

// paper plays asynchronous successive halving as the paper has it, which never
// stops a trial, with eta = 3: the decisions that run trials.
func paper(rungs []int, rounds, parallel int, next func([]int) int, score func(int, tuners.Params,
	int) float64,
) []string {
	var log []string
	at := map[int]int{}                           // rung of each trial
	scores := make([]map[int]float64, len(rungs)) // by trial, for each rung; failures are infinite
	for k := range scores {
		scores[k] = map[int]float64{}
	}
	promotable := func(trial, k int) bool {
		x, reached := scores[k][trial]
		better := 0
		for other, y := range scores[k] {
			if y < x || y == x && other < trial {
				better++
			}
		}
		return reached && !math.IsInf(x, 0) && at[trial] == k && better < len(scores[k])/3
	}
	choose := func() (trial, k int) {
		for k := len(rungs) - 2; k >= 0; k-- {
			for trial := range len(at) {
				if rungs[k+1]-rungs[k] <= rounds && promotable(trial, k) {
					return trial, k + 1
				}
			}
		}
		return len(at), 0
	}
	var running []int
	for {
		for len(running) < parallel {
			trial, k := choose()
			kind, cost := "resume", 0
			if k == 0 {
				kind, cost = "start", rungs[0]
			} else {
				cost = rungs[k] - rungs[k-1]
			}
			if cost > rounds {
				break
			}
			rounds -= cost
			at[trial] = k
			running = append(running, trial)
			log = append(log, fmt.Sprintf("%s %d to %d", kind, trial, rungs[k]))
		}
		if len(running) == 0 {
			return log
		}
		i := next(running)
		trial := running[i]
		running = slices.Delete(running, i, i+1)
		x := score(trial, nil, rungs[at[trial]])
		if math.IsNaN(x) {
			x = math.Inf(1)
		}
		scores[at[trial]][trial] = x
	}
}

func TestPruningChangesNoPromotion(t *testing.T) {
	for seed := range uint64(10) {
		for _, parallel := range []int{1, 3} {
			s := study(400, 18, tuners.Params{"eliminations": tuners.Num(2)}, noise(seed))
			s.Parallel = parallel
			s.Next = func(running []int) int { return (7*running[0] + len(running)) % len(running) } // any fixed order of reports
			r := s.Play(t)
			got := slices.DeleteFunc(moves(r), func(line string) bool {
				return strings.HasPrefix(line, "wait") ||
					strings.HasPrefix(line, "done")
			})
			if want := paper([]int{2, 6, 18}, 400, parallel, s.Next, s.Score); !slices.Equal(got, want) {
				t.Fatalf("seed %d, %d in flight: got\n%s\nwant\n%s", seed, parallel, strings.Join(got, "\n"),
					strings.Join(want, "\n"))
			}
			if r.Spent <= 400-2 || r.Live > len(r.Params)*2/3 {
				t.Errorf("seed %d: spent %d of 400 rounds; %d of %d trials were alive together", seed, r.Spent, r.Live,
					len(r.Params))
			}
		}
	}
}

func TestGoesOnFromItsState(t *testing.T) {
	s := study(400, 18, tuners.Params{"eliminations": tuners.Num(2)}, noise(3))
	s.Reopened(t, 1, 2, 7)
	s.Parallel, s.Next = 4, func(running []int) int { return len(running) / 2 }
	s.Reopened(t, 1, 3)
	s.Rungs = true
	s.Reopened(t, 5)
}

func TestFindsTheBestOfASteadySurface(t *testing.T) {
	bowl := func(_ int, p tuners.Params, _ int) float64 {
		c, s := math.Log10(p.Float("client.lr", 0))+2, math.Log10(p.Float("server.lr", 0))
		return c*c + s*s
	}
	for _, parallel := range []int{1, 8} {
		s := study(2000, 200, nil, bowl)
		s.Parallel = parallel
		r := s.Play(t)
		top := 0
		for _, round := range r.Rounds {
			if round == 200 {
				top++
			}
		}
		if r.Rounds[r.Best] != 200 || top < 2 {
			t.Errorf("%d in flight: the survivor %d ran %d rounds, %d trials ran all", parallel, r.Best, r.Rounds[r.Best], top)
		}
		for trial, p := range r.Params {
			if r.Rounds[trial] == 200 && bowl(0, p, 0) < bowl(0, r.Params[r.Best], 0) {
				t.Errorf("%d in flight: trial %d beats the survivor %d", parallel, trial, r.Best)
			}
		}
	}
}

func TestValidate(t *testing.T) {
	three := tuners.Params{"eliminations": tuners.Num(3)}
	for _, c := range []struct {
		t, m         int
		options      tuners.Params
		key, message string
	}{
		{590, 200, three, "", ""}, // 27 at 7 rounds, 9 at 15 more, 3 at 44, 1 at 134
		{
			589, 200, three, "budget.rounds",
			"halving 27 trials with eta = 3 up to 200 rounds (budget.trial_rounds) takes 590 rounds, but budget.rounds is 589",
		},
		{
			2000, 26, three, "options.eliminations",
			"3 eliminations with eta = 3 put the first rung below 1 of 26 rounds (budget.trial_rounds); at most 2 are possible",
		},
		{2000, 0, nil, "budget.trial_rounds", "at least 1 round, not 0"},
		{2000, 200, tuners.Params{"eta": tuners.Num(1)}, "options.eta", "eta must be an integer from 2 to 1000, not 1"},
		{2000, 200, tuners.Params{"eliminations": tuners.Num(0)}, "options.eliminations", "from 1 to 64, not 0"},
		{2000, 200, tuners.Params{"trials": tuners.Num(0.5)}, "options.trials", "not 0.5"},
		{2000, 200, tuners.Params{"rungs": tuners.Num(1)}, "options.rungs", "available: eta, eliminations, trials"},
	} {
		playtest.Rejects(t, asha.Tuner, tuners.ValidateRequest{
			Space: space, Options: c.options,
			Budget: tuners.Budget{Rounds: c.t, TrialRounds: c.m},
		}, c.key, c.message)
	}
}
