package workdir

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestExamplesRunInAnotherModule copies the examples into a module that requires
// this one: they need nothing that only this module may use.
func TestExamplesRunInAnotherModule(t *testing.T) {
	if testing.Short() {
		t.Skip("links a program; left out with -short")
	}
	root, err := filepath.Abs(filepath.Join("..", "..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	mod, err := os.ReadFile(filepath.Join(root, "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	sum, err := os.ReadFile(filepath.Join(root, "go.sum"))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	// The versions are this module's, so that nothing is looked up.
	text := regexp.MustCompile(`(?ms)^(tool \(.*?^\)|tool .*?$)`).ReplaceAllString(string(mod), "")
	text = strings.Replace(text, "module "+module, "module example.com/mine", 1)
	text += "\nrequire " + module + " v0.0.0\n\nreplace " + module + " => " + root + "\n"
	files := map[string][]byte{"go.mod": []byte(text), "go.sum": sum}
	examples, err := filepath.Glob("example*_test.go")
	if err != nil || len(examples) != 5 {
		t.Fatalf("%d examples, %v; want a study, seeds, a tuner, a method, and data with a model", len(examples), err)
	}
	for _, name := range examples {
		if files[name], err = os.ReadFile(name); err != nil {
			t.Fatal(err)
		}
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.CommandContext(t.Context(), "go", "test", "-mod=mod", "-count=1", "-v", ".")
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "GOFLAGS=", "GOPROXY=off", "GOWORK=off")
	out, err := cmd.CombinedOutput()
	if err != nil || strings.Count(string(out), "--- PASS: Example") != 8 {
		t.Errorf("%v\n%s", err, out)
	}
}
