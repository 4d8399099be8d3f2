package study

import (
	"fmt"
	"math"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/fedfast/fedfast/fl/study/result"
	"github.com/fedfast/fedfast/internal/tuner/fedtune"
	"github.com/fedfast/fedfast/plugins"
	"github.com/fedfast/fedfast/tuners"
)

// decided is all that a study by an objective decided, with scores as errors.
func decided(t *testing.T, s Setup, r *result.Result) (lines []string) {
	t.Helper()
	aim := s.Config.Aim()
	add := func(format string, args ...any) { lines = append(lines, fmt.Sprintf(format, args...)) }
	score := func(x float64) string {
		if aim.Direction == tuners.Maximize {
			x = 1 - x
		}
		return fmt.Sprintf("%.9f", x)
	}
	chosen := func(what string, c *result.Chosen) {
		if c != nil {
			add("%s: trial %d, round %d, score %s, %v, weights %s", what, c.Number, c.Round, score(c.Score), c.Params, c.SHA256)
		}
	}
	chosen("best", &r.Best)
	chosen("survivor", r.Survivor)
	chosen("luckiest", r.Luckiest)
	for _, f := range r.Finalists {
		add("finalist: trial %d, round %d, survivor %v, score %s", f.Trial, f.Round, f.Survivor, score(f.Score))
	}
	for _, trial := range r.Trials {
		source := -1
		if trial.Source != nil {
			source = *trial.Source
		}
		add("trial %d: %s, %v, %d rounds, source %d", trial.Number, trial.State, trial.Params, trial.Rounds, source)
		for _, rung := range trial.Rungs {
			add("rung at %d: %s", rung.Round, score(rung.Score))
		}
	}
	var tried []fedtune.Tried
	for _, side := range r.Sides {
		add("side: %+v, %v, %v, %s", side.Environment, side.Params, side.Table, score(*side.Score))
		tried = append(tried, fedtune.Tried{
			Environment: side.Environment, Params: side.Params, Table: side.Table,
			Score: side.Score,
		})
	}
	for _, row := range result.BestProxies(r.Sides, aim).Cells {
		for _, cell := range row {
			add("cell: %v, %s", cell.Params, score(*cell.Score))
		}
	}
	if len(tried) > 0 {
		options, err := tuners.ParamsOf(s.Config.Tuner.Options)
		if err != nil {
			t.Fatal(err)
		}
		table, err := fedtune.TableOf(options, s.Config.Seed, aim, tried)
		if err != nil {
			t.Fatal(err)
		}
		add("table to hand on: %s", table)
	}
	return lines
}

// TestEveryTunerByErrorAndByAccuracy plays every built-in tuner by the error and by the accuracy,
// 1 less it, which decide alike: what is tried, what clients train with and what comes of it.
func TestEveryTunerByErrorAndByAccuracy(t *testing.T) {
	builtin := plugins.Builtin()
	names := []string{"fedtune-hrt mixed", "fedtune-hrt random"}
	for name := range builtin {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var want []string
			for _, objective := range []string{tuners.MetricError, tuners.MetricAccuracy} {
				var s Setup
				switch name {
				case "fedtune-hrt mixed":
					s = mixedStudy(t)
				case "fedtune-hrt random":
					s = tableStudy(t)
					s.Config.Tuner.Options["search"] = fedtune.Random
				case "proxy": // which needs a finished study by the same objective
					first := filepath.Join(t.TempDir(), "first")
					s = tuned(t, "random")
					s.Config.Objective = objective
					finish(t, s, first)
					s = glyphStudy(t, builtin[name])
					s.Config.Tuner.Name, s.Config.Tuner.From = name, []string{first}
				default:
					s = tuned(t, name)
				}
				s.Config.Objective = objective
				got := decided(t, s, finish(t, s, filepath.Join(t.TempDir(), "study")))
				if want == nil {
					want = got
					continue
				}
				if !slices.Equal(got, want) {
					t.Errorf("by the accuracy it decides\n%s\nby the error\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
				}
			}
		})
	}
}

// TestBestProxiesByBothDirections has the best of each cell, and none of trials without a score.
func TestBestProxiesByBothDirections(t *testing.T) {
	var sides []result.ProxyTrial
	for _, x := range []float64{0.3, 0.2, 0.9, math.NaN()} {
		s := result.ProxyTrial{Environment: tuners.Environment{Samples: 5}}
		if x == x {
			s.Score = &x
		}
		sides = append(sides, s)
	}
	for direction, want := range map[tuners.Direction]*result.ProxyTrial{
		tuners.Minimize: &sides[1],
		tuners.Maximize: &sides[2],
	} {
		if got := result.BestProxies(sides, tuners.Objective{Direction: direction}).Cells; !reflect.DeepEqual(got,
			[][]*result.ProxyTrial{{want}}) {
			t.Errorf("%v: %v", direction, got)
		}
	}
}
