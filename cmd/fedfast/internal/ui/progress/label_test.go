package progress

import (
	"strings"
	"testing"
	"time"

	"github.com/fedfast/fedfast/fl/study"
)

// TestLabels begins every line with which of several studies it is about, as far
// as a terminal has room for it.
func TestLabels(t *testing.T) {
	for columns, want := range map[int][]string{
		0:  {"seed 2 of 5: a head\n", "seed 2 of 5: round 4 of 4, trial 1 at round 2 of 3, "},
		80: {"seed 2 of 5: a head\n", "seed 2 of 5 100% |", "| round 4 of 4, now evaluating", "\nlowest score 0.5000, loss 1.0000, trial 1 (2 of 3)", "seed 2 of 5: round 4 of 4 in 3s"},
		40: {"seed 2 of 5: round 4 of 4 in 3s"},
	} {
		var out strings.Builder
		clock := time.Unix(0, 0)
		terminal := func() int { return columns }
		if columns == 0 {
			terminal = nil
		}
		d := New(&out, terminal, "a head\n", func() time.Time { return clock })
		d.Label("seed 2 of 5")
		clock = time.Unix(3, 0)
		d.Update(study.Progress{Trial: 1, TrialRound: 2, ToRound: 3, Round: 4, Rounds: 4, Loss: 1, Best: 0.5})
		d.Close()
		for _, text := range want {
			if !strings.Contains(out.String(), text) {
				t.Errorf("%d columns: %q is not in %q", columns, text, out.String())
			}
		}
	}
}

// TestMaximizedScores says that the best score of a maximized objective is the highest.
func TestMaximizedScores(t *testing.T) {
	for _, columns := range []func() int{nil, func() int { return 80 }} {
		var out strings.Builder
		d := New(&out, columns, "", func() time.Time { return time.Unix(0, 0) })
		d.Update(study.Progress{Trial: 1, TrialRound: 2, ToRound: 3, Round: 4, Rounds: 4, Loss: 1, Best: 0.5, Maximize: true})
		d.Close()
		if text := out.String(); !strings.Contains(text, "highest score 0.5000") || strings.Contains(text, "lowest") {
			t.Errorf("it says %q", text)
		}
	}
}
