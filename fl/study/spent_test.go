package study

import (
	"strings"
	"testing"

	"github.com/fedfast/fedfast/fl/study/config"
	"github.com/fedfast/fedfast/fl/study/result"
)

// TestTunersSpendUpdates has tuners spend a budget in updates: every trial ends at its first
// step with the updates of its rung, with the same bits for any number of workers and after
// a stop. Where all steps take as many, the study is the study of a budget in rounds.
func TestTunersSpendUpdates(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		tuner  string
		budget config.Budget
		each   int // updates of a step, 0 where they vary
		change func(*config.Config)
	}{
		"buffered":  {"random", config.Budget{Updates: 144, TrialUpdates: 36}, 3, buffered},
		"odd rungs": {"hyperband", config.Budget{Updates: 230, TrialUpdates: 40}, 3, buffered},
		"a step":    {"asha", config.Budget{Updates: 120, TrialUpdates: 30}, 0, deadline},
		"copies":    {"pbt", config.Budget{Updates: 160, TrialUpdates: 40}, 3, buffered},
		"no fleet": {"sha", config.Budget{Updates: 170, TrialUpdates: 40}, 4, func(c *config.Config) {
			c.Fleet,
				c.Cohort = config.Default().Fleet, 4
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			study := func(workers int, b config.Budget) Setup {
				s := timeStudy(t, c.tuner, rates, func(k *config.Config) {
					c.change(k)
					k.Budget, k.Finalists.Snapshots, k.Eval.Personalized, k.Tuner.Parallel = b, 2, false, 2
				})
				switch s.Workers = workers; c.tuner {
				case "pbt":
					s.Config.Tuner.Options = map[string]any{"population": 4, "interval": 10}
				case "random":
				default:
					s.Config.Tuner.Options = map[string]any{"eta": 2}
				}
				return s
			}
			tune := func(s Setup) *result.Result {
				r, err := Tune(t.Context(), s)
				if err != nil {
					t.Fatal(err)
				}
				return r
			}
			r := tune(study(1, c.budget))
			spent := 0
			for _, a := range r.Trials {
				last := 0
				for _, rung := range a.Rungs {
					if rung.Update <= last || rung.Update > c.budget.TrialUpdates || c.each > 0 && a.Source == nil &&
						rung.Round != (rung.Update+c.each-1)/c.each {
						t.Errorf("trial %d: round %d for rung %d behind %d", a.Number, rung.Round, rung.Update, last)
					}
					last = rung.Update
				}
				if spent += last; a.Source != nil {
					spent -= a.Rungs[0].Update - 10
				}
			}
			if c.tuner != "pbt" && spent != r.Updates || r.Updates > c.budget.Updates || r.Updates < c.budget.Updates/2 ||
				r.SimulatedSeconds != 0 {
				t.Errorf("spent %d of %d updates, the result has %d", spent, c.budget.Updates, r.Updates)
			}
			want := sameResult(t, r)
			if got := sameResult(t, tune(study(3, c.budget))); got != want {
				t.Errorf("3 workers: %s, want %s", got, want)
			}
			if got := sameResult(t, resumed(t, study(2, c.budget), 5, 12)); got != want {
				t.Errorf("resumed: %s, want %s", got, want)
			}
			if c.tuner == "random" {
				b := config.Budget{Rounds: c.budget.Updates / c.each, TrialRounds: c.budget.TrialUpdates / c.each}
				if in := tune(study(1, b)); in.WeightsSHA256 != r.WeightsSHA256 || in.Rounds != r.Rounds {
					t.Errorf("%d rounds end with %s, want %s of %d", in.Rounds, in.WeightsSHA256, r.WeightsSHA256, r.Rounds)
				}
			}
		})
	}
}

// TestUpdatesAreRefused names the key of what a budget in updates cannot be.
func TestUpdatesAreRefused(t *testing.T) {
	t.Parallel()
	for want, b := range map[string]config.Budget{
		"budget.trial_updates: required by budget.updates": {Updates: 100},
		"budget.trial_updates: not used without budget.updates": {
			Rounds:      20,
			TrialRounds: 10, TrialUpdates: 10,
		},
		"budget.updates: a study counts either these or": {
			Updates:      100,
			TrialUpdates: 10, Seconds: 100, TrialSeconds: 10,
		},
		"budget.updates: successive halving needs budget.updates (30) greater than budget.trial_updates (30)": {
			Updates:      30,
			TrialUpdates: 30,
		},
	} {
		s := timeStudy(t, "sha", rates, func(*config.Config) {})
		s.Config.Budget = b
		if _, err := Tune(t.Context(), s); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got error %v, want %s", err, want)
		}
	}
}
