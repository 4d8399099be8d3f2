package progress

import (
	"strings"
	"testing"
	"time"

	"github.com/fedfast/fedfast/fl/study"
	"github.com/fedfast/fedfast/fl/study/result"
)

// TestLabels begins every line with which of several studies it is about, as far
// as a terminal has room for it.
func TestLabels(t *testing.T) {
	for columns, want := range map[int][]string{
		0: {"seed 2 of 5: a head\n", "seed 2 of 5: round 4 of 4, trial 1 at round 2 of 3, "},
		80: {
			"seed 2 of 5: a head\n", "seed 2 of 5 100% |", "| round 4 of 4, now evaluating",
			"\nbest ~50.00 % val error (trial 1), loss 1, trial 1 (2 of 3)", "seed 2 of 5: round 4 of 4 in 3s",
		},
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
		d.Update(study.Progress{
			Trial: 1, TrialRound: 2, ToRound: 3, Round: 4, Rounds: 4, Loss: 1,
			Best: result.Standing{Trial: 1, Score: 0.5, Rounds: 2, Clients: 4}, Scale: result.Scale{
				Metric:  "error",
				Percent: true,
			},
		})
		d.Close()
		for _, text := range want {
			if !strings.Contains(out.String(), text) {
				t.Errorf("%d columns: %q is not in %q", columns, text, out.String())
			}
		}
	}
}

// TestScoresSayWhatTheyAre writes the best score with its metric and what it comes from.
func TestScoresSayWhatTheyAre(t *testing.T) {
	for _, columns := range []func() int{nil, func() int { return 120 }} {
		var out strings.Builder
		d := New(&out, columns, "", func() time.Time { return time.Unix(0, 0) })
		d.Update(study.Progress{
			Trial: 1, TrialRound: 2, ToRound: 3, Round: 4, Rounds: 4, Loss: 1,
			Best: result.Standing{Trial: 1, Score: 0.5, Rounds: 1, Clients: 1}, Scale: result.Scale{
				Metric:  "accuracy",
				Percent: true, Maximize: true,
			},
		})
		d.Close()
		if text := out.String(); !strings.Contains(text, "best ~50.00 % val accuracy (trial 1), 1 round, 1 client") {
			t.Errorf("it says %q", text)
		}
	}
}
