package command

import (
	"strings"
	"testing"

	"github.com/fedfast/fedfast/fl/study"
	"github.com/fedfast/fedfast/fl/study/config"
	"github.com/fedfast/fedfast/tuners"
)

// TestPrintTrials shows ten trials, the longest and of these the best first, with the
// hyperparameters in which they differ, and counts the others.
func TestPrintTrials(t *testing.T) {
	var rows []trialRow
	for i := range 13 {
		score := float64(i) / 100
		rows = append(rows, trialRow{number: i, state: "pruned", Place: study.Place{Rung: 3 + i%2, Rounds: 3 + i%2, Score: &score}, params: tuners.Params{"client.lr": tuners.Num(score), "client.batch": tuners.Num(8)}})
	}
	rows[12].state, rows[12].Score = "failed", nil
	c := config.Default()
	for all, want := range map[bool]int{false: 13, true: 15} {
		var b strings.Builder
		if err := printTrials(&b, &c, nil, study.ScaleOf(&c, ""), rows, all, "dir"); err != nil {
			t.Fatal(err)
		}
		lines := strings.Split(strings.TrimSpace(b.String()), "\n")
		if len(lines) != want || strings.Join(strings.Fields(lines[1]), " ") != "trial state rounds last rung client.lr" || strings.Join(strings.Fields(lines[2]), " ") != "1 pruned 4 1.00 % 0.01" {
			t.Errorf("all %v: %d lines:\n%s", all, len(lines), b.String())
		}
		if last := lines[len(lines)-1]; !all && last != "+ 1 failed, 2 pruned: fedfast study show dir --all" {
			t.Errorf("it ends with %q", last)
		}
	}
}
