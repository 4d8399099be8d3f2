package workdir

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/fedfast/fedfast/internal/test/goworktest"
)

// TestExamplesCompileInAnotherModule copies the examples, which run here, into a module that
// requires this one: they need nothing that only this module may use.
func TestExamplesCompileInAnotherModule(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes seconds")
	}
	examples, err := filepath.Glob("example*_test.go")
	if err != nil || len(examples) != 5 {
		t.Fatalf("%d examples, %v; want a study, seeds, a tuner, a method, and data with a model", len(examples), err)
	}
	dir := t.TempDir()
	for _, name := range examples {
		text, err := os.ReadFile(name)
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, name), text, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "go.mod"), []byte("module example.com/mine\n\ngo 1.26.0\n"),
		0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "go", "vet", ".")
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "GOPROXY=off", goworktest.Env(t, dir))
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
