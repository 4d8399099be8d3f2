package study

import (
	"encoding/json"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/fedfast/fedfast/fl/fleet"
	"github.com/fedfast/fedfast/fl/study/config"
	"github.com/fedfast/fedfast/fl/study/result"
	"github.com/fedfast/fedfast/plugins"
)

// timeStudy is a study on a fleet, of a few trials.
func timeStudy(t *testing.T, tuner string, space map[string]any, change func(*config.Config)) Setup {
	t.Helper()
	s := fleetSetup(t, func(c *config.Config) {
		c.Budget = config.Budget{Rounds: 60, TrialRounds: 12}
		c.Space = space
		change(c)
	})
	s.Tuner = plugins.Builtin()[tuner]
	return s
}

// sameResult is what must not depend on workers.
func sameResult(t *testing.T, r *result.Result) string {
	t.Helper()
	r.Seconds, r.RoundsPerSecond = 0, 0
	text, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestTunesTheServersTimes has each trial work with its own times: the updates of a step,
// the clients at a time and the late ones follow the hyperparameters.
func TestTunesTheServersTimes(t *testing.T) {
	choice := func(values ...any) any { return map[string]any{"choice": values} }
	for name, c := range map[string]struct {
		change func(*config.Config)
		space  map[string]any
		check  func(t *testing.T, a result.TrialResult, params map[string]float64)
	}{
		"buffered": {buffered, map[string]any{
			"time.buffer": choice(1.0, 5.0), "time.concurrency": choice(2.0, 9.0),
			"time.exponent": choice(0.0, 2.0),
		}, func(t *testing.T, a result.TrialResult, p map[string]float64) {
			if got := a.Fleet.Updates; got != a.Rounds*int(p["time.buffer"]) {
				t.Errorf("%d updates in %d rounds with %v", got, a.Rounds, a.Params)
			}
		}},
		"sync": {func(c *config.Config) { c.Time.MinUpdates = 1 }, map[string]any{
			"time.overselect": choice(1.0, 2.0),
			"time.deadline":   choice(0.0, 5.0),
		}, func(t *testing.T, a result.TrialResult, p map[string]float64) {
			if late := a.Fleet.Late > 0; late != (p["time.overselect"] > 1 || p["time.deadline"] > 0) {
				t.Errorf("%d late updates with %v", a.Fleet.Late, a.Params)
			}
		}},
		"windows": {
			func(c *config.Config) { c.Time.Mode = fleet.Window },
			map[string]any{"time.window": choice(0.5, 5.0, 20.0)},
			func(t *testing.T, a result.TrialResult,
				p map[string]float64,
			) {
				if windows := a.Fleet.Clock / p["time.window"]; windows != math.Trunc(windows) {
					t.Errorf("%v windows with %v", windows, a.Params)
				}
			},
		},
		"partial": {
			func(c *config.Config) { c.Time.MinUpdates, c.Time.Deadline = 1, 8 },
			map[string]any{"time.partial": choice(true, false), "client.lr": choice(0.05, 0.1)},
			func(t *testing.T, a result.TrialResult, _ map[string]float64) {
				if on := a.Params["time.partial"].Any() == true; on != (a.Fleet.Partial > 0) {
					t.Errorf("%d updates with fewer steps with %v", a.Fleet.Partial, a.Params)
				}
			},
		},
		"oort": {func(c *config.Config) { c.Sampling = fleet.Oort }, map[string]any{
			"sampler.exploration":     choice(0.0, 1.0),
			"sampler.exploration_min": choice(0.0), "sampler.exploration_decay": choice(1.0),
			"sampler.cutoff": choice(0.0, 1.0),
		}, func(t *testing.T, a result.TrialResult, p map[string]float64) {
			if new := a.Fleet.Contributed; (new > 12) != (p["sampler.exploration"] == 1) {
				t.Errorf("%d clients contributed with %v", new, a.Params)
			}
		}},
		"tiers": {func(c *config.Config) { c.Sampling = fleet.Tiers }, map[string]any{
			"sampler.tiers": choice(2.0, 3.0),
			"client.epochs": choice(1.0, 2.0),
		}, func(*testing.T, result.TrialResult, map[string]float64) {}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tune := func(workers int) *result.Result {
				s := timeStudy(t, "random", c.space, c.change)
				s.Workers = workers
				r, err := Tune(t.Context(), s)
				if err != nil {
					t.Fatal(err)
				}
				return r
			}
			r := tune(1)
			var seen []string
			for _, a := range r.Trials {
				p := map[string]float64{}
				for name := range c.space {
					p[name] = a.Params.Float(name, -1)
				}
				seen = append(seen, a.Params.String())
				if a.Fleet == nil {
					t.Fatalf("%v failed: %s", a.Params, a.Failed)
				}
				c.check(t, a, p)
			}
			if slices.Sort(seen); len(slices.Compact(seen)) < 3 {
				t.Errorf("too few different trials: %v", seen)
			}
			if got, want := sameResult(t, tune(3)), sameResult(t, r); got != want {
				t.Errorf("3 workers: %s, want %s", got, want)
			}
		})
	}
}

// TestSpaceOfTimesIsChecked refuses times that cannot be before a trial begins.
func TestSpaceOfTimesIsChecked(t *testing.T) {
	choice := map[string]any{"choice": []any{0.5, 1.0}}
	for want, c := range map[string]struct {
		space  map[string]any
		change func(*config.Config)
	}{
		`space.time.buffer: not used with time.mode = "sync", but with buffered; leave it out`: {map[string]any{"time.buffer": map[string]any{"int": []any{1, 5}}}, func(*config.Config) {}},
		"time.concurrency: 99 clients at a time, glyphs has 21; lower it, or cohort":           {map[string]any{"time.concurrency": map[string]any{"int": []any{1, 99}}}, buffered},
		"time.open = 4: 3 clients work at a time (time.concurrency)": {map[string]any{"time.concurrency": map[string]any{"int": []any{3, 9}}}, func(c *config.Config) {
			buffered(c)
			c.Time.Open = 4
		}},
		`space.sampler.cutoff: only sampling = "oort" uses it; leave it out`: {
			map[string]any{"sampler.cutoff": choice},
			func(*config.Config) {},
		},
		"sampler.tiers = 9: a tier of the":                            {map[string]any{"sampler.tiers": map[string]any{"int": []any{2, 9}}}, func(c *config.Config) { c.Sampling = fleet.Tiers }},
		"sampler.exploration = 2: must be":                            {map[string]any{"sampler.exploration": map[string]any{"uniform": []any{0, 2}}}, func(c *config.Config) { c.Sampling = fleet.Oort }},
		"time.partial: clients do fewer steps before a deadline; set": {map[string]any{"time.partial": map[string]any{"choice": []any{false, true}}}, func(*config.Config) {}},
		"time.overselect = 0.5: must be":                              {map[string]any{"time.overselect": map[string]any{"uniform": []any{0.5, 2}}}, func(*config.Config) {}},
	} {
		if _, err := Tune(t.Context(), timeStudy(t, "random", c.space, c.change)); err == nil ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("got error %v, want %s", err, want)
		}
	}
}
