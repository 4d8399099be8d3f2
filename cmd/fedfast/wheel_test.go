package main

import (
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// TestWheel installs a wheel of this system with pip in a fresh environment, without
// network, uses it, and checks that uninstalling leaves nothing.
func TestWheel(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("packs and installs the program")
	}
	python := pythonWith("venv", "ensurepip", "numpy", "tomllib")
	if python == "" {
		t.Skip("no python3 here has venv and numpy; install Debian's python3-venv and python3-numpy to test wheels")
	}
	program, err := exec.LookPath("fedfast") // TestMain puts it there
	if err != nil {
		t.Fatal(err)
	}
	root := filepath.Join("..", "..")
	licenses, err := exec.Command(program, "version", "--licenses").Output()
	if err != nil {
		t.Fatal(err)
	}
	notices := filepath.Join(t.TempDir(), "notices")
	if err := os.WriteFile(notices, licenses, 0o600); err != nil {
		t.Fatal(err)
	}
	pack := exec.Command(python, filepath.Join(root, ".ci", "wheel"), "--project", filepath.Join(root, "tuners", "python"),
		"--license", filepath.Join(root, "LICENSE"), "--notices", notices,
		"--program", program, "--os", runtime.GOOS, "--arch", runtime.GOARCH, "--out", t.TempDir())
	pack.Stderr = os.Stderr
	out, err := pack.Output()
	if err != nil {
		t.Fatal(err)
	}
	file := strings.TrimSpace(string(out))
	venv, empty := t.TempDir(), t.TempDir()
	run := func(name string, args ...string) string {
		t.Helper()
		cmd := exec.Command(name, args...)
		cmd.Dir = empty
		cmd.Env = append(os.Environ(), "FEDFAST=", "PYTHONPATH=", "PIP_DISABLE_PIP_VERSION_CHECK=1")
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, out)
		}
		return strings.TrimSpace(string(out))
	}
	run(python, "-m", "venv", "--system-site-packages", venv)
	before := filesBelow(t, venv)
	bin := filepath.Join(venv, "bin")
	python = filepath.Join(bin, "python")
	run(python, "-m", "pip", "install", "--no-index", file)

	want := run(program, "version")
	if got := run(filepath.Join(bin, "fedfast"), "version"); got != want {
		t.Errorf("fedfast version prints %s, want %s", got, want)
	}
	if got := run(python, "-m", "fedfast", "version"); got != want {
		t.Errorf("python -m fedfast version prints %s, want %s", got, want)
	}
	if got := run(python, "-c", "from fedfast import program; print(program.find())"); got != filepath.Join(bin,
		"fedfast") {
		t.Errorf("the package finds %s, not its own program in %s", got, bin)
	}
	run(python, "-c", "from importlib import resources; assert resources.files('fedfast').joinpath('py.typed').is_file()")

	run(python, "-m", "pip", "uninstall", "--yes", "fedfast")
	if after := filesBelow(t, venv); !maps.Equal(before, after) {
		t.Errorf("uninstalling leaves %d files; %d were there before", len(after), len(before))
	}
}

// pythonWith returns a Python that can import modules, "" where none can.
func pythonWith(modules ...string) string {
	for _, path := range slices.Backward(pythons()) {
		if hasModules(path, modules...) {
			return path
		}
	}
	return ""
}

// filesBelow returns the files of a directory. Those that pip compiles of itself do not count.
func filesBelow(t *testing.T, dir string) map[string]bool {
	t.Helper()
	all := map[string]bool{}
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if !strings.Contains(path, filepath.Join("site-packages", "pip")) {
			all[path] = true
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}
