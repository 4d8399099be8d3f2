// Package goworktest builds other modules in one workspace with this one, so that what was
// compiled for this module's tests is not compiled again under another name.
package goworktest

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// Env is the environment variable of a workspace of this module, in which the test runs,
// and of that in a directory. A go.mod that requires this module must be complete without it.
func Env(t testing.TB, dir string) string {
	t.Helper()
	run := func(in, work string, args ...string) string {
		cmd := exec.CommandContext(t.Context(), "go", args...)
		cmd.Dir, cmd.Env = in, append(os.Environ(), "GOPROXY=off", "GOWORK="+work)
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("go %s in %s, is its go.mod stale? %v\n%s", strings.Join(args, " "), in, err, out)
		}
		return strings.TrimSpace(string(out))
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		t.Fatal(err)
	}
	if mod, err := os.ReadFile(filepath.Join(dir, "go.mod")); err != nil {
		t.Fatal(err)
	} else if strings.Contains(string(mod), "\nrequire ") {
		run(dir, "off", "list", "-mod=readonly", "-deps", "-test", ".")
	}
	work := filepath.Join(t.TempDir(), "go.work")
	run(filepath.Dir(work), work, "work", "init", filepath.Dir(run(".", "off", "env", "GOMOD")), dir)
	return "GOWORK=" + work
}
