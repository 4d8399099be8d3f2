// Package kernelstest helps to test code that runs on kernels: it repeats a test on
// every level that the processor supports, puts guard words around slices, and
// holds the exact reference of a fused multiply-add.
package kernelstest

import (
	"os"
	"testing"

	"github.com/fedfast/fedfast/kernels"
)

// ForEachLevel runs f as a subtest on every level that this processor supports,
// named after the level, and restores the level in use when it returns. Where
// FEDFAST_CPU asks for a level it is that one only: the others are tested where
// nothing asks. Neither f nor its caller may be parallel.
func ForEachLevel(t *testing.T, f func(t *testing.T)) {
	t.Helper()
	old := kernels.Current()
	defer set(t, old)
	for _, l := range kernels.Supported() {
		if l.String() != os.Getenv("FEDFAST_CPU") && old.String() == os.Getenv("FEDFAST_CPU") {
			continue
		}
		set(t, l)
		t.Run(l.String(), f)
	}
}

func set(t testing.TB, l kernels.Level) {
	t.Helper()
	if err := kernels.SetLevel(l); err != nil {
		t.Fatal(err)
	}
}

// Small reports whether tests should use few and small cases: under -short, or when
// FEDFAST_TEST_SMALL is set because an emulator runs them.
func Small() bool { return testing.Short() || Emulated() }

// Emulated reports whether FEDFAST_TEST_SMALL says that an emulator runs the tests.
func Emulated() bool { return os.Getenv("FEDFAST_TEST_SMALL") != "" }
