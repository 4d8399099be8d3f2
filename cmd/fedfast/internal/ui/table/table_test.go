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
