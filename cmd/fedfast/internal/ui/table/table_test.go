package table

import (
	"strings"
	"testing"
)

func TestTableAligns(t *testing.T) {
	var b strings.Builder
	table := New(&b, "name", "value")
	table.Row("a", "1")
	table.Row("longer", "")
	if err := table.Flush(); err != nil {
		t.Fatal(err)
	}
	if want := "name  value\na     1\nlonger\n"; b.String() != want {
		t.Errorf("got %q, want %q", b.String(), want)
	}
}

func TestLastCellsStandBelowWhereTheyDoNotFit(t *testing.T) {
	var b strings.Builder
	table := sized(&b, 41, []string{"trial", "state", "hyperparameters"})
	table.LastBelow()
	table.Row("8", "completed, winner", "lr=0.1")
	table.Row("3", "completed, winner", "batch=8 lr=0.0544 momentum=0.41 weight_decay=0.000788")
	if err := table.Flush(); err != nil {
		t.Fatal(err)
	}
	want := `trial  state              hyperparameters
8      completed, winner  lr=0.1
3      completed, winner
    batch=8 lr=0.0544 momentum=0.41
    weight_decay=0.000788
`
	if b.String() != want {
		t.Errorf("got\n%s\nwant\n%s", b.String(), want)
	}
}
