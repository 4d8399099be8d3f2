package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// pythonDir is the directory of the Python package.
var pythonDir = filepath.Join("..", "..", "tuners", "python")

// TestPython runs the tests of the Python package with this program, under every
// Python here that has NumPy.
func TestPython(t *testing.T) {
	t.Parallel()
	found := map[string]bool{}
	for _, python := range pythons() {
		if found[python] || !hasModules(python, "numpy") {
			continue
		}
		found[python] = true
		for _, script := range scripts(t, "tests") {
			t.Run(filepath.Base(script), func(t *testing.T) { runPython(t, python, script) })
		}
	}
	if len(found) == 0 {
		t.Skip("no python3 here has numpy; install Debian's python3-numpy to test the Python package")
	}
}

// smaller makes the examples take seconds.
var smaller = strings.NewReplacer("scale = 1.0", "scale = 0.2", "seeds=5", "seeds=2", "rounds = 20", "rounds = 5",
	"seeds=3", "seeds=2", `{"rounds": 20}`, `{"rounds": 4}`, "n_trials=8", "n_trials=3", `only="determinism"`,
	`only="options"`,
	`"rounds": 200, "trial_rounds": 20`, `"rounds": 60, "trial_rounds": 9`)

// TestPythonExamples runs the examples at a small scale, by a Python that has what they need.
func TestPythonExamples(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("trains some twenty federations")
	}
	for _, script := range append(scripts(t, "fedfast", "examples"), readmeScript(t)) {
		name := filepath.Base(script)
		if strings.HasPrefix(name, "__") {
			continue
		}
		t.Run(name, func(t *testing.T) {
			if _, err := os.Stat("/usr/share/datasets/fashion-mnist"); err != nil && name == "reproduce.py" {
				t.Skip("Debian's package dataset-fashion-mnist is not installed")
			}
			text, err := os.ReadFile(script)
			if err != nil {
				t.Fatal(err)
			}
			needs := []string{"numpy"}
			for _, module := range []string{"torch", "optuna", "grpc"} {
				if strings.Contains(string(text), "\nimport "+module+"\n") {
					needs = append(needs, module)
				}
			}
			if name == "own_tuner.py" {
				needs = append(needs, "scipy") // by Optuna, whose TPE imports it late
			}
			python := pythonWith(needs...)
			if python == "" {
				t.Skipf("no python3 here has all of %v", needs)
			}
			scaled := smaller.Replace(string(text))
			if scaled == string(text) && name != "readme.py" {
				t.Error("its scale cannot be lowered")
			}
			file := filepath.Join(t.TempDir(), name)
			if err := os.WriteFile(file, []byte(scaled), 0o600); err != nil {
				t.Fatal(err)
			}
			t.Logf("%s", runPython(t, python, file))
		})
	}
}

// readmeScript writes the first Python block of the package's README.md to a file.
func readmeScript(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(pythonDir, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(text), "```python\n")
	block, _, found := strings.Cut(rest, "```\n")
	if !found {
		t.Fatal("the README has no block of Python")
	}
	script := filepath.Join(t.TempDir(), "readme.py")
	if err := os.WriteFile(script, []byte(block), 0o600); err != nil {
		t.Fatal(err)
	}
	return script
}

// scripts are the absolute paths of the Python scripts in a directory of the package.
func scripts(t *testing.T, dir ...string) []string {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(pythonDir, filepath.Join(dir...), "*.py"))
	if err != nil || len(paths) == 0 {
		t.Fatalf("no scripts in %v (%v)", dir, err)
	}
	for i, path := range paths {
		if paths[i], err = filepath.Abs(path); err != nil {
			t.Fatal(err)
		}
	}
	return paths
}

// runPython runs a script with the package in an empty directory, and returns what it prints.
func runPython(t *testing.T, python, script string) []byte {
	t.Helper()
	program, err := exec.LookPath("fedfast") // TestMain puts it there
	if err != nil {
		t.Fatal(err)
	}
	dir, err := filepath.Abs(pythonDir)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(python, script)
	cmd.Dir = t.TempDir()
	cmd.Env = append(os.Environ(), "FEDFAST="+program, "PYTHONPATH="+dir, "PYTHONDONTWRITEBYTECODE=1")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Errorf("%s: %v:\n%s", python, err, out)
	}
	return out
}
