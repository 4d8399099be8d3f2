//go:build unix

package regular_test

import (
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/fedfast/fedfast/internal/sys/regular"
)

// A pipe that nobody writes to and a device without end are refused at once.
func TestOpenPipe(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "pipe")
	if err := unix.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := regular.Open(pipe); err == nil || err.Error() != pipe+": is a named pipe, must be a regular file" {
		t.Errorf("a pipe: %v", err)
	}
	if _, err := regular.Open("/dev/zero"); err == nil || err.Error() != "/dev/zero: is a device, must be a regular file" {
		t.Errorf("a device: %v", err)
	}
}
