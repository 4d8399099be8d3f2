package plugins_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/fedfast/fedfast/plugins"
	"github.com/fedfast/fedfast/tuners"
	"github.com/fedfast/fedfast/tuners/host"
)

// wrappers are the trial tuners whose budgets differ from that of the others, with
// the budget that each is played with.
var wrappers = []struct {
	name   string
	budget tuners.Budget
}{
	{"grid", tuners.Budget{Rounds: 90 * 4, TrialRounds: 4}}, // 5 x 3 x 2 x 3 points
	{"hyperband", tuners.Budget{Rounds: 300, TrialRounds: 27}},
	{"bohb", tuners.Budget{Rounds: 300, TrialRounds: 27}},
	{"dehb", tuners.Budget{Rounds: 300, TrialRounds: 27}},
	{"asha", tuners.Budget{Rounds: 300, TrialRounds: 27}},
	{"bo", tuners.Budget{Rounds: 350, TrialRounds: 10}},
	{"tpe", tuners.Budget{Rounds: 350, TrialRounds: 10}},
}

func TestWrappersInSubprocessesDecideAsTheTunersThemselves(t *testing.T) {
	for _, w := range wrappers {
		t.Run(w.name, func(t *testing.T) {
			want, _, _ := study(t, host.Local(plugins.Builtin()[w.name]), nil, w.budget)
			got, first, best := study(t, launch(t, w.name, t.TempDir()), nil, w.budget)
			if got != want {
				t.Errorf("the subprocess decides otherwise:\n%s\nwant\n%s", got, want)
			}
			if best > first {
				t.Errorf("its choice scores %v, the first trial %v", best, first)
			}
		})
	}
}

func TestWrappersRunClientTuners(t *testing.T) {
	fedex := host.Local(plugins.Builtin()["fedex"])
	for _, w := range wrappers {
		if w.name == "grid" { // FedEx adds a dimension
			w.budget.Rounds *= 3
		}
		want, _, _ := study(t, host.Local(plugins.Builtin()[w.name]), fedex, w.budget)
		dir := t.TempDir()
		for i := range 2 {
			if err := os.WriteFile(filepath.Join(dir, fmt.Sprint("bomb", i)), nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		p := launch(t, w.name, dir)
		if got, _, _ := study(t, p, fedex, w.budget); got != want {
			t.Errorf("%s under crashes decides otherwise:\n%s\nwant\n%s", w.name, got, want)
		}
		if p.Restarts() == 0 {
			t.Errorf("%s did not crash", w.name)
		}
	}
}
