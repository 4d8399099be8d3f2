package view_test

import (
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"syscall"
	"testing"

	"github.com/fedfast/fedfast/fl/study/view"
)

// TestListLeavesOutWhatCannotBeRead lists studies beside a folder that only another user can
// read, and follows no link.
func TestListLeavesOutWhatCannotBeRead(t *testing.T) {
	root, err := os.MkdirTemp("", "list") //nolint:usetesting // another user cannot enter T.TempDir
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(root) })
	want := []string{filepath.Join(root, "a"), filepath.Join(root, "z", "deep")}
	for _, dir := range append(want, filepath.Join(root, "locked", "hidden"), filepath.Join(root, "empty")) {
		if err := os.MkdirAll(dir, 0o755); err != nil { //nolint:gosec // another user looks
			t.Fatal(err)
		}
		if filepath.Base(dir) == "empty" {
			continue
		}
		if err := os.WriteFile(filepath.Join(dir, "study.db"), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(root, filepath.Join(root, "loop")); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{root, filepath.Join(root, "locked")} {
		if err := os.Chmod(dir, map[bool]os.FileMode{true: 0o755, false: 0}[dir == root]); err != nil { //nolint:gosec // another user looks
			t.Fatal(err)
		}
	}
	t.Cleanup(func() { _ = os.Chmod(filepath.Join(root, "locked"), 0o700) }) //nolint:gosec // a folder
	if os.Getuid() == 0 {                                                    // it could read everything
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		if err := syscall.Setfsuid(65534); err != nil {
			t.Skip(err)
		}
		defer func() { _ = syscall.Setfsuid(0) }()
	}
	dirs, unread, err := view.Below(t.Context(), root)
	if !slices.Equal(dirs, want) || unread != 1 || err != nil {
		t.Errorf("listed are %q, %d cannot be read (%v); want %q and 1", dirs, unread, err, want)
	}
	if _, _, err := view.Below(t.Context(), filepath.Join(root, "locked")); err == nil {
		t.Error("a root that cannot be read has no error")
	}
}
