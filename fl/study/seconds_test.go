package study

import (
	"context"
	"strings"
	"testing"

	"github.com/fedfast/fedfast/fl/fleet"
	"github.com/fedfast/fedfast/fl/study/config"
	"github.com/fedfast/fedfast/fl/study/result"
	"github.com/fedfast/fedfast/plugins"
)

// inSeconds gives a study a budget in simulated seconds.
func inSeconds(seconds, trial int) func(*config.Config) {
	return func(c *config.Config) {
		buffered(c)
		c.Budget = config.Budget{Seconds: seconds, TrialSeconds: trial}
		c.Finalists.Snapshots, c.Eval.Personalized = 2, false
	}
}

var rates = map[string]any{"client.lr": map[string]any{"log10": []any{-3.0, 0.0}}}

// TestTunersSpendSeconds has each tuner spend a budget in simulated seconds: every trial
// ends at its first round at or after the second of its rung, with the same bits for any
// number of workers and of trials at a time.
func TestTunersSpendSeconds(t *testing.T) {
	for name, seconds := range map[string]int{
		"sha": 170, "asha": 400, "hyperband": 400, "bohb": 400, "dehb": 400,
		"random": 160, "grid": 160, "bo": 160, "tpe": 160, "pbt": 160,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tune := func(workers int) *result.Result {
				s := timeStudy(t, name, rates, inSeconds(seconds, 40))
				s.Workers, s.Config.Tuner.Parallel = workers, 2
				switch name {
				case "sha", "asha", "hyperband", "bohb", "dehb":
					s.Config.Tuner.Options = map[string]any{"eta": 2}
				case "grid":
					s.Config.Space = map[string]any{"client.lr": map[string]any{"choice": []any{0.01, 0.1, 1.0, 3.0}}}
				case "bo", "tpe":
					s.Config.Tuner.Options = map[string]any{"init": 2}
				case "pbt":
					s.Config.Tuner.Options = map[string]any{"population": 4, "interval": 10}
				}
				r, err := Tune(t.Context(), s)
				if err != nil {
					t.Fatal(err)
				}
				return r
			}
			r := tune(1)
			spent, rungs := 0, 0
			for _, a := range r.Trials {
				clock := map[int]float64{}
				for _, p := range a.Curve {
					clock[p.Round] = *p.Clock
				}
				last := 0
				for _, rung := range a.Rungs {
					at, ok := clock[rung.Round]
					if ok && at < float64(rung.Second) || rung.Second <= last {
						t.Errorf("trial %d: round %d, of second %v, for the rung %d", a.Number, rung.Round, at, rung.Second)
					}
					last = rung.Second
					rungs++
				}
				if a.Fleet.Clock < float64(last) || last > 40 {
					t.Errorf("trial %d ended at %v s, its last rung is %d", a.Number, a.Fleet.Clock, last)
				}
				if spent += last; a.Source != nil {
					spent -= a.Rungs[0].Second - 10
				}
			}
			if name != "pbt" && spent != r.SimulatedSeconds || r.SimulatedSeconds > seconds || r.SimulatedSeconds < seconds/2 {
				t.Errorf("spent %d of %d simulated seconds, the result has %d", spent, seconds, r.SimulatedSeconds)
			}
			if want := map[string]int{"sha": 15, "random": 4, "grid": 4, "bo": 4}[name]; want > 0 && rungs != want {
				t.Errorf("%d rungs, want %d", rungs, want)
			}
			if got, want := sameResult(t, tune(3)), sameResult(t, r); got != want {
				t.Errorf("3 workers: %s, want %s", got, want)
			}
		})
	}
}

// TestSecondsAreResumed ends a study in seconds after every few rounds.
func TestSecondsAreResumed(t *testing.T) {
	t.Parallel()
	s := timeStudy(t, "sha", rates, inSeconds(60, 30))
	s.Config.Tuner.Options = map[string]any{"eliminations": 1}
	r, err := Tune(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := sameResult(t, resumed(t, s, 3, 4)), sameResult(t, r); got != want {
		t.Errorf("resumed: %s, want %s", got, want)
	}
}

// resumed ends a study after a number of rounds, and again after more each time, and returns
// its result.
func resumed(t *testing.T, s Setup, rounds, more int) *result.Result {
	t.Helper()
	for dir := t.TempDir(); ; rounds += more {
		ctx, stop := context.WithCancel(t.Context())
		s.Store, s.Observer = openStore(t, dir), &eventLog{stop: stop, after: rounds}
		r, err := Tune(ctx, s)
		stopped := ctx.Err() != nil
		stop()
		if err := s.Store.Close(); err != nil {
			t.Fatal(err)
		}
		if err != nil && !stopped {
			t.Fatal(err)
		}
		if r != nil {
			return r
		}
	}
}

// TestTrialSecondsBoundATrial ends trials of a budget in rounds early, and refuses what
// seconds cannot be.
func TestTrialSecondsBoundATrial(t *testing.T) {
	t.Parallel()
	s := timeStudy(t, "random", rates, func(c *config.Config) {
		buffered(c)
		c.Budget = config.Budget{Rounds: 200, TrialRounds: 100, TrialSeconds: 20}
	})
	r, err := Tune(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range r.Trials {
		if a.Fleet.Clock < 20 || a.Fleet.Clock > 40 || a.Rounds >= 100 || a.State != result.Completed {
			t.Errorf("trial %d: %s after %d rounds, at %v s", a.Number, a.State, a.Rounds, a.Fleet.Clock)
		}
	}
	for want, change := range map[string]func(*Setup){
		"budget.trial_seconds: required by budget.seconds":                                                    func(s *Setup) { s.Config.Budget = config.Budget{Seconds: 100} },
		"budget.seconds: successive halving needs budget.seconds (30) greater than budget.trial_seconds (30)": func(s *Setup) { s.Config.Budget = config.Budget{Seconds: 30, TrialSeconds: 30} },
		"budget.seconds: tuner fedoras counts rounds alone; use budget.rounds and budget.trial_rounds": func(s *Setup) {
			s.Tuner = plugins.Builtin()["fedoras"]
			s.Config.Time = fleet.DefaultTime()
			s.Config.Fleet = fleet.Config{}
		},
	} {
		s := timeStudy(t, "sha", rates, inSeconds(120, 30))
		change(&s)
		if _, err := Tune(t.Context(), s); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got error %v, want %s", err, want)
		}
	}
}
