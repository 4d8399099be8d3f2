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
		if _, ok := places[c.Training.Needs]; !ok || fullSets[c.Training.Needs].classes == 0 {
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
			if _, _, err := c.Training.config(o, 1, ""); err != nil {
				t.Errorf("%s %+v: %v", c.Name, o, err)
			}
		}
	}
	for _, training := range keys {
		if s := keys[training.Shares]; training.Shares != "" && s == nil {
			t.Errorf("%s shares the rounds of %s, which is none", training.Key, training.Shares)
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
	if _, err := Select("fathom-table1/lr0.5"); err == nil || !strings.Contains(err.Error(), `did you mean "fathom-table1/lr0.05"`) {
		t.Errorf("got %v", err)
	}
	elsewhere, err := Select("perfedrlnas/table8")
	if err != nil || len(elsewhere) != 10 {
		t.Errorf("%d cells, %v", len(elsewhere), err)
	}
	if _, _, err := Plan(t.Context(), elsewhere, Options{}, "out"); err == nil || !strings.Contains(err.Error(), "perfedrlnas/table8/fedavg/accuracy cannot be run: BERT-large") {
		t.Errorf("got %v", err)
	}
}
