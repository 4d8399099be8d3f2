package recorded

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/stat"

	"github.com/fedfast/fedfast/plugins"
	"github.com/fedfast/fedfast/tuners"
	"github.com/fedfast/fedfast/tuners/host"
)

// tables is where the recorded tables are, with what bench --suite tuners printed of them.
const tables = "../../../../bench/results/tables/"

// standings reads what is recorded of all tuners on the tables.
func standings(t *testing.T) *Standings {
	text, err := os.ReadFile(tables + "tuners.json")
	if err != nil {
		t.Fatal(err)
	}
	s := &Standings{}
	if err := json.Unmarshal(text, s); err != nil {
		t.Fatal(err)
	}
	return s
}

// TestStandingsAreThose: today's tuners have the recorded regrets.
func TestStandingsAreThose(t *testing.T) {
	want := standings(t)
	c := Contest{Seeds: 2, Workers: 4}
	for _, table := range want.Tables {
		opened, err := Open(filepath.Join(tables, table.Name+Suffix))
		if err != nil {
			t.Fatal(err)
		}
		c.Tables = append(c.Tables, Named[*Table]{table.Name, opened})
	}
	for name, tuner := range plugins.Builtin() {
		recorded := slices.ContainsFunc(want.Cells, func(cell Cell) bool { return cell.Tuner == name })
		if recorded && (!testing.Short() || slices.Contains([]string{"asha", "halving", "random", "sha"}, name)) {
			c.Tuners = append(c.Tuners, Named[tuners.Tuner]{name, host.Local(tuner)})
		}
	}
	if testing.Short() { // cifar10 and qmnist: few clients' rows
		c.Tables, want.Tables = []Named[*Table]{c.Tables[0], c.Tables[4]}, []Digest{want.Tables[0], want.Tables[4]}
	}
	got, err := c.Play(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(got.Tables, want.Tables) {
		t.Errorf("tables %+v, recorded %+v", got.Tables, want.Tables)
	}
	for _, cell := range got.Cells {
		at := slices.IndexFunc(want.Cells, func(w Cell) bool { return w.Table == cell.Table && w.Tuner == cell.Tuner })
		for i, r := range cell.Regrets {
			w := want.Cells[at].Regrets[i]
			if w.Rounds != r.Rounds || r.Rounds > 0 && !slices.Equal(r.Scaled, w.Scaled[:c.Seeds]) {
				t.Errorf("%s on %s, %d trainings: %v of %d rounds, recorded %v of %d", cell.Tuner, cell.Table, r.Trainings,
					r.Scaled, r.Rounds, w.Scaled, w.Rounds)
			}
		}
	}
	if len(got.Cells) == 0 || len(got.LeftOut) > 0 {
		t.Errorf("%d cells, left out %s", len(got.Cells), strings.Join(got.LeftOut, "; "))
	}
}

// TestPageOfStandings: the page of the tables shows the recorded ranks and regrets.
func TestPageOfStandings(t *testing.T) {
	page, err := os.ReadFile(tables + "README.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range standings(t).Ranks {
		var row strings.Builder
		row.WriteString("| " + r.Tuner)
		for _, regret := range append(slices.Clone(r.Regrets), r.Rank) {
			digits := 0
			if regret == r.Rank {
				digits = 2
			}
			cell := fmt.Sprintf(" | %.*f +- %.*f", digits, regret.Mean, digits, regret.Half)
			if regret.N == 0 {
				cell = " | -"
			}
			row.WriteString(cell)
		}
		row.WriteString(" |\n")
		if !strings.Contains(string(page), row.String()) {
			t.Errorf("the page lacks %q", row.String())
		}
	}
}

// TestDefaultTunerIsShown: on the recorded tables the default tuner returns better models than
// random search and no worse ones than asha, with 4 and with 8 trainings.
func TestDefaultTunerIsShown(t *testing.T) {
	mean := func(tuner string, budget int) float64 {
		var all []float64
		for _, cell := range standings(t).Cells {
			if cell.Tuner == tuner {
				all = append(all, stat.Mean(cell.Regrets[budget].Scaled, nil))
			}
		}
		if len(all) != 6 {
			t.Fatalf("%s was played on %d tables", tuner, len(all))
		}
		return stat.Mean(all, nil)
	}
	for _, budget := range []int{1, 2} {
		halving, random, asha := mean("halving", budget), mean("random", budget), mean("asha", budget)
		if halving > random-5 || halving > asha+1 {
			t.Errorf("%d trainings: scaled regret %.1f with halving, %.1f with random search, %.1f with asha", trainings[budget],
				halving, random, asha)
		}
	}
}
