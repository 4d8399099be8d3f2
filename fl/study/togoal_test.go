package study

import (
	"math"
	"strings"
	"testing"

	"github.com/fedfast/fedfast/fl/study/config"
	"github.com/fedfast/fedfast/fl/study/result"
)

// toGoal makes the simulated time to an accuracy the objective.
func toGoal(c *config.Config) {
	inSeconds(240, 40)(c)
	c.Objective, c.Target, c.Eval.Goal, c.Eval.Every = "seconds_to_goal", "global", 0.05, 1
}

// TestTimeToAGoal tunes for the simulated time to an accuracy: a trial ends when it is
// there, and those that miss it rank after all others, by their errors.
func TestTimeToAGoal(t *testing.T) {
	for _, tuner := range []string{"random", "sha"} {
		t.Run(tuner, func(t *testing.T) {
			t.Parallel()
			tune := func(workers int) *result.Result {
				s := timeStudy(t, tuner, map[string]any{"client.lr": map[string]any{"log10": []any{-4.0, -0.5}}}, toGoal)
				if s.Workers = workers; tuner == "sha" {
					s.Config.Tuner.Options = map[string]any{"eta": 2}
					s.Config.Budget.Seconds = 170
				}
				r, err := Tune(t.Context(), s)
				if err != nil {
					t.Fatal(err)
				}
				return r
			}
			r := tune(1)
			hits, best := 0, 0
			for i, a := range r.Trials {
				var hit *result.CurvePoint
				for k := range a.Curve {
					if p := &a.Curve[k]; hit == nil && *p.ValError <= 0.95 && *p.Clock <= 40 {
						hit = p
					}
				}
				switch {
				case (hit != nil) != (a.SecondsToGoal != nil):
					t.Errorf("trial %d reached its goal at %v, the result says %v", i, hit, a.SecondsToGoal)
				case hit != nil:
					if hits++; a.Score != *hit.Clock || *a.SecondsToGoal != a.Score || a.Rounds != hit.Round {
						t.Errorf("trial %d: score %v after %d rounds, it was there at %v s, in round %d", i, a.Score, a.Rounds,
							*hit.Clock, hit.Round)
					}
				case !(a.Score > 40 && a.Score <= 80):
					t.Errorf("trial %d: score %v", i, a.Score)
				}
				if a.Score < r.Trials[best].Score {
					best = i
				}
			}
			if hits == 0 || hits == len(r.Trials) || r.Best.Number != best || r.Best.Score != r.Trials[best].Score {
				t.Errorf("%d of %d trials reached the goal; the best is %d with %v, want %d", hits, len(r.Trials), r.Best.Number,
					r.Best.Score, best)
			}
			if got, want := sameResult(t, tune(3)), sameResult(t, r); got != want {
				t.Errorf("3 workers: %s, want %s", got, want)
			}
		})
	}
}

// TestTimeToAGoalIsChecked refuses what has no time to a goal, and writes what has.
func TestTimeToAGoalIsChecked(t *testing.T) {
	var c config.Config
	for want, change := range map[string]func(){
		"requires eval.goal: the accuracy to reach":    func() { c.Eval.Goal = 0 },
		"requires budget.trial_seconds: ":              func() { c.Budget = config.Budget{Rounds: 20, TrialRounds: 5} },
		"requires eval.every_seconds: ":                func() { c.Eval.Every, c.Eval.Goal = 0, 0.5 },
		`requires target = "global": the goal is one `: func() { c.Target = "personalized" },
	} {
		c = fleetSetup(t, toGoal).Config
		if change(); c.Check() == nil || !strings.Contains(c.Check().Error(), want) {
			t.Errorf("got %v, want %s", c.Check(), want)
		}
	}
	scale := result.ScaleOf(&config.Config{
		Objective: "seconds_to_goal", Target: "global",
		Budget: config.Budget{TrialSeconds: 40},
	}, "")
	for score, want := range map[float64]string{
		12.5: "12.5 s", 40: "40 s", 58: "missed (45.00 % error)",
		math.NaN(): "-",
	} {
		if got := scale.Text(score); got != want {
			t.Errorf("%v is written %s, want %s", score, got, want)
		}
	}
	if got := scale.String(); got != "validation time to goal (global)" {
		t.Error(got)
	}
}
