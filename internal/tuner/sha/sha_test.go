package sha_test

import (
	"math"
	"slices"
	"testing"

	"github.com/fedfast/fedfast/internal/tuner/sha"
	"github.com/fedfast/fedfast/tuners"
	"github.com/fedfast/fedfast/tuners/host"
)

var space = tuners.Space{{Name: "client.lr", Kind: tuners.Log10, Lo: -4, Hi: 0}, {
	Name: "server.lr", Kind: tuners.Log10,
	Lo: -1, Hi: 1,
}}

// study plays a study against score, which gets a trial's number, params and round;
// NaN is a failure. With cut > 0 every session is closed after cut calls and opened
// again from its state.
type study struct {
	req    tuners.OpenRequest
	score  func(trial int, p tuners.Params, round int) float64
	cut    int
	params map[int]tuners.Params
	rounds map[int]int // that each trial has run
	spent  int
	stages [][]int // trials that ran together
	best   int
}

func (s *study) play(t *testing.T) {
	t.Helper()
	ctx := t.Context()
	s.params, s.rounds = map[int]tuners.Params{}, map[int]int{}
	session, err := host.Local(sha.Tuner).Open(ctx, s.req)
	if err != nil {
		t.Fatal(err)
	}
	calls := 0
	again := func() {
		if calls++; s.cut == 0 || calls%s.cut != 0 {
			return
		}
		req := s.req
		req.State = session.State()
		if session, err = host.Local(sha.Tuner).Open(ctx, req); err != nil {
			t.Fatal(err)
		}
	}
	for {
		decisions, err := session.Suggest(ctx, 1)
		if err != nil {
			t.Fatal(err)
		}
		again()
		var stage []int
		for _, d := range decisions {
			switch d.Kind {
			case tuners.Start, tuners.Resume:
				if d.Kind == tuners.Start {
					s.params[d.Trial] = d.Params
				}
				s.spent += d.ToRound - s.rounds[d.Trial]
				s.rounds[d.Trial] = d.ToRound
				stage = append(stage, d.Trial)
			case tuners.Done:
				s.best = d.Best
				return
			case tuners.Stop, tuners.Release:
			case tuners.Fork, tuners.Wait, tuners.Score, tuners.Local:
				t.Fatalf("unexpected %s", d.Kind)
			}
		}
		s.stages = append(s.stages, stage)
		for i := range stage { // reports come in another order than the decisions
			trial := stage[len(stage)-1-i]
			score := s.score(trial, s.params[trial], s.rounds[trial])
			if err := session.Report(ctx, tuners.TrialReport{
				Trial: trial, Round: s.rounds[trial], Score: score,
				Failed: math.IsNaN(score),
			}); err != nil {
				t.Fatal(err)
			}
			again()
			if i == 0 && len(stage) > 1 {
				wait, err := session.Suggest(ctx, 1)
				if err != nil || len(wait) != 1 || wait[0].Kind != tuners.Wait {
					t.Fatalf("in the middle of a rung: %v, %v", wait, err)
				}
			}
		}
	}
}

func open(t, m int) tuners.OpenRequest {
	return tuners.OpenRequest{
		Space: space, Budget: tuners.Budget{Rounds: t, TrialRounds: m}, Seed: 11,
		Trial: tuners.StudySession,
	}
}

// bowl is lowest at client.lr = 0.01, server.lr = 1.
func bowl(_ int, p tuners.Params, _ int) float64 {
	c, s := math.Log10(p.Float("client.lr", 0))+2, math.Log10(p.Float("server.lr", 0))
	return c*c + s*s
}

func TestSpendsItsBudgetExactly(t *testing.T) {
	for _, c := range [][2]int{{4000, 800}, {2000, 200}, {200, 20}} {
		s := study{req: open(c[0], c[1]), score: bowl}
		s.play(t)
		if s.spent != c[0] {
			t.Errorf("T=%d M=%d: spent %d rounds", c[0], c[1], s.spent)
		}
		var widths []int
		for _, stage := range s.stages {
			widths = append(widths, len(stage))
		}
		if !slices.Equal(widths, []int{27, 9, 3, 1}) {
			t.Errorf("rungs with %v trials", widths)
		}
		// On a surface that does not move, the survivor is the best of all.
		for trial, p := range s.params {
			if bowl(0, p, 0) < bowl(0, s.params[s.best], 0) {
				t.Errorf("trial %d beats the survivor %d", trial, s.best)
			}
		}
		if s.rounds[s.best] != c[1] {
			t.Errorf("the survivor ran %d rounds, want %d", s.rounds[s.best], c[1])
		}
	}
}

func TestTiesKeepTheLowerNumber(t *testing.T) {
	s := study{req: open(200, 20), score: func(trial int, _ tuners.Params,
		_ int,
	) float64 {
		return float64(trial / 9 % 2)
	}}
	s.play(t) // trials 0..8 and 18..26 tie at 0
	want := [][]int{{0, 1, 2, 3, 4, 5, 6, 7, 8}, {0, 1, 2}, {0}}
	for i, w := range want {
		if !slices.Equal(s.stages[i+1], w) {
			t.Errorf("rung %d: %v, want %v", i+1, s.stages[i+1], w)
		}
	}
}

func TestMaximize(t *testing.T) {
	s := study{req: open(200, 20), score: func(trial int, _ tuners.Params, _ int) float64 { return float64(trial) }}
	s.req.Objective.Direction = tuners.Maximize
	s.play(t)
	if s.best != 26 {
		t.Errorf("the survivor is %d, want 26", s.best)
	}
}

func TestFailedTrialsRankLast(t *testing.T) {
	fails := func(n int) func(int, tuners.Params, int) float64 {
		return func(trial int, _ tuners.Params, _ int) float64 {
			if trial < n {
				return math.NaN()
			}
			return float64(trial)
		}
	}
	for _, c := range []struct {
		failed int
		want   []int // the second rung
		best   int
	}{
		{5, []int{5, 6, 7, 8, 9, 10, 11, 12, 13}, 5},
		{25, []int{25, 26}, 25}, // fewer left than places
		{27, nil, -1},
	} {
		s := study{req: open(200, 20), score: fails(c.failed)}
		s.play(t)
		if s.best != c.best {
			t.Errorf("%d failed: the survivor is %d, want %d", c.failed, s.best, c.best)
		}
		if c.want == nil && len(s.stages) != 1 || c.want != nil && !slices.Equal(s.stages[1], c.want) {
			t.Errorf("%d failed: rungs %v, want the second to be %v", c.failed, s.stages, c.want)
		}
	}
}

func TestGoesOnFromItsState(t *testing.T) {
	whole := study{req: open(200, 20), score: bowl}
	whole.play(t)
	for _, cut := range []int{1, 2, 7} {
		parts := study{req: open(200, 20), score: bowl, cut: cut}
		parts.play(t)
		if parts.best != whole.best || !slices.EqualFunc(parts.stages, whole.stages, slices.Equal[[]int]) {
			t.Errorf("cut every %d calls: %d, %v, want %d, %v", cut, parts.best, parts.stages, whole.best, whole.stages)
		}
		for trial, p := range whole.params {
			if !p.Equal(parts.params[trial]) {
				t.Errorf("trial %d: %s, want %s", trial, parts.params[trial], p)
			}
		}
	}
}

func TestValidate(t *testing.T) {
	ask := func(rounds, trialRounds int, options tuners.Params) []tuners.Problem {
		t.Helper()
		p, err := sha.Tuner.Validate(t.Context(), tuners.ValidateRequest{
			Space: space, Options: options, Budget: tuners.Budget{Rounds: rounds, TrialRounds: trialRounds},
		})
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	if p := ask(200, 20, nil); p != nil {
		t.Errorf("a good set-up: %v", p)
	}
	if p := ask(20, 20, nil); len(p) != 1 || p[0].Key != "budget.rounds" {
		t.Errorf("T = M: %v", p)
	}
	if p := ask(200, 20, tuners.Params{"eta": tuners.Num(2.5)}); len(p) != 1 || p[0].Key != "options.eta" {
		t.Errorf("eta = 2.5: %v", p)
	}
	if p := ask(200, 20, tuners.Params{"etta": tuners.Num(2), "eliminations": tuners.Bool(true)}); len(p) != 2 {
		t.Errorf("two bad options: %v", p)
	}
	if _, err := sha.Tuner.Open(t.Context(), open(20, 20)); err == nil {
		t.Error("T = M opened")
	}
}
