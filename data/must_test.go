package data

import "testing"

// ender is a test, of rapid's too.
type ender interface {
	Helper()
	Fatal(args ...any)
}

// must ends the test on an error.
func must(t ender, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// classCounts counts the labels of a view.
func classCounts(t testing.TB, v View, classes int) []int {
	t.Helper()
	counts, err := v.ClassCounts(classes)
	must(t, err)
	return counts
}

func mustOpen(t testing.TB, cfg Config) *Federation {
	t.Helper()
	fed, err := Open(t.Context(), cfg)
	must(t, err)
	return fed
}
