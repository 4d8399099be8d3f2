package pbt_test

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/fedfast/fedfast/internal/test/playtest"
	"github.com/fedfast/fedfast/internal/tuner/pbt"
	"github.com/fedfast/fedfast/tuners"
)

// toy is a training run whose score is a squared distance from 0 that shrinks by
// the factor |1 - lr| a round while the best lr is 1. The distance is what a fork
// copies.
type toy struct {
	distance map[int]float64
	at       map[int]int // rounds run
	lineage  map[int]int
}

func newToy() *toy { return &toy{map[int]float64{}, map[int]int{}, map[int]int{}} }

func (y *toy) score(trial int, p tuners.Params, round int) float64 {
	if _, ok := y.distance[trial]; !ok {
		y.distance[trial] = 1
	}
	for ; y.at[trial] < round; y.at[trial]++ {
		y.distance[trial] *= math.Abs(1 - p.Float("client.lr", 0))
	}
	return y.distance[trial] * y.distance[trial]
}

func (y *toy) forked(trial, source int) {
	y.distance[trial], y.at[trial], y.lineage[trial] = y.distance[source], y.at[source], source
}

var space = tuners.Space{{Name: "client.lr", Kind: tuners.Log10, Lo: -4, Hi: -1}}

func request(rounds, trialRounds int, options tuners.Params) tuners.OpenRequest {
	return tuners.OpenRequest{
		Space: space, Options: options, Seed: 3, Trial: tuners.StudySession,
		Budget: tuners.Budget{Rounds: rounds, TrialRounds: trialRounds},
	}
}

func TestSpendsItsBudgetAndBeatsTheBestStart(t *testing.T) {
	y := newToy()
	r := playtest.Study{
		Tuner: pbt.Tuner, Request: request(800, 100, nil), Rungs: true, Score: y.score,
		Forked: y.forked,
	}.Play(t)
	if r.Spent != 800 || r.Live != 8 {
		t.Errorf("%d rounds by at most %d trials, want 800 by 8", r.Spent, r.Live)
	}
	if len(y.lineage) != 2*9 { // a quarter of 8, between 10 stretches
		t.Errorf("%d forks, want 18", len(y.lineage))
	}
	best := math.Inf(1)
	for trial := range 8 {
		best = min(best, math.Pow(1-r.Params[trial].Float("client.lr", 0), 200))
	}
	if got := y.distance[r.Best] * y.distance[r.Best]; got >= best {
		t.Errorf("the survivor's score is %v; the best start alone gives %v", got, best)
	}
	for trial := range 8 + 18 {
		if y.distance[trial]*y.distance[trial] < y.distance[r.Best]*y.distance[r.Best] && y.at[trial] == 100 {
			t.Errorf("trial %d beats the choice, trial %d", trial, r.Best)
		}
	}
}

// TestCopiesTheBestOfTheWorst looks at the first comparison, where the order of the
// learning rates is the order of the scores.
func TestCopiesTheBestOfTheWorst(t *testing.T) {
	y := newToy()
	req := request(60, 10, tuners.Params{"interval": tuners.Num(5), "quantile": tuners.Num(0.34)})
	r := playtest.Study{Tuner: pbt.Tuner, Request: req, Rungs: true, Score: y.score, Forked: y.forked}.Play(t)
	order := []int{0, 1, 2, 3, 4, 5}
	slices.SortFunc(order, func(a, b int) int {
		return int(math.Copysign(1, r.Params[b].Float("client.lr", 0)-r.Params[a].Float("client.lr", 0)))
	})
	for _, c := range []int{6, 7} {
		if !slices.Contains(order[:2], y.lineage[c]) {
			t.Errorf("trial %d is a copy of %d, want one of the best, %v", c, y.lineage[c], order[:2])
		}
	}
	var stopped []string
	for _, line := range r.Log {
		if strings.HasPrefix(line, "stop") {
			stopped = append(stopped, line)
		}
	}
	want := []string{fmt.Sprintf("stop %d", min(order[4], order[5])), fmt.Sprintf("stop %d", max(order[4], order[5]))}
	if !slices.Equal(stopped, want) {
		t.Errorf("it says %v, want %v", stopped, want)
	}
}

func TestFailedTrialsAreReplaced(t *testing.T) {
	y := newToy()
	score := func(trial int, p tuners.Params, round int) float64 {
		if trial < 5 {
			return math.NaN()
		}
		return y.score(trial, p, round)
	}
	r := playtest.Study{
		Tuner: pbt.Tuner, Request: request(60, 10, tuners.Params{"interval": tuners.Num(5)}), Rungs: true,
		Score: score, Forked: y.forked,
	}.Play(t)
	if len(y.lineage) != 5 || r.Best < 5 {
		t.Errorf("forks %v, choice %d; want 5 forks of trial 5", y.lineage, r.Best)
	}
	all := func(int, tuners.Params, int) float64 { return math.NaN() }
	if r := (playtest.Study{
		Tuner: pbt.Tuner, Request: request(60, 10, nil), Rungs: true,
		Score: all,
	}).Play(t); r.Best != -1 || r.Spent != 6 {
		t.Errorf("all failed: choice %d after %d rounds, want none after 6", r.Best, r.Spent)
	}
}

func TestGoesOnFromItsState(t *testing.T) {
	y := newToy()
	study := playtest.Study{Tuner: pbt.Tuner, Request: request(80, 20, nil), Score: y.score, Forked: y.forked}
	whole := study.Play(t)
	for _, study.Cut = range []int{1, 3} {
		*y = *newToy()
		if parts := study.Play(t); !slices.Equal(parts.Log, whole.Log) {
			t.Errorf("opened again every %d calls, it decides otherwise: %v, want %v", study.Cut, parts.Log, whole.Log)
		}
	}
}

func TestValidateRefuses(t *testing.T) {
	for _, c := range []struct {
		rounds, trialRounds int
		options             tuners.Params
		want                string
	}{
		{100, 0, nil, "budget.trial_rounds: a trial needs at least 1 round, not 0"},
		{
			100, 80, nil,
			"budget.rounds: a population needs at least 2 trials of 80 rounds: budget.rounds must be at least 160, not 100",
		},
		{
			100, 10,
			tuners.Params{"population": tuners.Num(11)},
			"options.population: population must be from 2 to 10, the most that budget.rounds = 100 allows, not 11",
		},
		{
			100, 10,
			tuners.Params{"quantile": tuners.Num(0.6)},
			"options.quantile: quantile must be greater than 0 and at most 0.5, not 0.6",
		},
		{100, 10, tuners.Params{"factor": tuners.Num(1)}, "options.factor: factor must be greater than 1, not 1"},
	} {
		_, err := pbt.Tuner.Open(t.Context(), request(c.rounds, c.trialRounds, c.options))
		if err == nil || err.Error() != "pbt: "+c.want {
			t.Errorf("got %v, want %s", err, c.want)
		}
	}
}
