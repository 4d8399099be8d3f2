package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// TestPython runs the tests and the example of the Python package with this
// program, under every Python here that has NumPy.
func TestPython(t *testing.T) {
	t.Parallel()
	program, err := exec.LookPath("fedfast") // TestMain puts it there
	if err != nil {
		t.Fatal(err)
	}
	dir, err := filepath.Abs(filepath.Join("..", "..", "tuners", "python"))
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]bool{}
	for _, python := range []string{"python3", "/usr/bin/python3"} {
		path, err := exec.LookPath(python)
		if err != nil || found[path] || exec.Command(path, "-c", "import numpy").Run() != nil {
			continue
		}
		found[path] = true
		for _, script := range []string{"tests/test_fedfast.py", "example.py"} {
			t.Run(filepath.Base(script), func(t *testing.T) {
				cmd := exec.Command(path, filepath.Join(dir, script))
				cmd.Dir = t.TempDir()
				cmd.Env = append(os.Environ(), "FEDFAST="+program, "PYTHONPATH="+dir, "PYTHONDONTWRITEBYTECODE=1")
				if out, err := cmd.CombinedOutput(); err != nil {
					t.Errorf("%v:\n%s", err, out)
				}
			})
		}
	}
	if len(found) == 0 {
		t.Skip("no python3 here has numpy; install Debian's python3-numpy to test the Python package")
	}
}
