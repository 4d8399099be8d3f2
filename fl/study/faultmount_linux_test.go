package study

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/fedfast/fedfast/internal/store"
)

// mountMemory mounts a file system of a size in memory, which only root may.
func mountMemory(t *testing.T, size string) string {
	t.Helper()
	dir := t.TempDir()
	if err := unix.Mount("fedfast-test", dir, "tmpfs", 0, "size="+size); err != nil {
		t.Skipf("a file system of its own cannot be mounted here: %v", err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(dir, 0); err != nil {
			t.Error(err)
		}
	})
	return dir
}

// TestFaultDiskFull runs out of space in the record or in a snapshot, and goes on
// when there is more.
func TestFaultDiskFull(t *testing.T) {
	want := uninterrupted(t, "small")
	for _, size := range []string{"60k", "300k", "1m"} {
		disk := mountMemory(t, size)
		dir := filepath.Join(disk, "study")
		_, _, err := workOn(t.Context(), "small", dir, 0)
		if err == nil {
			t.Errorf("%s are enough", size)
			continue
		}
		if text := err.Error(); !strings.Contains(text, dir) && !strings.Contains(text, "snapshot") ||
			!strings.Contains(text, "no space left") && !strings.Contains(text, "disk is full") &&
				!strings.Contains(text, "disk I/O error") {
			t.Errorf("%s: the error is %v", size, err)
		}
		if err := unix.Mount("fedfast-test", disk, "tmpfs", unix.MS_REMOUNT, "size=32m"); err != nil {
			t.Fatal(err)
		}
		got, _, err := workOn(t.Context(), "small", dir, 0)
		if err != nil {
			t.Errorf("%s, then enough: %v", size, err)
			continue
		}
		got.equal(t, want, size+", then enough")
	}
}

// TestFaultReadOnly takes away the right to write: a new study says so, one that
// was interrupted can be looked at, stays as it is, and is resumed later.
func TestFaultReadOnly(t *testing.T) {
	disk := mountMemory(t, "32m")
	dir := filepath.Join(disk, "study")
	if err := os.CopyFS(dir, os.DirFS(brokenOff(t, 30))); err != nil {
		t.Fatal(err)
	}
	if err := unix.Mount("fedfast-test", disk, "tmpfs", unix.MS_REMOUNT|unix.MS_RDONLY, ""); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{dir, filepath.Join(disk, "new")} {
		if _, _, err := workOn(t.Context(), "small", path, 0); err == nil || !strings.Contains(err.Error(), path) ||
			!strings.Contains(err.Error(), "read-only file system") {
			t.Errorf("%s: got %v", path, err)
		}
	}
	v, err := store.Look(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	if trials, err := v.Table(t.Context(), "trials"); err != nil || len(trials.Rows) == 0 {
		t.Errorf("a reader sees %v, %v", trials, err)
	}
	if err := v.Close(); err != nil {
		t.Fatal(err)
	}
	if err := unix.Mount("fedfast-test", disk, "tmpfs", unix.MS_REMOUNT, ""); err != nil {
		t.Fatal(err)
	}
	got, _, err := workOn(t.Context(), "small", dir, 0)
	if err != nil {
		t.Fatal(err)
	}
	got.equal(t, uninterrupted(t, "small"), "writable again")
}
