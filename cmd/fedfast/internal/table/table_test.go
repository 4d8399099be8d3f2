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
	got := []string{Percent(&x), Percent(nil), Percent(&nan), Count(0), Count(999), Count(1000), Count(-1234567), Clip("short")}
	want := []string{"12.35 %", "-", "-", "0", "999", "1,000", "-1,234,567", "short"}
	if long := Clip(strings.Repeat("a word, ", 20)); len(long) > clip || !strings.HasSuffix(long, "wor...") {
		t.Errorf("a long text becomes %q", long)
	}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("cell %d is %q, want %q", i, got[i], want[i])
		}
	}
}

func TestWrap(t *testing.T) {
	text := strings.Repeat("federated learning ", 20)
	lines := Wrap(text)
	for _, l := range lines {
		if len(l) > clip {
			t.Errorf("line of %d signs: %q", len(l), l)
		}
	}
	if got := strings.Join(lines, " "); got != strings.TrimSpace(text) || len(lines) < 4 {
		t.Errorf("wrapped to %d lines: %q", len(lines), got)
	}
}
