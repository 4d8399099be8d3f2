package table

import (
	"math"
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

func TestCells(t *testing.T) {
	x, nan := 0.12345, math.NaN()
	got := []string{Percent(&x), Percent(nil), Percent(&nan), Count(0), Count(999), Count(1000), Count(-1234567)}
	want := []string{"12.35 %", "-", "-", "0", "999", "1,000", "-1,234,567"}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("cell %d is %q, want %q", i, got[i], want[i])
		}
	}
}
