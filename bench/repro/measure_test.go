package repro

import (
	"bytes"
	"math"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fedfast/fedfast/fl/study/config"
	"github.com/fedfast/fedfast/fl/study/result"
	"github.com/fedfast/fedfast/internal/test/npztest"
	"github.com/fedfast/fedfast/tuners"
)

// twice is a study of two arms and a run, on data of one's own whose numbers are to be
// predicted, or several labels of each example.
func twice(t *testing.T, labels bool) []Cell {
	t.Helper()
	here(t)
	const n = 60
	x, client, numbers, tags := make([]float32, 2*n), make([]int32, n), make([]float32, n), make([]uint8, 2*n)
	for i := range n {
		a, b := float32(i%7)/7, float32(i%5)/5
		x[2*i], x[2*i+1], client[i] = a, b, int32(i%4)
		numbers[i] = 3*a - 2*b + 40
		if a > 0.5 {
			tags[2*i] = 1
		} else {
			tags[2*i+1] = 1
		}
	}
	y := npztest.Array{Name: "y", Shape: []int{n}, Values: numbers}
	if labels {
		y = npztest.Array{Name: "y", Shape: []int{n, 2}, Values: tags}
	}
	path := filepath.Join(t.TempDir(), "own.npz")
	npztest.Write(t, path, true, npztest.Array{Name: "x", Shape: []int{n, 2}, Values: x},
		npztest.Array{Name: "client", Shape: []int{n}, Values: client}, y)
	training := func(key, mode string, more ...string) *Training {
		sets := append([]string{
			"data.name=npz-vectors", "data.path=" + quote(path), "model=logistic", "cohort=2",
			"client.lr=0.05", "eval.every=2", "rounds=8",
		}, more...)
		if labels {
			sets = append(sets, "loss.recall_at=1")
		}
		return &Training{
			Key: key, Mode: mode, Preset: "quickstart", Needs: "glyphs", Seeds: 2, Shrink: shrinkFedex,
			Sets: sets, ClientTuner: "none",
		}
	}
	tune := training("own-tune", config.ModeTune, "budget.rounds=16", "budget.trial_rounds=8", "tuner.name=random",
		"target=global", `space."client.lr"={log10=[-2,-1]}`)
	run := training("own-run", config.ModeRun)
	return []Cell{
		{
			Name: "own/tune", Training: tune, Unit: "% test error", Measure: returnedError(tuners.TargetGlobal),
			Published: &Published{Mean: 12.5, SD: 1, Seeds: 5},
		},
		{Name: "own/run", Training: run, Unit: "% test accuracy", Measure: finalAccuracy},
	}
}

// TestMeasures runs a study and a training whose errors are no shares of examples
// classified wrongly: reports name what they are.
func TestMeasures(t *testing.T) {
	for name, want := range map[string]struct {
		labels                 bool
		measure, unit, run     string
		least, most, runsValue float64
	}{
		"numbers": {false, result.MeasureRMSE, "test RMSE", "% test accuracy", 0, 60, math.NaN()},
		"labels":  {true, result.MeasureRecall, "% test 1 - recall", "% test recall", 0, 100, 100},
	} {
		t.Run(name, func(t *testing.T) {
			cells := twice(t, want.labels)
			jobs, _, err := Plan(t.Context(), cells, Options{Seeds: 1}, t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			var all []*Metrics
			for _, m := range runAll(t, jobs) {
				path := filepath.Join(t.TempDir(), "seed-1.jsonl")
				if err := m.Write(path); err != nil {
					t.Fatal(err)
				}
				read, err := ReadMetrics(path)
				if err != nil {
					t.Fatal(err)
				}
				all = append(all, read)
			}
			report, err := NewReport(cells, all)
			if err != nil {
				t.Fatal(err)
			}
			tune, run := &report.Rows[0], &report.Rows[1]
			if tune.measure() != want.measure || tune.Unit != want.unit || tune.Published != nil ||
				tune.Instead != "12.5 +- 1 % test error" || run.Unit != want.run {
				t.Errorf("%q, %q, %q, %q", tune.measure(), tune.Unit, tune.Instead, run.Unit)
			}
			e := *all[0].End.Best.GlobalTest
			if shown := tune.Values[0]; want.labels && shown != 100*e || !want.labels && shown != e || !(shown >= want.least) ||
				!(shown < want.most) {
				t.Errorf("%v is shown of the error %v", shown, e)
			}
			if x := run.Values[0]; math.IsNaN(x) != math.IsNaN(want.runsValue) || x > want.runsValue {
				t.Errorf("the run ends at %v", x)
			}
			var markdown bytes.Buffer
			report.WriteMarkdown(&markdown)
			if !strings.Contains(markdown.String(), "| own/tune | "+want.unit+" | 12.5 +- 1 % test error | ") {
				t.Error(markdown.String())
			}
		})
	}
}
