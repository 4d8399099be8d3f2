package plugins_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"
	"time"

	"github.com/fedfast/fedfast/internal/scaffold"
	"github.com/fedfast/fedfast/internal/test/goworktest"
	"github.com/fedfast/fedfast/tuners/conformance"
	"github.com/fedfast/fedfast/tuners/host"
)

// tunerInGo returns the first piece of Go in the README.
func tunerInGo(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	m := regexp.MustCompile("(?s)```go\n(.*?)```").FindSubmatch(text)
	if m == nil {
		t.Fatal("the README shows no Go")
	}
	return string(m[1])
}

// checkReadme checks the tuner `dice` of a directory.
func checkReadme(t *testing.T, dir string) {
	t.Helper()
	ref, err := host.At(filepath.Join(dir, host.Prefix+"dice"))
	if err != nil {
		t.Fatal(err)
	}
	r, err := conformance.Run(t.Context(), ref, conformance.Options{
		Timeout: 20 * time.Second,
		Only:    []string{"options", "state", "failures"},
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range r.Checks {
		if c.Verdict != conformance.Passed {
			t.Errorf("%s %s: %s", c.Name, c.Verdict, c.Message)
		}
	}
}

func TestTheTunerOfTheReadmeWorksInGo(t *testing.T) {
	if testing.Short() {
		t.Skip("builds a program")
	}
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "dice")
	p := scaffold.Project{Name: "dice", Language: scaffold.Go, Dir: dir, Checkout: scaffold.FindCheckout(".")}
	if err := p.Write(); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"tuner.go", "tuner_test.go"} {
		if err := os.Remove(filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	code := tunerInGo(t)
	if err := os.WriteFile(filepath.Join(dir, "main.go"), []byte(code), 0o600); err != nil {
		t.Fatal(err)
	}
	work := goworktest.Env(t, dir)
	for _, args := range [][]string{
		{"go", "vet", "."},
		{"go", "build", "-mod=readonly", "-o", p.Program(), "."},
		{"gofmt", "-l", "."},
	} {
		cmd := exec.Command(args[0], args[1:]...)
		cmd.Dir, cmd.Env = dir, append(os.Environ(), work)
		if out, err := cmd.CombinedOutput(); err != nil || args[0] == "gofmt" && len(out) > 0 {
			t.Fatalf("%s: %v\n%s", args, err, out)
		}
	}
	checkReadme(t, dir)
}
