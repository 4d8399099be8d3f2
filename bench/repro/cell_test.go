package repro

import (
	"slices"
	"strings"
	"testing"
)

// TestCells checks the catalogue: every cell that can be run has a configuration
// that holds, as published and scaled.
func TestCells(t *testing.T) {
	names := map[string]bool{}
	keys := map[string]*Training{}
	for _, c := range Cells() {
		if names[c.Name] {
			t.Errorf("%s is there twice", c.Name)
		}
		names[c.Name] = true
		if c.Training == nil {
			if c.Why == "" {
				t.Errorf("%s: nothing says why it cannot be run", c.Name)
			}
			continue
		}
		if _, ok := papers().Data[c.Training.Needs]; !ok || papers().Data[c.Training.Needs].Classes == 0 {
			t.Errorf("%s: data %q are not known", c.Name, c.Training.Needs)
		}
		if have := keys[c.Training.Key]; have != nil {
			if have.Mode != c.Training.Mode || !slices.Equal(have.Sets, c.Training.Sets) || have.Seeds != c.Training.Seeds {
				t.Errorf("%s: another training has the key %s", c.Name, c.Training.Key)
			}
			continue
		}
		keys[c.Training.Key] = c.Training
		for _, o := range []Options{{}, {Scale: 0.1}, {AsPaper: true}} {
			settings, _, err := c.Training.config(o, 1, "")
			if err != nil {
				t.Errorf("%s %+v: %v", c.Name, o, err)
				continue
			}
			if settings.Model.Name == "" { // `repro list` estimates from the whole set's input
				if _, err := papers().Data[c.Training.Needs].network(settings); err != nil {
					t.Errorf("%s %+v: %v", c.Name, o, err)
				}
			}
		}
	}
	for _, training := range keys {
		if s := keys[training.Shares]; training.Shares != "" && s == nil {
			t.Errorf("%s shares the rounds of %s, which is no training", training.Key, training.Shares)
		}
	}
	for _, claim := range Comparisons() {
		if !names[claim.New] || !names[claim.Old] {
			t.Errorf("%s compares %s and %s, which are not both cells", claim.Name, claim.New, claim.Old)
		}
	}
	if n := len(names); n < 40+24*2 {
		t.Errorf("only %d cells", n)
	}
}

func TestSelect(t *testing.T) {
	if cells, err := Select("fathom-table1/lr0.05"); err != nil || len(cells) != 4 {
		t.Errorf("%d cells, %v", len(cells), err)
	}
	if _, err := Select("fathom-table1/lr0.5"); err == nil || !strings.Contains(err.Error(),
		`did you mean "fathom-table1/lr0.05"`) {
		t.Errorf("got %v", err)
	}
	elsewhere, err := Select("pfllib/fmnist-dir01/fedgen")
	if err != nil || len(elsewhere) == 0 {
		t.Errorf("%d cells, %v", len(elsewhere), err)
	}
	if _, _, err := Plan(t.Context(), elsewhere, Options{}, "out"); err == nil || !strings.Contains(err.Error(),
		"cannot be run: the method is not built in") {
		t.Errorf("got %v", err)
	}
}

// TestEveryTableAndFigure compares the catalogue with a list, made by hand from the papers'
// texts, of all their tables, figures and theorems: how many numbers each prints, and how
// many cells stand for it, which are more where numbers are in pictures alone. What has no
// cells says why.
func TestEveryTableAndFigure(t *testing.T) {
	type count struct{ numbers, cells int }
	want := map[string]map[string]count{
		fedexPaper: {
			"Table 1": {40, 40}, "Figure 2": {0, 6}, "Figure 5": {0, 7}, "Figure 6": {0, 3},
			// Figure 1 is a diagram, Figure 3 and Theorem 4.1 are no studies.
			// Figure 4 are the curves of Table 1's cells, and Table 2 its intervals.
		},
		workshopPaper: {"Figure 1": {0, 8}, "Figure 2": {0, 6}, "Figure 3": {0, 3}},
		fathomPaper: {
			"Table 1": {48, 48}, "Figure 1": {0, 24}, "abstract": {0, 40},
			// Figure 2 is a diagram; Theorems 1 and 2 are about gradients, which tests of internal/tuner/fathom compare; Theorem 3 is a bound without numbers.
		},
		fedtunePaper: {
			"Table 1": {12, 12}, "Table 2": {0, 1},
			"Figure 5a": {5, 6}, "Figure 5b": {0, 4}, "Figure 7": {0, 2}, "Figure 8": {0, 5},
			// Figures 1, 2 and 6 cannot be measured, Figure 3 is a diagram,
			// Figure 4 a curve of Table 1's FEMNIST, Table 3 the settings.
		},
		nasPaper: {
			"Theorem 1": {0, 2}, nasWhere: {0, 20},
			// Tables 5, 6 and 8 and Figure 8 cannot be measured, Figure 7 is a diagram, Table 4 bounds,
			// Table 7 the settings; Tables 1 to 3 are in the paper's main part, which is not at hand.
		},
	}
	got := map[string]map[string]count{}
	for _, c := range Cells() {
		where, _, _ := strings.Cut(c.Where, " (+-")
		if where == "no table" || where == "the tuned board" { // what is ours
			continue
		}
		if got[c.Paper] == nil {
			got[c.Paper] = map[string]count{}
		}
		n := got[c.Paper][where]
		n.cells++
		if c.Published != nil {
			n.numbers++
		}
		got[c.Paper][where] = n
	}
	for paper, places := range want {
		for where, n := range places {
			if got[paper][where] != n {
				t.Errorf("%s, %s: %+v, want %+v", paper, where, got[paper][where], n)
			}
			delete(got[paper], where)
		}
		if len(got[paper]) > 0 {
			t.Errorf("%s: not in the list: %v", paper, got[paper])
		}
	}
}
