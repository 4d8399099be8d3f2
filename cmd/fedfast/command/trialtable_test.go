package command

import (
	"strings"
	"testing"

	"github.com/fedfast/fedfast/fl/study/config"
	"github.com/fedfast/fedfast/fl/study/view"
	"github.com/fedfast/fedfast/tuners"
)

// TestPrintTrials shows ten trials, the longest and of these the best first, with the
// hyperparameters in which they differ, and counts the others. Where a client tuner changes these,
// the table says so.
func TestPrintTrials(t *testing.T) {
	c := config.Default()
	o := &view.Overview{Dir: "dir", Mode: config.ModeTune, Config: &c}
	for i := range 13 {
		score := float64(i) / 100
		o.Trials = append(o.Trials, view.Trial{
			Number: i, State: view.Pruned, Rounds: 3 + i%2, Rungs: []view.Rung{{Round: 3 + i%2, Score: score}},
			Params: tuners.Params{"client.lr": tuners.Num(score), "client.batch": tuners.Num(8)},
		})
	}
	o.Trials[12].State, o.Trials[12].Rungs = view.Failed, nil
	for _, client := range []string{"", "fathom"} {
		c.ClientTuner.Name = client
		for all, want := range map[bool]int{false: 13, true: 15} {
			var b strings.Builder
			if err := printTrials(&b, o, all); err != nil {
				t.Fatal(err)
			}
			lines := strings.Split(strings.TrimSpace(b.String()), "\n")
			if client != "" {
				if lines[1] != "hyperparameters of trials are what they started from; client tuner fathom changes them in each round" {
					t.Errorf("beside a client tuner it begins with %q", lines[1])
				}
				lines = append(lines[:1], lines[2:]...)
			}
			if len(lines) != want || strings.Join(strings.Fields(lines[1]), " ") != "trial state rounds last rung client.lr" ||
				strings.Join(strings.Fields(lines[2]), " ") != "1 pruned 4 1.00 % 0.01" {
				t.Errorf("all %v: %d lines:\n%s", all, len(lines), b.String())
			}
			if last := lines[len(lines)-1]; !all && last != "+ 1 failed, 2 pruned: fedfast study show dir --all" {
				t.Errorf("it ends with %q", last)
			}
		}
	}
}
