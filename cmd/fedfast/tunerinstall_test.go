package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/fedfast/fedfast/internal/test/goworktest"
)

// TestInstallBuildsATunerInGo installs the template for Go from its folder.
func TestInstallBuildsATunerInGo(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("builds a program")
	}
	dir, data := filepath.Join(t.TempDir(), "sources"), t.TempDir()
	env := slices.Concat(os.Environ(), []string{"XDG_DATA_HOME=" + data, "GOPROXY=off"})
	fedfast := func(args ...string) string {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), "fedfast", args...) // TestMain puts it there
		cmd.Env = env
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("fedfast %s: %v\n%s", strings.Join(args, " "), err, out)
		}
		return string(out)
	}
	checkout, err := filepath.Abs(root)
	if err != nil {
		t.Fatal(err)
	}
	fedfast("tuner", "new", "mine", "--dir", dir, "--checkout", checkout)
	env = append(env, goworktest.Env(t, dir))
	fedfast("tuner", "install", dir)
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	if out := fedfast("tune", "--table", "example", "--tuner", "mine"); !strings.Contains(out, "winner") {
		t.Errorf("no winner in %s", out)
	}
	fedfast("tuner", "remove", "mine")
	left, err := os.ReadDir(filepath.Join(data, "fedfast", "tuners"))
	if err != nil || len(left) > 0 {
		t.Errorf("left: %v, %v", left, err)
	}
}
