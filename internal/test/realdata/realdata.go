// Package realdata finds the real data sets on which tests look.
package realdata

import (
	"os"
	"path/filepath"
	"testing"
)

// Dir returns a folder or file of the real data sets: below FEDFAST_DATA, or in
// ../shared/data as seen from the module. It skips the test where it is not there.
func Dir(t testing.TB, name ...string) string {
	t.Helper()
	if testing.Short() {
		t.Skip("reading whole data sets is left out of short tests")
	}
	root := os.Getenv("FEDFAST_DATA")
	if root == "" {
		root = filepath.Join(module(t), "..", "shared", "data")
	}
	dir := filepath.Join(append([]string{root}, name...)...)
	if _, err := os.Stat(dir); err != nil {
		t.Skipf("no data set at %s; set FEDFAST_DATA to the folder of data sets", dir)
	}
	return dir
}

// module returns the folder of go.mod, which is above that of every test.
func module(t testing.TB) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for ; dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir
		}
	}
	t.Fatal("no go.mod above the test")
	return ""
}
