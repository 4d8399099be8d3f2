package view

import (
	"cmp"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/fedfast/fedfast/fl/study/config"
	"github.com/fedfast/fedfast/fl/study/result"
	"github.com/fedfast/fedfast/tuners"
)

const nextStudy = `
name = "next"
method = "fedprox"
model = "logistic"
cohort = 3
rounds = 40
data.name = "synthetic"
client.mu = 0.1
budget.rounds = 90
budget.trial_rounds = 30
tuner.name = "%s"
space."client.lr" = {log10 = [-4, 0]}
space."client.epochs" = {int = [1, 5]}
`

// ended is a study of eight trials whose learning rates are 10^-3.5, 10^-3 ... 1; those of which
// learned says so have learned.
func ended(t *testing.T, tuner string, best float64, learned func(lr float64) bool) *Overview {
	t.Helper()
	c, err := config.Load(config.Source{Text: strings.ReplaceAll(nextStudy, "%s", tuner)})
	if err != nil {
		t.Fatal(err)
	}
	r := &result.Result{}
	r.Trivial = &result.Trivial{Global: 0.9}
	lr := tuners.Dim{Name: "client.lr", Kind: tuners.Log10, Lo: -4, Hi: 0}
	for i := range 8 {
		s := -3.5 + float64(i)/2
		params := tuners.Params{"client.lr": lr.Value(s), "client.epochs": tuners.Num(3)}
		trial := result.TrialResult{Number: i, Params: params, Score: 0.95}
		trial.Rungs = []result.Rung{{Round: 10, Score: 0.95}}
		if learned(s) {
			trial.Score, trial.Rungs[0].Score = 0.2, 0.2
		}
		r.Trials = append(r.Trials, trial)
	}
	r.Best.Params = tuners.Params{"client.lr": lr.Value(best), "client.epochs": tuners.Num(3)}
	return &Overview{Dir: "found it", Mode: config.ModeTune, State: Completed, Config: c, Tune: r}
}

// TestNext has a study for each rule, and one that it does not concern.
func TestNext(t *testing.T) {
	all := func(float64) bool { return true }
	some := func(lr float64) bool { return lr >= -2 }
	falling := []result.CurvePoint{
		{Round: 10, TestError: 0.5}, {Round: 20, TestError: 0.4}, {Round: 25, TestError: 0.35}, {Round: 30, TestError: 0.3},
	}
	flat := slices.Clone(falling)
	flat[1].TestError, flat[3].TestError = 0.3, 0.295
	perfect := slices.Clone(falling)
	perfect[3].TestError = 0
	gain, half := 0.01, 0.02
	for _, tt := range []struct {
		name      string
		tuner     string
		best      float64
		learned   func(float64) bool
		change    func(r *result.Result)
		why, sets string // of the first step beside those that every study has
		last      string // the last command, "none" for that of client.mu, empty for random search
	}{
		{name: "quiet", best: -2, learned: all},
		{
			name: "upper end", best: -0.1, learned: all,
			why:  "the winner is at the upper end of client.lr (0.794): widen its range",
			sets: `space.client.lr={log10=[-4, 2]}`,
		},
		{
			name: "lower end", best: -4, learned: all,
			why:  "the winner is at the lower end of client.lr (0.0001): widen its range",
			sets: `space.client.lr={log10=[-6, 0]}`,
		},
		{
			name: "narrower", best: -1, learned: some,
			why:  "3 of 8 trials did not learn: search only where they did, in client.epochs, client.lr",
			sets: `space.client.epochs={int=[2, 4]} space.client.lr={log10=[-2.4, 0]}`,
		},
		{name: "few learned", best: -1, learned: func(lr float64) bool { return lr >= -1 }},
		{
			name: "falling", best: -2, learned: all, change: func(r *result.Result) { r.Trials[0].Curve = falling },
			why:  "the test error still fell by 25 % of itself from round 20 to 30: train longer",
			sets: "budget.rounds=180 budget.trial_rounds=60",
		},
		{name: "flat", best: -2, learned: all, change: func(r *result.Result) { r.Trials[0].Curve = flat }},
		{name: "perfect", best: -2, learned: all, change: func(r *result.Result) { r.Trials[0].Curve = perfect }},
		{name: "not told", best: -2, learned: all, change: func(r *result.Result) {
			r.Baseline = &result.BaselineResult{Gain: &gain, GainHalf: &half}
		}, last: "fedfast tune 'found it/config.toml' --seeds 5 --baseline equal --study 'found it-seeds'"},
		{name: "told", best: -2, learned: all, change: func(r *result.Result) {
			r.Baseline = &result.BaselineResult{Gain: &half, GainHalf: &gain}
		}, last: "none"},
		{name: "random", tuner: "random", best: -2, learned: all, last: "none"},
		{
			name: "outside", best: 0.5, learned: all,
			why:  "the winner is outside of the range of client.lr (3.16): widen its range",
			sets: "space.client.lr={log10=[-4, 2.5]}",
		},
		{
			name: "no better than the default", best: -2, learned: all,
			change: func(r *result.Result) {
				r.Best.Number = 8
				r.Reference = &result.Reference{Number: 8, Trial: &result.TrialResult{Number: 8}}
			},
			last: "fedfast tune 'found it/config.toml' --set budget.rounds=180",
		},
		{name: "default not told", best: -2, learned: all, change: func(r *result.Result) {
			r.Reference = &result.Reference{Number: 8, Gain: &gain, GainHalf: &half}
		}, last: "fedfast tune 'found it/config.toml' --seeds 5 --study 'found it-seeds'"},
		{
			name: "one trial", tuner: "halving", best: -2, learned: all,
			change: func(r *result.Result) { r.Trials = r.Trials[:1] },
			why:    "budget.rounds paid for one trial, so that nothing was compared: give the tuner more rounds",
			sets:   "budget.rounds=450",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tuner := cmp.Or(tt.tuner, "asha")
			o := ended(t, tuner, tt.best, tt.learned)
			if tt.change != nil {
				tt.change(o.Tune)
			}
			steps := o.Next()
			const mu = "fedprox has client.mu, which was not tuned: add it to the space"
			own := slices.IndexFunc(steps, func(s Step) bool { return s.Why == mu })
			if own < 0 || !slices.Equal(steps[own].Sets, []string{`space.client.mu={log10=[-2, 0]}`}) {
				t.Fatalf("no advice to tune client.mu: %+v", steps)
			}
			last := cmp.Or(tt.last, "fedfast tune --study 'found it' --baseline equal")
			if alone := own == len(steps)-1; last == "none" && !alone || last != "none" && steps[len(steps)-1].Command != last {
				t.Errorf("last step of %+v, want %q", steps, last)
			}
			switch {
			case tt.why == "" && own != 0:
				t.Errorf("steps %+v", steps[:own])
			case tt.why == "":
			case own != 1 || steps[0].Why != tt.why || strings.Join(steps[0].Sets, " ") != tt.sets:
				t.Errorf("steps %+v, want %s: %s", steps[:own], tt.why, tt.sets)
			}
			text := strings.ReplaceAll(nextStudy, "%s", tuner)
			if _, err := config.Load(config.Source{Text: text, Sets: Sets(steps)}); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestNextOfRuns has a run train longer while its curve falls, and only a finished one.
func TestNextOfRuns(t *testing.T) {
	o := ended(t, "asha", -2, func(float64) bool { return true })
	o.Mode, o.Tune, o.Run = config.ModeRun, nil, &result.RunResult{Rounds: 40}
	for round := 10; round <= 40; round += 10 {
		o.Run.Curve = append(o.Run.Curve, result.CurvePoint{Round: round, TestError: 1 / float64(round)})
	}
	want := []Step{{
		Why:     "the test error still fell by 25 % of itself from round 30 to 40: train longer",
		Sets:    []string{"rounds=80"},
		Command: "fedfast run 'found it/config.toml' --set rounds=80",
	}}
	if got := o.Next(); !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
	o.Run.Curve[3].TestError = o.Run.Curve[2].TestError
	if got := o.Next(); got != nil {
		t.Errorf("a flat curve: %+v", got)
	}
	o.State = Interrupted
	if got := o.Next(); got != nil {
		t.Errorf("an interrupted run: %+v", got)
	}
}
